"""Reflected and replicated padding of the last axes, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import is_empty, widen

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
    if is_empty(x):
        return "pads an empty tensor"
    return None


def _reflect(region: Any, node: Any, x: sinter.Tensor, low: list[int], high: list[int]
             ) -> sinter.Tensor:
    """pad_reflect, also where sinter cannot prove that the padding is below a symbolic extent."""
    sizes = node.args[-2].meta["val"].shape
    for axis in range(x.rank):
        before, after = low[axis], high[axis]
        if not before and not after:
            continue
        if isinstance(x.shape[axis], int):
            pads = [[pad if at == axis else 0 for at in range(x.rank)] for pad in (before, after)]
            x = sinter.pad_reflect(x, *pads)
            continue
        last = sinter.sub(region.scalar(sizes[axis]), 1)
        at = sinter.abs(sinter.iota(region.graph, x.shape[axis] + before + after, -before))
        beyond = sinter.sub(last, sinter.abs(sinter.sub(at, last)))
        x = sinter.take(x, sinter.where(sinter.gt(at, last), beyond, at), axis)
    return x


def _replicate(region: Any, node: Any, x: sinter.Tensor, low: list[int], high: list[int]
               ) -> sinter.Tensor:
    """pad_edge, where a side that is cut does not change the element that is repeated at the other
    side, even if it cuts that element."""
    if all(before >= 0 and after >= 0 for before, after in zip(low, high)):
        return sinter.pad_edge(x, low, high)
    for axis, (before, after) in enumerate(zip(low, high)):
        if before or after:
            at = sinter.iota(region.graph, x.shape[axis] + before + after, -before)
            x = sinter.take(x, sinter.maximum(at, 0), axis)  # take clamps at the other end
    return x


def _register(op: Any, forward: list[Any], backward: list[Any]) -> None:
    @lowering(*forward, supports=_has_known_pads)
    def pad(region: Any, node: Any, x: sinter.Tensor, pads: Sequence[int]) -> sinter.Tensor:
        return op(region, node, x, *_low_and_high(x.rank, pads))

    @lowering(*backward, supports=_has_known_pads)
    def pad_backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor,
                     pads: Sequence[int]) -> sinter.Tensor:
        # The cotangent does not depend on x's values.
        wide = widen(x)
        padded = op(region, node, wide, *_low_and_high(x.rank, pads))
        return sinter.gradient(padded, [wide], widen(g))[0]


_register(
    _reflect,
    [aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default],
    [
        aten.reflection_pad1d_backward.default,
        aten.reflection_pad2d_backward.default,
        aten.reflection_pad3d_backward.default,
    ],
)
_register(
    _replicate,
    [
        aten.replication_pad1d.default,
        aten.replication_pad2d.default,
        aten.replication_pad3d.default,
    ],
    [
        aten.replication_pad1d_backward.default,
        aten.replication_pad2d_backward.default,
        aten.replication_pad3d_backward.default,
    ],
)
