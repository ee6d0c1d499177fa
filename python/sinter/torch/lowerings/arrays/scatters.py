"""Writing at indices. Of several values for one element, the last one wins.

Negative indices count from the end, and others are clamped into the axis, as in `indexing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from .indexing import has_mask, index_nodes, is_not_empty
from ..operands import (
    at_least_1d,
    axis_of,
    cast,
    expand,
    is_floating,
    number,
    operand,
    positions,
    product,
    torch_dtype,
    widen,
)

aten = torch.ops.aten


def _is_fill(node: torch.fx.Node) -> bool:
    """True if the node writes one number where a mask of all axes is true."""
    indices = index_nodes(node)
    value = node.args[2].meta["val"]
    is_mask = len(indices) == 1 and indices[0][1].meta["val"].dtype == torch.bool
    accumulate = len(node.args) > 3 and node.args[3]
    return is_mask and value.ndim == 0 and not accumulate


def _can_put(node: torch.fx.Node) -> str | None:
    if has_mask(node) and not _is_fill(node):
        return "writes values in the order of a mask's true elements"
    return is_not_empty(node)


@lowering(aten.index_put.default, aten._unsafe_index_put.default, supports=_can_put)
def index_put(region: Any, node: Any, x: sinter.Tensor, indices: Sequence[sinter.Tensor | None],
              values: sinter.Tensor, accumulate: bool = False, *unsafe: Any) -> sinter.Tensor:
    axes = [axis for axis, value in enumerate(indices) if value is not None]
    given = [value for value in indices if value is not None]
    if has_mask(node):
        mask = given[0]
        before, after = axes[0], x.rank - axes[0] - mask.rank
        mask = sinter.reshape(mask, [1] * before + list(mask.shape) + [1] * after)
        return sinter.where(mask, values, x)
    if not given:
        return sinter.broadcast_to(values, list(x.shape))
    if any(extent == 0 for value in given for extent in value.shape):
        return x
    return sinter.index_put(x, cast(values, torch_dtype(x)), given, axes, accumulate=accumulate)


@lowering(aten.put.default, supports=is_not_empty)
def put(region: Any, node: Any, x: sinter.Tensor, indices: sinter.Tensor, values: sinter.Tensor,
        accumulate: bool = False) -> sinter.Tensor:
    flat = sinter.reshape(x, [product(x.shape)])
    values = sinter.reshape(values, list(indices.shape))
    if any(extent == 0 for extent in indices.shape):
        return x
    written = sinter.index_put(flat, values, [indices], [0], accumulate=accumulate)
    return sinter.reshape(written, list(x.shape))


def _overlaps_nowhere(node: torch.fx.Node) -> str | None:
    x = node.args[0].meta["val"]
    if not x.is_contiguous() or x.storage_offset() != 0:
        return "as_strided_scatter writes to memory that is not row-major"
    return None


@lowering(aten.as_strided_scatter.default, supports=_overlaps_nowhere)
def as_strided_scatter(region: Any, node: Any, x: sinter.Tensor, source: sinter.Tensor,
                       shape: Sequence[Any], strides: Sequence[Any], offset: Any = None
                       ) -> sinter.Tensor:
    """x with the elements of source written where as_strided reads."""
    if any(extent == 0 for extent in shape):
        return x
    at: Any = sinter.full(region.graph, list(shape), 0, sinter.i64)
    for axis, stride in enumerate(strides):
        at = sinter.add(at, sinter.mul(positions(region, shape, axis), stride))
    at = sinter.add(at, offset or 0)
    flat = sinter.reshape(x, [product(x.shape)])
    source = sinter.broadcast_to(cast(source, torch_dtype(x)), list(shape))
    written = sinter.index_put(flat, source, [at], [0])
    return sinter.reshape(written, list(x.shape))


def _line_positions(region: Any, indices: sinter.Tensor, axis: int) -> list[sinter.Tensor]:
    """The indices along `axis`, and the position of each index along the other axes."""
    shape = indices.shape
    return [
        indices if other == axis else positions(region, shape, other) for other in range(len(shape))
    ]


def _write(region: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor, values: Any,
           accumulate: bool) -> sinter.Tensor:
    """x with values[…, i, …] written or added at x[…, indices[…, i, …], …]."""
    if any(extent == 0 for extent in (*indices.shape, *x.shape)):
        return x
    flat, flat_indices = at_least_1d(x), at_least_1d(indices)
    axis = axis_of(axis, x.rank)
    axes = list(range(flat.rank))
    at = _line_positions(region, flat_indices, axis)
    written = sinter.index_put(flat, values, at, axes, accumulate=accumulate)
    return sinter.reshape(written, list(x.shape))


def _cut(source: sinter.Tensor, indices: sinter.Tensor) -> sinter.Tensor:
    """The first elements of source, in the shape of the indices."""
    source, indices = at_least_1d(source), at_least_1d(indices)
    for axis in range(source.rank):
        if source.shape[axis] != indices.shape[axis]:
            source = sinter.slice(source, axis, 0, indices.shape[axis])
    return source


@lowering(aten.scatter.src)
def scatter(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
            source: sinter.Tensor) -> sinter.Tensor:
    return _write(region, x, axis, indices, _cut(cast(source, torch_dtype(x)), indices), False)


@lowering(aten.scatter.value)
def scatter_value(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
                  value: Any) -> sinter.Tensor:
    value = operand(value, torch_dtype(x))
    shape = at_least_1d(indices).shape
    filled = sinter.full(region.graph, list(shape), value, x.dtype)
    return _write(region, x, axis, indices, filled, False)


@lowering(aten.scatter_add.default)
def scatter_add(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
                source: sinter.Tensor) -> sinter.Tensor:
    return _write(region, x, axis, indices, _cut(cast(source, torch_dtype(x)), indices), True)


# --- Reductions of all values for one element ----------------------------------------------------

_LARGEST_LINE = 1024


def _has_short_lines(node: torch.fx.Node) -> str | None:
    """Why a reduction that compares each element with each index of its line must stay."""
    x, indices = node.args[0].meta["val"], node.args[2].meta["val"]
    axis = node.args[1] % max(x.ndim, 1)
    reduction = reduction_of(node)
    if reduction in ("sum", "mean"):
        return None
    if x.ndim and indices.ndim:
        lengths = (x.shape[axis], indices.shape[axis if indices.ndim == x.ndim else 0])
        if any(not isinstance(n, int) or n > _LARGEST_LINE for n in lengths):
            return f"reduces by '{reduction}' at indices along more than {_LARGEST_LINE} elements"
    return None


_REDUCTION_NAMES = {"add": "sum", "multiply": "prod"}


def reduction_of(node: torch.fx.Node) -> str:
    name = node.args[4] if len(node.args) > 4 else node.kwargs.get("reduce")
    return _REDUCTION_NAMES.get(name, name)


@lowering(aten.scatter.reduce, aten.scatter.value_reduce, aten.scatter_reduce.two,
          supports=_has_short_lines)
def scatter_reduce(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
                   source: Any, reduce: str | None = None, *, include_self: bool = True
                   ) -> sinter.Tensor:
    if isinstance(source, sinter.Tensor):
        source = _cut(cast(source, torch_dtype(x)), indices)
    else:
        shape = at_least_1d(indices).shape
        source = sinter.full(region.graph, list(shape), number(source, torch_dtype(x)), x.dtype)
    return combine_at(region, x, axis, indices, source, reduction_of(node), include_self)


def combine_at(region: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
               source: sinter.Tensor, reduction: str, include_self: bool) -> sinter.Tensor:
    """x with each element combined with all values whose index is its position along `axis`."""
    if any(extent == 0 for extent in (*indices.shape, *x.shape)):
        return x
    if reduction in ("sum", "mean"):
        return _sum_at(region, x, axis, indices, source, reduction == "mean", include_self)
    return _extreme_at(region, x, axis, indices, source, reduction, include_self)


def _sum_at(region: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
            source: sinter.Tensor, is_mean: bool, include_self: bool) -> sinter.Tensor:
    shape = list(x.shape)
    ones = sinter.full(region.graph, list(at_least_1d(indices).shape), 1, sinter.i64)
    none = sinter.full(region.graph, shape, 0, sinter.i64)
    count = None
    if is_mean or not include_self:
        count = _write(region, none, axis, indices, ones, True)
    wide, source = widen(x), widen(source)
    if not include_self:
        wide = sinter.where(sinter.gt(count, 0), operand(0, torch_dtype(wide)), wide)
    total = _write(region, wide, axis, indices, source, True)
    if not is_mean:
        return total
    divisor = sinter.add(count, 1) if include_self else sinter.maximum(count, 1)
    divisor = sinter.cast(divisor, total.dtype)
    return sinter.div(total, divisor) if is_floating(x) else sinter.floordiv(total, divisor)


def _neutral(reduction: str, dtype: torch.dtype) -> Any:
    if reduction == "prod":
        return number(1, dtype)
    if dtype.is_floating_point:
        return float("-inf") if reduction == "amax" else float("inf")
    info = torch.iinfo(dtype)
    return info.min if reduction == "amax" else info.max


_COMBINE = {
    "prod": (sinter.prod, sinter.mul),
    "amax": (sinter.max, sinter.maximum),
    "amin": (sinter.min, sinter.minimum),
}


def _extreme_at(region: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
                source: sinter.Tensor, reduction: str, include_self: bool) -> sinter.Tensor:
    """Compares each element with all indices of its line. Nothing is scattered."""
    shape = list(x.shape)
    result = at_least_1d(x)
    if torch_dtype(x) == torch.bool:
        result, source = cast(result, torch.uint8), cast(source, torch.uint8)
    result = widen(result)
    source = widen(source)
    axis = axis_of(axis, x.rank)
    indices = at_least_1d(indices)
    # Elements outside of the indices' other axes keep their value.
    whole = result
    for other in range(result.rank):
        if other != axis and result.shape[other] != indices.shape[other]:
            result = sinter.slice(result, other, 0, indices.shape[other])
    at = sinter.unsqueeze(indices, axis)
    position = sinter.unsqueeze(positions(region, result.shape, axis), axis + 1)
    hits = sinter.eq(at, position)
    reduce, combine = _COMBINE[reduction]
    neutral = _neutral(reduction, torch_dtype(result))
    chosen = sinter.where(hits, sinter.unsqueeze(source, axis), neutral)
    update = sinter.cast(reduce(chosen, axis + 1), result.dtype)
    combined = combine(result, update)
    if not include_self:
        combined = sinter.where(sinter.any(hits, axis + 1), update, result)
    for other in range(result.rank):
        if whole.shape[other] != combined.shape[other]:
            combined = _put_front(whole, combined, other)
    return sinter.reshape(combined, shape)


def _put_front(whole: sinter.Tensor, part: sinter.Tensor, axis: int) -> sinter.Tensor:
    """`part`, followed along `axis` by the elements of `whole` behind it."""
    rest = whole
    for other in range(axis + 1, whole.rank):
        if rest.shape[other] != part.shape[other]:
            rest = sinter.slice(rest, other, 0, part.shape[other])
    rest = sinter.slice(rest, axis, part.shape[axis], whole.shape[axis])
    return sinter.concat([part, rest], axis)


@lowering(aten.index_reduce.default, supports=_has_short_lines)
def index_reduce(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
                 source: sinter.Tensor, reduce: str, *, include_self: bool = True
                 ) -> sinter.Tensor:
    axis = axis_of(axis, x.rank)
    source, indices = at_least_1d(cast(source, torch_dtype(x))), at_least_1d(indices)
    shape = [source.shape[i] if i == axis else 1 for i in range(source.rank)]
    indices = expand(sinter.reshape(indices, shape), source.shape)
    return combine_at(region, x, axis, indices, source, reduce, include_self)
