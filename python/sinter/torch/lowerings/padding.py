"""Reflected and replicated padding of the last axes, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ..registry import lowering
from .operands import widen

aten = torch.ops.aten


def _low_and_high(rank: int, pads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Elements before and after each axis, from PyTorch's pairs, which begin at the last axis."""
    low, high = [0] * rank, [0] * rank
    for at in range(len(pads) // 2):
        low[rank - 1 - at], high[rank - 1 - at] = pads[2 * at], pads[2 * at + 1]
    return low, high


def _has_known_pads(node: torch.fx.Node) -> str | None:
    pads = node.args[-1]
    x = node.args[-2].meta["val"]
    if any(not isinstance(pad, int) for pad in pads):
        return "a padding depends on a size"
    if any(size == 0 for size in x.shape):
        return "pads an empty tensor"
    return None


def _register(op: Any, forward: list[Any], backward: list[Any]) -> None:
    @lowering(*forward, supports=_has_known_pads)
    def pad(region: Any, node: Any, x: sinter.Tensor, pads: Sequence[int]) -> sinter.Tensor:
        return op(x, *_low_and_high(x.rank, pads))

    @lowering(*backward, supports=_has_known_pads)
    def pad_backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor,
                     pads: Sequence[int]) -> sinter.Tensor:
        # The cotangent does not depend on x's values.
        wide = widen(x)
        padded = op(wide, *_low_and_high(x.rank, pads))
        return sinter.gradient(padded, [wide], widen(g))[0]


_register(
    sinter.pad_reflect,
    [aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default],
    [
        aten.reflection_pad1d_backward.default,
        aten.reflection_pad2d_backward.default,
        aten.reflection_pad3d_backward.default,
    ],
)
_register(
    sinter.pad_edge,
    [aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default],
    [
        aten.replication_pad1d_backward.default,
        aten.replication_pad2d_backward.default,
        aten.replication_pad3d_backward.default,
    ],
)
