"""Adaptive pooling: windows that cover each axis in equal shares."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import is_empty, product, widen

aten = torch.ops.aten


def _has_known_sizes(node: torch.fx.Node) -> str | None:
    for value in (node.args[0].meta["val"], node.meta["val"]):
        if any(not isinstance(size, int) for size in value.shape[-3:]):
            return "a pooled axis has a size that is not known"
        if is_empty(value):
            return "pools an empty tensor"
    return None


class Shares:
    """The windows along one axis: `target` of them, of which each covers its share of the axis."""

    def __init__(self, x: sinter.Tensor, axis: int, target: int) -> None:
        self.axis, self.target, self.size = axis, target, x.shape[axis]
        begin = [at * self.size // target for at in range(target)]
        end = [-(-(at + 1) * self.size // target) for at in range(target)]
        self.longest = max(last - first for first, last in zip(begin, end))
        self.is_even = self.size % target == 0
        at = sinter.iota(x.graph, target)
        self.first = sinter.floordiv(sinter.mul(at, self.size), target)
        rounded_up = sinter.add(sinter.mul(sinter.add(at, 1), self.size), target - 1)
        self.last = sinter.floordiv(rounded_up, target)

    def split(self, x: sinter.Tensor, filler: Any) -> sinter.Tensor:
        """x with the axis replaced by the windows and, behind them, the elements of a window.
        Shorter windows end with `filler`."""
        axis, shape = self.axis, list(x.shape)
        if self.is_even:
            share = self.size // self.target
            return sinter.reshape(x, [*shape[:axis], self.target, share, *shape[axis + 1 :]])
        offset = sinter.reshape(sinter.iota(x.graph, self.longest), [1, self.longest])
        position = sinter.add(sinter.unsqueeze(self.first, 1), offset)
        taken = sinter.take(x, sinter.minimum(position, self.size - 1), axis)
        ones = [1] * (x.rank - axis - 1)
        inside = sinter.lt(position, sinter.unsqueeze(self.last, 1))
        inside = sinter.reshape(inside, [self.target, self.longest, *ones])
        return sinter.where(inside, taken, filler)

    def counts(self, rank: int) -> Any:
        """The elements of each window: a number, or a Tensor that broadcasts along the axis."""
        if self.is_even:
            return self.size // self.target
        ones = [1] * (rank - self.axis - 1)
        return sinter.reshape(sinter.sub(self.last, self.first), [self.target, *ones])


def adaptive_average(x: sinter.Tensor, targets: list[int]) -> sinter.Tensor:
    x = widen(x)
    rank = x.rank
    number: Any = 1
    counts = []
    for at, target in enumerate(targets):
        shares = Shares(x, rank - len(targets) + at, target)
        count = shares.counts(rank)
        x = sinter.sum(shares.split(x, 0.0), shares.axis + 1)
        if isinstance(count, int):
            number *= count
        else:
            counts.append(count)
    for count in counts:
        number = sinter.mul(count, number)
    if isinstance(number, int):
        return sinter.div(x, float(number))
    return sinter.div(x, sinter.cast(number, x.dtype))


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


# --- Maxima ---------------------------------------------------------------------------------------


def _has_known_maxima(node: torch.fx.Node) -> str | None:
    x, y = node.args[0].meta["val"], node.meta["val"][0]
    if any(not isinstance(size, int) for size in (*x.shape[-3:], *y.shape[-3:])):
        return "a pooled axis has a size that is not known"
    if is_empty(x) or is_empty(y):
        return "pools an empty tensor"
    return None


def _register_maximum(overload: Any, count: int) -> None:
    @lowering(overload, supports=_has_known_maxima)
    def pool(region: Any, node: Any, x: sinter.Tensor, sizes: Any
             ) -> tuple[sinter.Tensor, sinter.Tensor]:
        """The largest element of each window, and its index into the pooled axes."""
        targets = list(node.meta["val"][0].shape[-count:])
        first = x.rank - count
        extents = list(x.shape[first:])
        every = [Shares(x, first + at, target) for at, target in enumerate(targets)]
        windows = x
        for shares in reversed(every):
            windows = shares.split(windows, float("-inf"))
        pairs = [first + 2 * at for at in range(count)]
        order = [*range(first), *pairs, *(axis + 1 for axis in pairs)]
        windows = sinter.permute(windows, order)
        result = sinter.max_with_index(windows, list(range(x.rank, x.rank + count)))
        position: Any = None
        rest = result.index
        for at in reversed(range(count)):
            length = windows.shape[x.rank + at]
            offset = sinter.remainder(rest, length)
            rest = sinter.floordiv(rest, length)
            begin = sinter.reshape(every[at].first, [targets[at]] + [1] * (count - 1 - at))
            along = sinter.mul(sinter.add(begin, offset), product(extents[at + 1 :]))
            position = along if position is None else sinter.add(position, along)
        return result.value, position


_register_maximum(aten.adaptive_max_pool2d.default, 2)
_register_maximum(aten.adaptive_max_pool3d.default, 3)
