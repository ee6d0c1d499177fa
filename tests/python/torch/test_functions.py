"""Small functions through the backend beside eager: forward, backward, views, dtypes, mutation."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_same, check, compiled

import sinter.torch
from sinter.torch.explain import describe


def leaf(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def test_pointwise_and_reduction():
    check(lambda x, y: ((x * y).sin() + x.exp()).sum(1), leaf(5, 7), leaf(7))


def test_norm_and_softmax():
    check(lambda x, w, b: F.softmax(F.layer_norm(x, (16,), w, b), -1), leaf(4, 16), leaf(16), leaf(16))


def test_product_between_regions():
    check(lambda x, w, b: F.gelu(F.relu(x) @ w + b).sum(), leaf(6, 8), leaf(8, 5), leaf(5))


def test_convolution_and_batch_norm():
    eager, mine = torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4)
    x, w = leaf(2, 3, 8, 8), leaf(4, 3, 3, 3)
    graphs = []
    sinter.torch.compiler._listeners.append(graphs.append)
    run = compiled(lambda x, w: F.relu(mine(F.conv2d(x, w))).square().sum())
    for _ in range(2):
        expected, actual = F.relu(eager(F.conv2d(x, w))).square().sum(), run(x, w)
        assert_same(actual, expected)
        assert_same(torch.autograd.grad(actual, [x, w]), torch.autograd.grad(expected, [x, w]))
    sinter.torch.compiler._listeners.clear()
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert_same(getattr(mine, name), getattr(eager, name))
    written = [u.target.name for g in graphs for r in g.partition.regions for u in r.updates]
    assert len(written) == 3, "the regions write the statistics themselves"
    assert mine.running_mean._version >= 2, "autograd sees the writes"


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_floating_dtypes(dtype):
    check(lambda x: (x * 2 + 1).abs().sum(0), leaf(8, 8, dtype=dtype))


def test_mixed_dtypes():
    x, i, b = torch.randn(4, 4), torch.arange(4), torch.tensor([True, False, True, True])
    check(lambda x, i, b: (x + i, i * 2, x.double() * i, torch.where(b, x, i), b & (i > 1)), x, i, b)


def test_views_as_results():
    x = torch.randn(4, 6)
    check(lambda x: (x.exp().t(), (x + 1).reshape(2, 12), (x * 2)[1:3], x.sin()[:, ::2]), x)


def test_views_of_inputs_share_memory():
    x = torch.randn(4, 6)
    view, _ = compiled(lambda x: (x[1:], x + 1))(x)
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert_same(view, x[1:])


def test_expanded_and_overlapping_results():
    check(lambda x: ((x + 1).expand(5, 3), (x * 2).unsqueeze(0).expand(2, 4, 3)), torch.randn(1, 3).expand(4, 3)[:1])


def test_inputs_that_are_not_contiguous():
    check(lambda x, y: x * y + 1, leaf(6, 4).t().detach().requires_grad_(), torch.randn(8, 12)[::2, ::2])


def test_result_layout_follows_eager():
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    check(lambda x: (x + 1, x.permute(0, 2, 3, 1) * 2), x)


def test_mutation_of_inputs():
    def step(x, y):
        x.mul_(2).add_(y)
        y[1] = 0
        return x + y

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    ours = x.clone(), y.clone()
    assert_same(compiled(step)(*ours), step(x, y))
    assert_same(ours, (x, y))


def test_mutation_of_a_view():
    def step(x):
        x[:, 1:3].zero_()
        return x.sum()

    x = torch.randn(3, 4)
    mine = x.clone()
    assert_same(compiled(step)(mine), step(x))
    assert_same(mine, x)


def test_swapped_inputs():
    def swap(x, y):
        t = x.clone()
        x.copy_(y)
        y.copy_(t)

    x, y = torch.randn(4), torch.randn(4)
    mine = x.clone(), y.clone()
    compiled(swap)(*mine)
    assert_same(mine, (y, x))


def test_one_result_twice_and_inputs_as_results():
    def f(x):
        y = x * 2
        return y, y, x

    check(f, torch.randn(3))


def test_numbers():
    check(lambda x, n: x * n + n, torch.randn(3), 2.5)
    check(lambda x, n: x * n, torch.randn(3), 7)


def test_rank_zero():
    check(lambda x, y: x * y + 1, leaf(), leaf(3))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0, 2)])
def test_empty_tensors(shape):
    check(lambda x: (x + 1, x.sum(), x.sum(0)), torch.randn(shape))


def test_no_tensor_operands():
    check(lambda: torch.arange(5) * 2 + torch.ones(5))


def test_several_results():
    check(lambda x: (*torch.var_mean(x, 1), *x.max(1), *torch.split(x * 2, 2, 1)), torch.randn(4, 6))


def test_indexing_and_embedding():
    check(lambda w, i: F.embedding(i, w).sum(1), leaf(10, 4), torch.randint(0, 10, (3, 5)))
    check(lambda x, i: x[i, :2] + x.gather(0, i[:, None].expand(3, 4))[:, :2], torch.randn(6, 4), torch.tensor([0, 5, 2]))


def test_inference_mode():
    x = torch.randn(4)
    run = compiled(lambda x: x.sin() + 1)
    with torch.inference_mode():
        assert_same(run(x), x.sin() + 1)
    with torch.no_grad():
        assert_same(run(x), x.sin() + 1)


def test_data_dependent_sizes_stay_in_torch():
    torch._dynamo.reset()
    run = torch.compile(lambda x: (x[x > 0] * 2).sum(), backend="sinter", options={"fallback": False})
    x = torch.randn(100)
    assert_same(run(x), (x[x > 0] * 2).sum())


def test_complex_stays_in_torch():
    check(lambda x: torch.view_as_real(torch.fft.fft(x * 2)) + 1, torch.randn(8))


def test_double_backward_of_inputs():
    def f(x, w):
        return (torch.tanh(x @ w) ** 2).mean()

    check(f, leaf(4, 5), leaf(5, 3))


def test_optimizer_step_is_one_kernel():
    eager = [torch.randn(n, 3, requires_grad=True) for n in (2, 5, 7)]
    mine = [p.detach().clone().requires_grad_() for p in eager]
    steps = [torch.optim.AdamW(p, lr=0.01) for p in (eager, mine)]
    graphs = []
    sinter.torch.compiler._listeners.append(graphs.append)
    torch._dynamo.reset()
    run = torch.compile(steps[1].step, backend="sinter", options={"fallback": False})
    for _ in range(3):
        for p, q in zip(eager, mine):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.clone()
        steps[0].step()
        run()
    sinter.torch.compiler._listeners.clear()
    assert_same(mine, eager)
    explanation = describe(graphs[-1:])
    assert explanation.kernels == 1 and not explanation.torch_ops
