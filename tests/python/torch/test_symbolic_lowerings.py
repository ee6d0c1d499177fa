"""Lowerings with symbolic sizes: one compiled function for several sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sinter.torch
import torch
import torch.nn.functional as F

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": lambda x: F.softmax(x, -1) + F.log_softmax(x, 0),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "var": lambda x: x.var(0) + x.std(1, correction=0).sum() + x.var(correction=0.5),
    "mean": lambda x: x - x.mean(0, keepdim=True),
    "cat": lambda x: torch.cat([x, x[1:], -x], 0),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "slice": lambda x: x[1:-1, ::2] * 2,
    "narrow": lambda x: x[: x.shape[0] // 2] + 1,
    "flip": lambda x: x.flip(0) * x,
    "roll": lambda x: x.roll(2, 0) + x.roll(-1, 1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=2.0) * 2,
    "reflect": lambda x: F.pad(x[None], (1, 1), mode="reflect") * 2,
    "repeat": lambda x: x.repeat(2, 3) + 1,
    "expand": lambda x: x[:, None].expand(-1, 3, -1) * 2,
    "reshape": lambda x: (x.reshape(-1) * 2).view(x.shape[1], x.shape[0]),
    "transpose": lambda x: x.t() * 2 + x.permute(1, 0),
    "diagonal": lambda x: x.diagonal() * 2,
    "triu": lambda x: x.triu(1) - x.tril(-1),
    "cumsum": lambda x: x.cumsum(0) + x.cumsum(1),
    "cummax": lambda x: x.cummax(0).values,
    "argmax": lambda x: x.argmax(1) + x.argmin(1),
    "max": lambda x: x.max(1).values + x.amin(1),
    "arange": lambda x: x + torch.arange(x.shape[0])[:, None],
    "eye": lambda x: x @ torch.eye(x.shape[1]) + 1,
    "where": lambda x: torch.where(x > 0, x, x.exp()),
    "index": lambda x: x[torch.arange(x.shape[0]).flip(0)] * 2,
    "gather": lambda x: x.gather(0, x.argsort(0)) + 1,
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(0, x.argsort(0), x),
    "index_put": lambda x: x.index_put((torch.arange(x.shape[0]),), x[0], accumulate=True),
    "split": lambda x: torch.cat([x.split([3, x.shape[0] - 3])[1] * 2, x[:2]]),
    "unbind": lambda x: sum(x[:3].unbind(0)),
    "size": lambda x: x * x.shape[0] + x.shape[1] ** 2,
    "quotient": lambda x: x / x.shape[0] + x.numel() // 3,
    "masked": lambda x: x.masked_fill(x > 1, -1.0),
    "unfold": lambda x: x.unfold(1, 3, 2) * 2,
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(x.shape[0]) % x.shape[1]),
    "avg_pool": lambda x: F.avg_pool1d(x[:, None, :12], 3, 2) * 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_serves_several_sizes(name: str) -> None:
    torch._dynamo.reset()
    function = FUNCTIONS[name]
    compiled = torch.compile(
        function,
        backend="sinter",
        dynamic=True,
        options={"fallback": False, "optimize_host": False},
    )
    torch.manual_seed(0)
    recompiles = sinter.torch.counters()["recompiles"]
    for rows, columns in ((12, 16), (14, 19), (17, 13)):
        x = torch.randn(rows, columns)
        torch.testing.assert_close(compiled(x), function(x))
    assert sinter.torch.counters()["recompiles"] == recompiles
