"""Reductions over axes. No axes means all axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import (
    at_least_1d,
    axes_of,
    cast,
    floating,
    is_floating,
    is_static,
    product,
    promote,
    torch_dtype,
    widen,
)

aten = torch.ops.aten


def reduce(op: Any, x: sinter.Tensor, axes: Any, keep: bool, **options: Any) -> Any:
    """op over axes; a Tensor of rank 0 counts as one of shape [1]."""
    where = axes_of(axes, x.rank)
    if x.rank == 0:
        return op(at_least_1d(x), where, keep=False, **options)
    return op(x, where, keep=keep, **options)


@lowering(aten.sum.default, aten.sum.dim_IntList)
def sum(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, keep: bool = False, *,
        dtype: torch.dtype | None = None) -> sinter.Tensor:
    return _accumulated(sinter.sum, x, axes, keep, dtype)


@lowering(aten.prod.default)
def prod(region: Any, node: Any, x: sinter.Tensor, *, dtype: torch.dtype | None = None
         ) -> sinter.Tensor:
    return _accumulated(sinter.prod, x, None, False, dtype)


@lowering(aten.prod.dim_int)
def prod_dim(region: Any, node: Any, x: sinter.Tensor, axis: int, keep: bool = False, *,
             dtype: torch.dtype | None = None) -> sinter.Tensor:
    return _accumulated(sinter.prod, x, axis, keep, dtype)


@lowering(aten.mean.default, aten.mean.dim)
def mean(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, keep: bool = False, *,
         dtype: torch.dtype | None = None) -> sinter.Tensor:
    return _accumulated(sinter.mean, x, axes, keep, dtype)


def _accumulated(op: Any, x: sinter.Tensor, axes: Any, keep: bool, dtype: torch.dtype | None
                 ) -> sinter.Tensor:
    """op of x in `dtype`, in which narrower floats are not rounded before the reduction."""
    if dtype is not None and not (dtype.is_floating_point and is_floating(x)):
        x = cast(x, dtype)
    elif dtype == torch.float64:
        x = cast(x, dtype)
    elif dtype == torch.float32:
        x = cast(x, dtype)
    if torch_dtype(x) == torch.bool:
        x = cast(x, torch.int64)
    return reduce(op, x, axes, keep)


def _register_extreme(op: Any, over_axes: Any, default: Any) -> None:
    @lowering(over_axes, default)
    def extreme(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, keep: bool = False
                ) -> sinter.Tensor:
        return reduce(op, *promote(x), axes, keep)


_register_extreme(sinter.max, aten.amax.default, aten.max.default)
_register_extreme(sinter.min, aten.amin.default, aten.min.default)


def _register_with_index(op: Any, overload: Any) -> None:
    @lowering(overload)
    def with_index(region: Any, node: Any, x: sinter.Tensor, axis: int, keep: bool = False
                   ) -> tuple[sinter.Tensor, sinter.Tensor]:
        result = reduce(op, *promote(x), axis, keep)
        return result.value, result.index


_register_with_index(sinter.max_with_index, aten.max.dim)
_register_with_index(sinter.min_with_index, aten.min.dim)


def _register_index(op: Any, overload: Any) -> None:
    @lowering(overload)
    def index(region: Any, node: Any, x: sinter.Tensor, axis: int | None = None,
              keep: bool = False) -> sinter.Tensor:
        return reduce(op, *promote(x), axis, keep)


_register_index(sinter.argmax, aten.argmax.default)
_register_index(sinter.argmin, aten.argmin.default)


def _register_logical(op: Any, packet: Any) -> None:
    @lowering(packet.default, packet.dim, packet.dims)
    def logical(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, keep: bool = False
                ) -> sinter.Tensor:
        return reduce(op, x, axes, keep)


_register_logical(sinter.any, aten.any)
_register_logical(sinter.all, aten.all)


@lowering(aten.logsumexp.default)
def logsumexp(region: Any, node: Any, x: sinter.Tensor, axes: Sequence[int], keep: bool = False
              ) -> sinter.Tensor:
    return reduce(sinter.logsumexp, floating(x), axes, keep)


@lowering(aten.var.correction)
def var(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, *,
        correction: float | None = None, keepdim: bool = False) -> sinter.Tensor:
    return moments(x, axes, correction, keepdim)[0]


@lowering(aten.var_mean.correction)
def var_mean(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, *,
             correction: float | None = None, keepdim: bool = False
             ) -> tuple[sinter.Tensor, sinter.Tensor]:
    return moments(x, axes, correction, keepdim)


@lowering(aten.std.correction)
def std(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, *,
        correction: float | None = None, keepdim: bool = False) -> sinter.Tensor:
    return sinter.sqrt(moments(x, axes, correction, keepdim)[0])


@lowering(aten.std_mean.correction)
def std_mean(region: Any, node: Any, x: sinter.Tensor, axes: Any = None, *,
             correction: float | None = None, keepdim: bool = False
             ) -> tuple[sinter.Tensor, sinter.Tensor]:
    variance, mean = moments(x, axes, correction, keepdim)
    return sinter.sqrt(variance), mean


def moments(x: sinter.Tensor, axes: Any, correction: float | None, keep: bool
            ) -> tuple[sinter.Tensor, sinter.Tensor]:
    """Variance and mean in a wide dtype. The divisor n - correction is at least 0."""
    x = widen(x)
    correction = 1 if correction is None else correction
    shape = at_least_1d(x).shape
    count = product([shape[axis] for axis in axes_of(axes, x.rank)])
    whole = int(correction) == correction
    if whole and (not is_static(count) or count >= correction):
        result = reduce(sinter.var_mean, x, axes, keep, correction=int(correction))
        return result.var, result.mean
    result = reduce(sinter.var_mean, x, axes, keep, correction=0)
    if is_static(count):
        divisor = max(count - correction, 0.0)
        factor = count / divisor if divisor else float("inf")
        return sinter.mul(result.var, factor), result.mean
    size = sinter.cast(sinter.sum(sinter.full(x.graph, [count], 1, sinter.i64)), x.dtype)
    divisor = sinter.maximum(sinter.sub(size, float(correction)), 0.0)
    return sinter.div(sinter.mul(result.var, size), divisor), result.mean
