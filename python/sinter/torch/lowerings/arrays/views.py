"""Views: other shapes, orders and parts of one Tensor. They record index maps and copy nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import at_least_1d, axis_of, product, result_shape

aten = torch.ops.aten


@lowering(
    aten.view.default,
    aten.reshape.default,
    aten._unsafe_view.default,
    aten._reshape_alias.default,
    aten.view_copy.default,
)
def reshape(region: Any, node: Any, x: sinter.Tensor, *shape_and_options: Any) -> sinter.Tensor:
    return sinter.reshape(x, result_shape(region, node))


@lowering(
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.unsqueeze.default,
)
def resize_rank(region: Any, node: Any, x: sinter.Tensor, *axes: Any) -> sinter.Tensor:
    return sinter.reshape(x, result_shape(region, node))


@lowering(aten.expand.default, aten.expand_copy.default)
def expand(region: Any, node: Any, x: sinter.Tensor, *sizes: Any, **options: Any) -> sinter.Tensor:
    return sinter.broadcast_to(x, result_shape(region, node))


@lowering(aten.permute.default, aten.permute_copy.default)
def permute(region: Any, node: Any, x: sinter.Tensor, axes: Sequence[int]) -> sinter.Tensor:
    return sinter.permute(x, [axis_of(axis, x.rank) for axis in axes])


@lowering(aten.transpose.int, aten.transpose_copy.int)
def transpose(region: Any, node: Any, x: sinter.Tensor, a: int, b: int) -> sinter.Tensor:
    return sinter.transpose(x, a, b) if x.rank > 1 else x


@lowering(aten.t.default, aten.t_copy.default)
def t(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return sinter.transpose(x, 0, 1) if x.rank == 2 else x


@lowering(aten.slice.Tensor, aten.slice_copy.Tensor)
def slice(region: Any, node: Any, x: sinter.Tensor, axis: int = 0, begin: Any = None,
          end: Any = None, step: int = 1) -> sinter.Tensor:
    axis = axis_of(axis, x.rank)
    begin, end = slice_bounds(x.shape[axis], begin, end)
    return sinter.slice(x, axis, begin, end, step)


def slice_bounds(extent: Any, begin: Any, end: Any) -> tuple[Any, Any]:
    """Bounds in [0, extent] with begin <= end where they are numbers."""

    def bound(value: Any, default: Any) -> Any:
        if value is None or (isinstance(value, int) and value >= 1 << 62):
            return default
        if not (isinstance(value, int) and isinstance(extent, int)):
            return value
        return min(max(value + extent if value < 0 else value, 0), extent)

    begin, end = bound(begin, 0), bound(end, extent)
    if isinstance(begin, int) and isinstance(end, int) and begin >= 0 and end >= 0:
        end = max(begin, end)
    return begin, end


@lowering(aten.select.int, aten.select_copy.int)
def select(region: Any, node: Any, x: sinter.Tensor, axis: int, index: Any) -> sinter.Tensor:
    return sinter.select(x, axis_of(axis, x.rank), index)


@lowering(aten.narrow.default)
def narrow(region: Any, node: Any, x: sinter.Tensor, axis: int, begin: Any, length: Any
           ) -> sinter.Tensor:
    return slice(region, node, x, axis, begin, begin + length)


@lowering(aten.diagonal.default, aten.diagonal_copy.default)
def diagonal(region: Any, node: Any, x: sinter.Tensor, offset: int = 0, a: int = 0, b: int = 1
             ) -> sinter.Tensor:
    """The diagonal becomes the last axis."""
    a, b = axis_of(a, x.rank), axis_of(b, x.rank)
    strides = row_major_strides(x.shape)
    shape = result_shape(region, node)
    others = [strides[axis] for axis in range(x.rank) if axis not in (a, b)]
    begin = offset * strides[b] if offset >= 0 else -offset * strides[a]
    if shape[-1] == 0:
        return sinter.full(region.graph, shape, 0, x.dtype)
    return sinter.as_strided(x, shape, [*others, strides[a] + strides[b]], begin)


def row_major_strides(shape: Sequence[Any]) -> list[Any]:
    return [product(shape[axis + 1 :]) for axis in range(len(shape))]


def _is_row_major(node: torch.fx.Node) -> str | None:
    x = node.args[0].meta["val"]
    strides = node.args[2]
    if not x.is_contiguous() or x.storage_offset() != 0:
        return "as_strided reads the memory of a tensor that is not row-major"
    if any(isinstance(stride, int) and stride < 0 for stride in strides):
        return "as_strided has a negative stride"
    return None


@lowering(aten.as_strided.default, aten.as_strided_copy.default, supports=_is_row_major)
def as_strided(region: Any, node: Any, x: sinter.Tensor, shape: Sequence[Any],
               strides: Sequence[Any], offset: Any = None) -> sinter.Tensor:
    if any(extent == 0 for extent in shape):
        return sinter.full(region.graph, list(shape), 0, x.dtype)
    return sinter.as_strided(x, list(shape), list(strides), 0 if offset is None else offset)


@lowering(aten.unfold.default, aten.unfold_copy.default)
def unfold(region: Any, node: Any, x: sinter.Tensor, axis: int, size: int, step: int
           ) -> sinter.Tensor:
    windows = sinter.unfold(at_least_1d(x), axis_of(axis, x.rank), size, step)
    return sinter.reshape(windows, [size]) if x.rank == 0 else windows


@lowering(aten.flip.default)
def flip(region: Any, node: Any, x: sinter.Tensor, axes: Sequence[int]) -> sinter.Tensor:
    if x.rank == 0 or len(axes) == 0:
        return x
    return sinter.flip(x, [axis_of(axis, x.rank) for axis in axes])


@lowering(aten.roll.default)
def roll(region: Any, node: Any, x: sinter.Tensor, shifts: Any, axes: Any = ()) -> sinter.Tensor:
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    axes = [axes] if isinstance(axes, int) else list(axes)
    if x.rank == 0 or any(extent == 0 for extent in x.shape):
        return x
    if not axes:
        flat = sinter.reshape(x, [product(x.shape)])
        return sinter.reshape(_roll(flat, shifts[0], 0), list(x.shape))
    for shift, axis in zip(shifts, axes):
        x = _roll(x, shift, axis_of(axis, x.rank))
    return x


def _roll(x: sinter.Tensor, shift: int, axis: int) -> sinter.Tensor:
    extent = x.shape[axis]
    return sinter.roll(x, shift % extent if isinstance(extent, int) else shift, axis)
