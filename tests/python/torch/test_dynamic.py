"""Dynamic shapes: one compilation serves all sizes."""

import torch
import torch.nn.functional as F
from helpers import assert_same, compiled

import sinter.torch


def sizes(function, inputs, dynamic=True, most_graphs=1):
    run = compiled(function, dynamic=dynamic)
    for values in inputs:
        assert_same(run(*values), function(*values))
    counts = sinter.torch.counters()
    assert counts["graphs"] <= most_graphs, counts
    assert counts["recompiles"] == 0
    return counts


def test_rows_and_columns():
    sizes(lambda x: F.softmax(x * 2, -1).sum(0), [(torch.randn(n, m),) for n, m in ((4, 8), (7, 33), (64, 5))])


def test_expressions_of_sizes():
    def f(x, y):
        z = torch.cat([x, y * 2], 0)
        return z.reshape(-1) + z.shape[0], z[: z.shape[0] // 2] * z.shape[1]

    sizes(f, [(torch.randn(n, 6), torch.randn(m, 6)) for n, m in ((4, 8), (7, 3), (12, 5))])


def test_sizes_alone():
    sizes(lambda x: torch.arange(x.shape[0]) * 2 + torch.ones(x.shape[0]), [(torch.randn(n),) for n in (4, 9, 31)])


def test_transposed_results():
    sizes(lambda x: ((x + 1).t(), x.t() * 2), [(torch.randn(n, n + 3),) for n in (4, 9)])


def test_numbers_become_scalars():
    sizes(lambda x, n: x * n + x.shape[0], [(torch.randn(n), n) for n in (4, 9, 31)])


def test_product_between_regions():
    w = torch.randn(8, 8)
    sizes(lambda x: F.gelu(x.relu() @ w).mean(-1, keepdim=True) + x, [(torch.randn(n, 8),) for n in (4, 9, 31)])


def test_gradients():
    w = torch.randn(8, requires_grad=True)
    run = compiled(lambda x, w: F.layer_norm(x, (8,), w).pow(2).mean(), dynamic=True)
    for n in (4, 9, 31):
        x = torch.randn(n, 8, requires_grad=True)
        ours = torch.autograd.grad(run(x, w), [x, w])
        assert_same(ours, torch.autograd.grad(F.layer_norm(x, (8,), w).pow(2).mean(), [x, w]))
    assert sinter.torch.counters()["graphs"] == 2


def test_unbacked_sizes():
    def f(x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k < 100)
        return torch.ones(k) * 2 + k, x.sum() * k

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        sizes(f, [(torch.randn(3), torch.tensor(n)) for n in (4, 9)])


def test_recompile_is_told(caplog):
    run = compiled(lambda x: x * 2, dynamic=False)
    with caplog.at_level("INFO", "sinter.torch"):
        run(torch.randn(3))
        run(torch.randn(4))
    (text,) = [r.getMessage() for r in caplog.records if "recompile" in r.getMessage()]
    assert "size mismatch" in text and "expected 3, actual 4" in text
    assert sinter.torch.counters()["recompiles"] == 1
