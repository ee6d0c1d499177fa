"""Concatenation, splitting and repetition, and replacing a part of a Tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import (
    axis_of,
    cast,
    expand,
    is_tensor,
    number,
    positions,
    product,
    result_type,
    torch_dtype,
)
from .views import slice_bounds

aten = torch.ops.aten


@lowering(aten.cat.default)
def cat(region: Any, node: Any, parts: Sequence[sinter.Tensor], axis: int = 0) -> sinter.Tensor:
    """The parts in their common dtype. Parts of shape [0] fit every rank, as in PyTorch."""
    dtype = result_type(*parts)
    filled = [part for part in parts if not (part.rank == 1 and part.shape[0] == 0)]
    if not filled:
        return cast(parts[0], dtype)
    axis = axis_of(axis, filled[0].rank)
    filled = [part for part in filled if part.shape[axis] != 0] or filled[:1]
    cast_parts = [cast(part, dtype) for part in filled]
    return cast_parts[0] if len(cast_parts) == 1 else sinter.concat(cast_parts, axis)


@lowering(aten.stack.default)
def stack(region: Any, node: Any, parts: Sequence[sinter.Tensor], axis: int = 0) -> sinter.Tensor:
    dtype = result_type(*parts)
    axis = axis % (parts[0].rank + 1)
    return sinter.stack([cast(part, dtype) for part in parts], axis)


@lowering(aten.split_with_sizes.default, aten.split_with_sizes_copy.default)
def split_with_sizes(region: Any, node: Any, x: sinter.Tensor, sizes: Sequence[Any], axis: int = 0
                     ) -> list[sinter.Tensor]:
    axis = axis_of(axis, x.rank)
    parts = []
    begin: Any = 0
    for size in sizes:
        parts.append(sinter.slice(x, axis, begin, begin + size))
        begin = begin + size
    return parts


@lowering(aten.split.Tensor)
def split(region: Any, node: Any, x: sinter.Tensor, size: Any, axis: int = 0
          ) -> list[sinter.Tensor]:
    sizes = [part.shape[axis] for part in node.meta["val"]]
    return split_with_sizes(region, node, x, [region.extent(size) for size in sizes], axis)


@lowering(aten.unbind.int)
def unbind(region: Any, node: Any, x: sinter.Tensor, axis: int = 0) -> list[sinter.Tensor]:
    axis = axis_of(axis, x.rank)
    return [sinter.select(x, axis, index) for index in range(len(node.meta["val"]))]


@lowering(aten.repeat.default)
def repeat(region: Any, node: Any, x: sinter.Tensor, repeats: Sequence[Any]) -> sinter.Tensor:
    """The whole Tensor repeats[i] times along axis i."""
    shape = [1] * (len(repeats) - x.rank) + list(x.shape)
    split_shape = [extent for size in shape for extent in (1, size)]
    filled_shape = [extent for pair in zip(repeats, shape) for extent in pair]
    filled = expand(sinter.reshape(x, split_shape), filled_shape)
    return sinter.reshape(filled, [product(pair) for pair in zip(repeats, shape)])


@lowering(aten.slice_scatter.default)
def slice_scatter(region: Any, node: Any, x: sinter.Tensor, source: sinter.Tensor, axis: int = 0,
                  begin: Any = None, end: Any = None, step: int = 1) -> sinter.Tensor:
    axis = axis_of(axis, x.rank)
    begin, end = slice_bounds(x.shape[axis], begin, end)
    if begin == end:
        return x
    source = cast(source, torch_dtype(x))
    return sinter.slice_scatter(x, source, axis, begin, end, step)


@lowering(aten.select_scatter.default)
def select_scatter(region: Any, node: Any, x: sinter.Tensor, source: sinter.Tensor, axis: int,
                   index: Any) -> sinter.Tensor:
    source = cast(source, torch_dtype(x))
    return sinter.select_scatter(x, source, axis_of(axis, x.rank), index)


@lowering(aten.diagonal_scatter.default)
def diagonal_scatter(region: Any, node: Any, x: sinter.Tensor, source: sinter.Tensor,
                     offset: int = 0, a: int = 0, b: int = 1) -> sinter.Tensor:
    """x with a diagonal of the axes a and b replaced by the last axis of source."""
    a, b = axis_of(a, x.rank), axis_of(b, x.rank)
    order = [axis for axis in range(x.rank) if axis not in (a, b)] + [a, b]
    matrix = sinter.permute(x, order)
    row = positions(region, matrix.shape, x.rank - 2)
    column = positions(region, matrix.shape, x.rank - 1)
    if any(extent == 0 for extent in source.shape):
        return x
    along = row if offset >= 0 else column
    line = sinter.reshape(along, [along.shape[-2] if offset >= 0 else along.shape[-1]])
    values = sinter.take(cast(source, torch_dtype(x)), line, source.rank - 1)
    values = sinter.unsqueeze(values, -1 if offset >= 0 else values.rank - 1)
    mixed = sinter.where(sinter.eq(sinter.sub(column, row), offset), values, matrix)
    return sinter.permute(mixed, [order.index(axis) for axis in range(x.rank)])


@lowering(aten.constant_pad_nd.default)
def constant_pad_nd(region: Any, node: Any, x: sinter.Tensor, pads: Sequence[Any], value: Any = 0
                    ) -> sinter.Tensor:
    """`pads` has the elements before and after for each axis, from the last axis on."""
    if is_tensor(value):
        value = sinter.cast(value, x.dtype)
    for at in range(len(pads) // 2):
        x = _pad_axis(region, x, x.rank - 1 - at, pads[2 * at], pads[2 * at + 1], value)
    return x


def _pad_axis(region: Any, x: sinter.Tensor, axis: int, before: Any, after: Any, value: Any
              ) -> sinter.Tensor:
    extent = x.shape[axis]
    cut_before = -before if isinstance(before, int) and before < 0 else 0
    cut_after = -after if isinstance(after, int) and after < 0 else 0
    if cut_before or cut_after:
        x = sinter.slice(x, axis, cut_before, extent - cut_after)

    def filler(count: Any) -> sinter.Tensor:
        shape = [*x.shape[:axis], count, *x.shape[axis + 1 :]]
        if is_tensor(value):
            return sinter.broadcast_to(value, shape)
        return sinter.full(region.graph, shape, number(value, torch_dtype(x)), x.dtype)

    parts = [x]
    if not (isinstance(before, int) and before <= 0):
        parts.insert(0, filler(before))
    if not (isinstance(after, int) and after <= 0):
        parts.append(filler(after))
    return sinter.concat(parts, axis) if len(parts) > 1 else x

