"""Average and maximum pooling over the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import is_empty, is_floating, number, positions, product, torch_dtype, widen

aten = torch.ops.aten


class Windows:
    """The windows of a pooling op, one entry per pooled axis."""

    def __init__(self, x: sinter.Tensor, count: int, size: Any, stride: Any, padding: Any,
                 dilation: Any, outputs: Sequence[Any]) -> None:
        self.count = count
        self.size = _per_axis(size, count)
        self.stride = _per_axis(stride, count) or self.size
        self.padding = _per_axis(padding, count)
        self.dilation = _per_axis(dilation, count)
        self.extents = list(x.shape[x.rank - count :])
        self.outputs = list(outputs[len(outputs) - count :])

    def span(self, at: int) -> int:
        """The elements from the first to the last of a window."""
        return self.dilation[at] * (self.size[at] - 1) + 1

    def missing(self, at: int) -> int:
        """The elements that the last window needs behind the axis."""
        end = (self.outputs[at] - 1) * self.stride[at] + self.span(at)
        return max(end - self.extents[at] - self.padding[at], 0)

    def is_plain(self) -> bool:
        """True if the windows have no gaps and stay inside of the symmetric padding."""
        ends = all(self.missing(at) <= self.padding[at] for at in range(self.count))
        floors = [
            (self.extents[at] + 2 * self.padding[at] - self.size[at]) // self.stride[at] + 1
            for at in range(self.count)
        ]
        return all(d == 1 for d in self.dilation) and ends and floors == self.outputs

    def of(self, x: sinter.Tensor, filler: Any) -> sinter.Tensor:
        """The elements of each window of x: [..., windows..., sizes...]."""
        low, high = [0] * x.rank, [0] * x.rank
        first = x.rank - self.count
        for at in range(self.count):
            low[first + at], high[first + at] = self.padding[at], self.missing(at)
        x = _padded(x, low, high, filler)
        rank = x.rank
        for at in range(self.count):
            x = sinter.unfold(x, first + at, self.span(at), self.stride[at])
            x = sinter.slice(x, first + at, 0, self.outputs[at])
            if self.dilation[at] > 1:
                x = sinter.slice(x, x.rank - 1, 0, self.span(at), self.dilation[at])
        assert x.rank == rank + self.count
        return x

    def axes(self, rank: int) -> list[int]:
        """The axes of a window's elements in the result of `of` for an x of this rank."""
        return list(range(rank, rank + self.count))


def _padded(x: sinter.Tensor, low: list[int], high: list[int], filler: Any) -> sinter.Tensor:
    if not any(low) and not any(high):
        return x
    for axis in range(x.rank):
        parts = [x]
        for count, before in ((low[axis], True), (high[axis], False)):
            if count:
                shape = [*x.shape[:axis], count, *x.shape[axis + 1 :]]
                part = sinter.full(x.graph, shape, filler, x.dtype)
                parts.insert(0, part) if before else parts.append(part)
        x = sinter.concat(parts, axis) if len(parts) > 1 else x
    return x


def _per_axis(values: Any, count: int) -> list[int]:
    values = [values] if isinstance(values, int) else list(values)
    return values * count if len(values) == 1 else values


def _has_known_sizes(at: int) -> Any:
    def supports(node: torch.fx.Node) -> str | None:
        x = node.args[at].meta["val"]
        if any(not isinstance(size, int) for size in x.shape[-3:]):
            return "a pooled axis has a size that is not known"
        if is_empty(x):
            return "pools an empty tensor"
        return None

    return supports


# --- Averages -------------------------------------------------------------------------------------


def _register_average(overload: Any, backward: Any, count: int) -> None:
    @lowering(overload, supports=_has_known_sizes(0))
    def average(region: Any, node: Any, x: sinter.Tensor, size: Any, stride: Any = (),
                padding: Any = 0, ceil_mode: bool = False, count_padding: bool = True,
                divisor: int | None = None) -> sinter.Tensor:
        outputs = node.meta["val"].shape
        return _average(region, x, count, size, stride, padding, outputs, count_padding, divisor)

    @lowering(backward, supports=_has_known_sizes(1))
    def average_backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor, size: Any,
                         stride: Any, padding: Any, ceil_mode: bool, count_padding: bool,
                         divisor: int | None) -> sinter.Tensor:
        # The cotangent does not depend on x's values.
        wide = widen(x)
        pooled = _average(region, wide, count, size, stride, padding, g.shape, count_padding,
                          divisor)
        return sinter.gradient(pooled, [wide], widen(g))[0]


def _average(region: Any, x: sinter.Tensor, count: int, size: Any, stride: Any, padding: Any,
             outputs: Any, count_padding: bool, divisor: int | None) -> sinter.Tensor:
    windows = Windows(x, count, size, stride, padding, 1, outputs)
    wide = widen(x)
    total = sinter.sum(windows.of(wide, 0), windows.axes(x.rank))
    if divisor is None:
        divisor = _elements(region, windows, count_padding)
    if is_floating(x):
        if not isinstance(divisor, int):
            divisor = sinter.cast(divisor, total.dtype)
        return sinter.div(total, divisor)
    return sinter.floordiv(sinter.sub(total, sinter.fmod(total, divisor)), divisor)


def _elements(region: Any, windows: Windows, count_padding: bool) -> Any:
    """The number of elements by which the sum of a window is divided."""
    inside = [
        windows.missing(at) <= (windows.padding[at] if count_padding else 0)
        and (count_padding or windows.padding[at] == 0)
        for at in range(windows.count)
    ]
    if all(inside):
        return product(windows.size)
    result: Any = None
    for at in range(windows.count):
        begin = positions(region, windows.outputs, at) * windows.stride[at] - windows.padding[at]
        extent, padding = windows.extents[at], windows.padding[at]
        end = sinter.minimum(begin + windows.size[at], extent + padding)
        if not count_padding:
            begin, end = sinter.maximum(begin, 0), sinter.minimum(end, extent)
        length = end - begin
        result = length if result is None else result * length
    return result


_register_average(aten.avg_pool2d.default, aten.avg_pool2d_backward.default, 2)
_register_average(aten.avg_pool3d.default, aten.avg_pool3d_backward.default, 3)


@lowering(aten.avg_pool1d.default, supports=_has_known_sizes(0))
def avg_pool1d(region: Any, node: Any, x: sinter.Tensor, size: Any, stride: Any = (),
               padding: Any = 0, ceil_mode: bool = False, count_padding: bool = True
               ) -> sinter.Tensor:
    outputs = node.meta["val"].shape
    return _average(region, x, 1, size, stride, padding, outputs, count_padding, None)


# --- Maxima ---------------------------------------------------------------------------------------


def _register_maximum(overload: Any, backward: Any, count: int) -> None:
    @lowering(overload, supports=_has_known_sizes(0))
    def maximum(region: Any, node: Any, x: sinter.Tensor, size: Any, stride: Any = (),
                padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
                ) -> tuple[sinter.Tensor, sinter.Tensor]:
        outputs = node.meta["val"][0].shape
        windows = Windows(x, count, size, stride, padding, dilation, outputs)
        if windows.is_plain() and is_floating(x):
            result = sinter.max_pool_with_index(x, windows.size, windows.stride, windows.padding)
            return result.value, result.index
        return _general_maximum(region, x, windows)

    @lowering(backward, supports=_has_known_sizes(1))
    def maximum_backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor, size: Any,
                         stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                         indices: sinter.Tensor) -> sinter.Tensor:
        windows = Windows(x, count, size, stride, padding, dilation, g.shape)
        g = widen(g)
        if windows.is_plain():
            return sinter.max_pool_backward(g, indices, windows.extents, windows.size,
                                            windows.stride, windows.padding)
        return scattered_sum(g, indices, windows.extents)


def _general_maximum(region: Any, x: sinter.Tensor, windows: Windows
                     ) -> tuple[sinter.Tensor, sinter.Tensor]:
    dtype = torch_dtype(x)
    lowest = float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min
    result = sinter.max_with_index(windows.of(x, lowest), windows.axes(x.rank))
    position: Any = None
    rest = result.index
    for at in reversed(range(windows.count)):
        offset = sinter.remainder(rest, windows.size[at]) * windows.dilation[at]
        rest = sinter.floordiv(rest, windows.size[at])
        begin = positions(region, windows.outputs, at) * windows.stride[at] - windows.padding[at]
        along = (begin + offset) * product(windows.extents[at + 1 :])
        position = along if position is None else position + along
    return result.value, position


def scattered_sum(g: sinter.Tensor, indices: sinter.Tensor, extents: Sequence[Any]
                  ) -> sinter.Tensor:
    """Zeros of the given last extents, with g added at the indices into these axes."""
    count = len(extents)
    outer = list(g.shape[: g.rank - count])
    windows = [product(outer), product(g.shape[g.rank - count :])]
    zeros = sinter.full(g.graph, [windows[0], product(extents)], number(0, torch_dtype(g)), g.dtype)
    summed = sinter.scatter_add(zeros, 1, sinter.reshape(indices, windows),
                                sinter.reshape(g, windows))
    return sinter.reshape(summed, [*outer, *extents])


_register_maximum(
    aten.max_pool2d_with_indices.default, aten.max_pool2d_with_indices_backward.default, 2
)
_register_maximum(
    aten.max_pool3d_with_indices.default, aten.max_pool3d_with_indices_backward.default, 3
)


def _register_adaptive_backward(overload: Any, count: int) -> None:
    @lowering(overload, supports=_has_known_sizes(1))
    def backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor,
                 indices: sinter.Tensor) -> sinter.Tensor:
        return scattered_sum(widen(g), indices, list(x.shape[x.rank - count :]))


_register_adaptive_backward(aten.adaptive_max_pool2d_backward.default, 2)
_register_adaptive_backward(aten.adaptive_max_pool3d_backward.default, 3)
