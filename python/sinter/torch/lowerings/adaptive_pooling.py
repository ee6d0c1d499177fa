"""Adaptive average pooling: windows that cover each axis in equal shares."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ..registry import lowering
from .operands import is_empty, product, widen

aten = torch.ops.aten


def _has_known_sizes(node: torch.fx.Node) -> str | None:
    for value in (node.args[0].meta["val"], node.meta["val"]):
        if any(not isinstance(size, int) for size in value.shape[-3:]):
            return "a pooled axis has a size that is not known"
        if is_empty(value):
            return "pools an empty tensor"
    return None




def _sum_of_shares(x: sinter.Tensor, axis: int, target: int) -> tuple[sinter.Tensor, Any]:
    """The sums of the windows along an axis, and their numbers of elements."""
    size = x.shape[axis]
    if size % target == 0:
        share = size // target
        split = sinter.reshape(x, [*x.shape[:axis], target, share, *x.shape[axis + 1 :]])
        return sinter.sum(split, axis + 1), share
    begin = [at * size // target for at in range(target)]
    end = [-(-(at + 1) * size // target) for at in range(target)]
    longest = max(last - first for first, last in zip(begin, end))
    at = sinter.iota(x.graph, target)
    first = sinter.floordiv(sinter.mul(at, size), target)
    last = sinter.floordiv(sinter.add(sinter.mul(sinter.add(at, 1), size), target - 1), target)
    offset = sinter.reshape(sinter.iota(x.graph, longest), [1, longest])
    position = sinter.add(sinter.unsqueeze(first, 1), offset)
    taken = sinter.take(x, sinter.minimum(position, size - 1), axis)
    shape = [1] * taken.rank
    shape[axis], shape[axis + 1] = target, longest
    inside = sinter.reshape(sinter.lt(position, sinter.unsqueeze(last, 1)), shape)
    shape[axis + 1] = 1
    counts = sinter.reshape(sinter.sub(last, first), shape[: axis + 1] + shape[axis + 2 :])
    return sinter.sum(sinter.where(inside, taken, 0.0), axis + 1), counts


def adaptive_average(x: sinter.Tensor, targets: list[int]) -> sinter.Tensor:
    x = widen(x)
    divisors = []
    for at, target in enumerate(targets):
        x, count = _sum_of_shares(x, x.rank - len(targets) + at, target)
        divisors.append(count)
    whole = product([count for count in divisors if isinstance(count, int)])
    for count in divisors:
        if not isinstance(count, int):
            whole = sinter.mul(count, whole)
    if isinstance(whole, int):
        return sinter.div(x, float(whole))
    return sinter.div(x, sinter.cast(whole, x.dtype))


def _register(overload: Any, backward: Any, count: int) -> None:
    @lowering(overload, supports=_has_known_sizes)
    def pool(region: Any, node: Any, x: sinter.Tensor, sizes: Any) -> sinter.Tensor:
        return adaptive_average(x, list(node.meta["val"].shape[-count:]))

    @lowering(backward, supports=_has_known_sizes)
    def pool_backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor) -> sinter.Tensor:
        # The cotangent does not depend on x's values.
        wide = widen(x)
        pooled = adaptive_average(wide, list(g.shape[-count:]))
        return sinter.gradient(pooled, [wide], widen(g))[0]


_register(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d_backward.default, 2)
_register(aten._adaptive_avg_pool3d.default, aten._adaptive_avg_pool3d_backward.default, 3)
