"""Tensors from sizes and numbers alone."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import cast, is_tensor, number, result_shape

aten = torch.ops.aten
prims = torch.ops.prims


def _filled(region: Any, node: Any, value: Any) -> sinter.Tensor:
    """The shape and dtype of the node's result, filled with a number."""
    fake = node.meta["val"]
    shape = result_shape(region, node)
    if is_tensor(value):
        return sinter.broadcast_to(cast(value, fake.dtype), shape)
    return sinter.full(region.graph, shape, number(value, fake.dtype), sinter.dtype(fake.dtype))


@lowering(aten.full.default)
def full(region: Any, node: Any, size: Any, value: Any, **options: Any) -> sinter.Tensor:
    return _filled(region, node, value)


@lowering(aten.full_like.default)
def full_like(region: Any, node: Any, x: Any, value: Any, **options: Any) -> sinter.Tensor:
    return _filled(region, node, value)


@lowering(aten.new_full.default)
def new_full(region: Any, node: Any, x: Any, size: Any, value: Any, **options: Any
             ) -> sinter.Tensor:
    return _filled(region, node, value)


@lowering(aten.fill.Scalar, aten.fill.Tensor)
def fill(region: Any, node: Any, x: Any, value: Any) -> sinter.Tensor:
    return _filled(region, node, value)


@lowering(aten.scalar_tensor.default)
def scalar_tensor(region: Any, node: Any, value: Any, **options: Any) -> sinter.Tensor:
    return _filled(region, node, value)


@lowering(aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default)
def zeros(region: Any, node: Any, *arguments: Any, **options: Any) -> sinter.Tensor:
    return _filled(region, node, 0)


@lowering(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def ones(region: Any, node: Any, *arguments: Any, **options: Any) -> sinter.Tensor:
    return _filled(region, node, 1)


@lowering(
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.empty_permuted.default,
    aten.empty_strided.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
)
def empty(region: Any, node: Any, *arguments: Any, **options: Any) -> sinter.Tensor:
    """Zeros: a fused kernel does not read memory that nothing has written."""
    return _filled(region, node, 0)


@lowering(aten.arange.start_step, aten.arange.start, aten.arange.default)
def arange(region: Any, node: Any, *bounds: Any, **options: Any) -> sinter.Tensor:
    """start, start + step, …; fractions are computed in f64, and cut off for integer dtypes."""
    start, step = (0, 1) if len(bounds) == 1 else (bounds[0], bounds[2] if len(bounds) > 2 else 1)
    dtype = node.meta["val"].dtype
    (extent,) = result_shape(region, node)
    if not dtype.is_floating_point or (is_whole(start) and is_whole(step)):
        line = sinter.iota(region.graph, extent, int(start), int(step))
        return cast(line, dtype)
    line = cast(sinter.iota(region.graph, extent), torch.float64)
    return cast(sinter.add(sinter.mul(line, float(step)), float(start)), dtype)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


@lowering(prims.iota.default)
def iota(region: Any, node: Any, length: Any, *, start: Any, step: Any, **options: Any
         ) -> sinter.Tensor:
    line = sinter.iota(region.graph, length, start, step)
    return cast(line, node.meta["val"].dtype)
