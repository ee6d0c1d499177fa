"""Runs functions through the backend and compares them with eager."""

import torch

import sinter.torch  # noqa: F401


def compiled(function, dynamic=None, **options):
    """`function` through the backend. A failure of sinter is an error. Compilation is quick."""
    torch._dynamo.reset()
    settings = {"fallback": False, "optimize_host": False, **options}
    return torch.compile(function, backend="sinter", dynamic=dynamic, options=settings, fullgraph=True)


def assert_same(actual, expected, **tolerances):
    """Equal values, dtypes and strides."""
    flat = torch.utils._pytree.tree_leaves
    for a, e in zip(flat(actual), flat(expected), strict=True):
        if isinstance(e, torch.Tensor):
            torch.testing.assert_close(a, e, **tolerances)
            if e.numel() > 1:
                assert a.stride() == e.stride(), (a.stride(), e.stride())
        else:
            assert a == e


def check(function, *inputs, **options):
    """Compares the results with eager, and the gradients if an input requires one."""
    run = compiled(function, **options)
    ours = [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs]
    expected, actual = function(*inputs), run(*ours)
    assert_same(actual, expected)
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    if wanted:
        total = lambda r: sum((t * t).sum() for t in torch.utils._pytree.tree_leaves(r) if t.requires_grad)  # noqa: E731
        e = torch.autograd.grad(total(expected), [inputs[i] for i in wanted], allow_unused=True)
        a = torch.autograd.grad(total(actual), [ours[i] for i in wanted], allow_unused=True)
        assert_same(a, e)
    return run
