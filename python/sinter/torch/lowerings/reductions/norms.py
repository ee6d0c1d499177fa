"""Softmax and layer normalisation, in f32 for narrower dtypes. Others are decomposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import at_least_1d, axis_of, floating, widen

aten = torch.ops.aten


def _along(op: Any, axis: int, *values: sinter.Tensor) -> sinter.Tensor:
    """op(values, axis), where a Tensor of rank 0 counts as one of shape [1]."""
    rank = values[0].rank
    result = op(*(at_least_1d(value) for value in values), axis_of(axis, rank))
    return sinter.reshape(result, []) if rank == 0 else result


@lowering(aten._softmax.default)
def softmax(region: Any, node: Any, x: sinter.Tensor, axis: int, half_to_float: bool
            ) -> sinter.Tensor:
    return _along(sinter.softmax, axis, widen(floating(x)))


@lowering(aten._log_softmax.default)
def log_softmax(region: Any, node: Any, x: sinter.Tensor, axis: int, half_to_float: bool
                ) -> sinter.Tensor:
    return _along(sinter.log_softmax, axis, widen(floating(x)))


@lowering(aten._softmax_backward_data.default)
def softmax_backward(region: Any, node: Any, g: sinter.Tensor, y: sinter.Tensor, axis: int,
                     dtype: torch.dtype) -> sinter.Tensor:
    def backward(g: sinter.Tensor, y: sinter.Tensor, axis: int) -> sinter.Tensor:
        product = sinter.mul(g, y)
        return sinter.sub(product, sinter.mul(y, sinter.sum(product, axis, keep=True)))

    return _along(backward, axis, widen(g), widen(y))


@lowering(aten._log_softmax_backward_data.default)
def log_softmax_backward(region: Any, node: Any, g: sinter.Tensor, y: sinter.Tensor, axis: int,
                         dtype: torch.dtype) -> sinter.Tensor:
    def backward(g: sinter.Tensor, y: sinter.Tensor, axis: int) -> sinter.Tensor:
        return sinter.sub(g, sinter.mul(sinter.exp(y), sinter.sum(g, axis, keep=True)))

    return _along(backward, axis, widen(g), widen(y))


@lowering(aten.native_layer_norm.default)
def native_layer_norm(region: Any, node: Any, x: sinter.Tensor, normalized_shape: Sequence[Any],
                      weight: sinter.Tensor | None, bias: sinter.Tensor | None, eps: float
                      ) -> tuple[sinter.Tensor, sinter.Tensor, sinter.Tensor]:
    """(y, mean, 1 / deviation) over the last axes."""
    x = widen(x)
    axes = list(range(x.rank - len(normalized_shape), x.rank))
    variance, mean = _var_mean(x, axes)
    inverse = sinter.rsqrt(sinter.add(variance, eps))
    y = sinter.mul(sinter.sub(x, mean), inverse)
    if weight is not None:
        y = sinter.mul(y, widen(weight))
    if bias is not None:
        y = sinter.add(y, widen(bias))
    return y, mean, inverse


def _var_mean(x: sinter.Tensor, axes: list[int]) -> tuple[sinter.Tensor, sinter.Tensor]:
    result = sinter.var_mean(x, axes, correction=0, keep=True)
    return result.var, result.mean
