"""Reading at indices. Negative indices count from the end.

PyTorch's CPU kernels raise an error for indices outside of an axis, and its CUDA kernels stop the
program. Here they are clamped into the axis, as everywhere in sinter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import (
    at_least_1d,
    axis_of,
    cast,
    is_empty,
    operand,
    product,
    result_shape,
    torch_dtype,
)

aten = torch.ops.aten


def index_nodes(node: torch.fx.Node) -> list[tuple[int, torch.fx.Node]]:
    """The indices of an `index` node, with the axes that they index."""
    return [(axis, index) for axis, index in enumerate(node.args[1]) if index is not None]


def has_mask(node: torch.fx.Node) -> bool:
    masks = (torch.bool, torch.uint8)
    return any(index.meta["val"].dtype in masks for _, index in index_nodes(node))


def _has_integers(node: torch.fx.Node) -> str | None:
    if has_mask(node):
        return "the shape of a result depends on the values of a mask"
    return is_not_empty(node)


@lowering(aten.index.Tensor, aten._unsafe_index.Tensor, supports=_has_integers)
def index(region: Any, node: Any, x: sinter.Tensor, indices: Sequence[sinter.Tensor | None]
          ) -> sinter.Tensor:
    """NumPy's advanced indexing with integers."""
    axes = [axis for axis, value in enumerate(indices) if value is not None]
    values = [value for value in indices if value is not None]
    if not values:
        return x
    shape = result_shape(region, node)
    if any(extent == 0 for extent in shape):
        return sinter.full(region.graph, shape, 0, x.dtype)
    return sinter.index(x, values, axes)


def is_not_empty(node: torch.fx.Node) -> str | None:
    return "indexes an empty tensor" if is_empty(node.args[0].meta["val"]) else None


@lowering(aten.index_select.default, supports=is_not_empty)
def index_select(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor
                 ) -> sinter.Tensor:
    taken = sinter.take(at_least_1d(x), at_least_1d(indices), axis_of(axis, x.rank))
    return sinter.reshape(taken, []) if x.rank == 0 else taken


@lowering(aten.embedding.default)
def embedding(region: Any, node: Any, weight: sinter.Tensor, indices: sinter.Tensor,
              *options: Any, **more: Any) -> sinter.Tensor:
    return sinter.embedding(weight, indices)


@lowering(aten.take.default, supports=is_not_empty)
def take(region: Any, node: Any, x: sinter.Tensor, indices: sinter.Tensor) -> sinter.Tensor:
    return sinter.take(sinter.reshape(x, [product(x.shape)]), indices, 0)


@lowering(aten.gather.default)
def gather(region: Any, node: Any, x: sinter.Tensor, axis: int, indices: sinter.Tensor,
           *, sparse_grad: bool = False) -> sinter.Tensor:
    """The other axes of x are cut to those of the indices."""
    shape = list(indices.shape)
    if any(extent == 0 for extent in shape):
        return sinter.full(region.graph, shape, 0, x.dtype)
    x, indices = at_least_1d(x), at_least_1d(indices)
    axis = axis_of(axis, x.rank)
    for other in range(x.rank):
        if other != axis and x.shape[other] != indices.shape[other]:
            x = sinter.slice(x, other, 0, indices.shape[other])
    return sinter.reshape(sinter.take_along_axis(x, indices, axis), shape)


@lowering(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(region: Any, node: Any, x: sinter.Tensor, mask: sinter.Tensor, value: Any
                ) -> sinter.Tensor:
    return sinter.where(mask, operand(value, torch_dtype(x)), x)


@lowering(aten.masked_scatter.default, supports=is_not_empty)
def masked_scatter(region: Any, node: Any, x: sinter.Tensor, mask: sinter.Tensor,
                   source: sinter.Tensor) -> sinter.Tensor:
    """x where the mask is false; elsewhere the elements of source, one after another."""
    shape = result_shape(region, node)
    flat_mask = sinter.reshape(sinter.broadcast_to(mask, shape), [product(shape)])
    order = sinter.sub(sinter.cumsum(cast(flat_mask, torch.int64), 0), 1)
    elements = sinter.reshape(cast(source, torch_dtype(x)), [product(source.shape)])
    chosen = sinter.take(elements, sinter.maximum(order, 0), 0)
    return sinter.where(mask, sinter.reshape(chosen, shape), x)


_LARGEST_TABLE = 1024


def _has_short_table(node: torch.fx.Node) -> str | None:
    table = node.args[1] if "bucketize" in str(node.target) else node.args[0]
    length = table.meta["val"].shape[-1] if table.meta["val"].ndim else 1
    if not isinstance(length, int) or length > _LARGEST_TABLE:
        return f"searches a table of more than {_LARGEST_TABLE} numbers"
    if length == 0:
        return "searches an empty table"
    if node.kwargs.get("sorter") is not None:
        return "searches a table in the order of a sorter"
    return None


def _count_below(values: sinter.Tensor, table: sinter.Tensor, right: bool) -> sinter.Tensor:
    """The numbers of each row of `table` in front of each value. NaN comes last."""
    dtype = torch.promote_types(torch_dtype(values), torch_dtype(table))
    value = sinter.unsqueeze(cast(values, dtype), -1)
    table = cast(table, dtype)
    compare = sinter.gt if right else sinter.ge
    is_below = sinter.logical_not(compare(table, value))
    return sinter.sum(is_below, -1)


@lowering(aten.bucketize.Tensor, supports=_has_short_table)
def bucketize(region: Any, node: Any, values: sinter.Tensor, table: sinter.Tensor, *,
              out_int32: bool = False, right: bool = False) -> sinter.Tensor:
    return _count_below(values, table, right)


@lowering(aten.searchsorted.Tensor, supports=_has_short_table)
def searchsorted(region: Any, node: Any, table: sinter.Tensor, values: sinter.Tensor, *,
                 out_int32: bool = False, right: bool = False, side: str | None = None,
                 sorter: Any = None) -> sinter.Tensor:
    right = right or side == "right"
    if table.rank > 1:
        table = sinter.unsqueeze(table, -2)
    return _count_below(values, table, right)
