"""Random ops: new numbers for each call, from torch's generator."""

import torch
import torch.nn.functional as F
from helpers import assert_same, compiled


def test_equal_seeds_draw_equal_numbers():
    run = compiled(lambda: torch.rand(1000))
    torch.manual_seed(1)
    first, second = run(), run()
    torch.manual_seed(1)
    assert_same(run(), first)
    assert not torch.equal(first, second)
    assert 0.45 < first.mean() < 0.55 and 0 <= first.min() and first.max() < 1


def test_two_ops_draw_different_numbers():
    a, b = compiled(lambda: (torch.rand(100), torch.rand(100)))()
    assert not torch.equal(a, b)


def test_dropout_uses_one_mask_forward_and_backward():
    x = torch.ones(64, 64, requires_grad=True)
    w = torch.eye(64)
    y = compiled(lambda x: F.dropout(x, 0.25) @ w)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert_same(gradient, y.detach())
    assert 0.2 < (y == 0).float().mean() < 0.3


def test_torch_can_draw_the_numbers():
    def f(x):
        return F.dropout(x * 2, 0.5) + torch.randn(16)

    x = torch.randn(16)
    run = compiled(f, fallback_random=True)
    torch.manual_seed(3)
    expected = f(x)
    torch.manual_seed(3)
    assert_same(run(x), expected)
