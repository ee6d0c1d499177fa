"""Activations that stay one op in the graph. Decompositions cover the others."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from .arithmetic import clamp
from ..operands import promote, widen

aten = torch.ops.aten


@lowering(aten.relu.default)
def relu(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    (x,) = promote(x)
    return sinter.maximum(x, 0)


@lowering(aten.hardtanh.default)
def hardtanh(region: Any, node: Any, x: sinter.Tensor, low: Any = -1, high: Any = 1
             ) -> sinter.Tensor:
    return clamp(region, node, x, low, high)


@lowering(aten.leaky_relu.default)
def leaky_relu(region: Any, node: Any, x: sinter.Tensor, slope: Any = 0.01) -> sinter.Tensor:
    return sinter.where(sinter.gt(x, 0), x, sinter.mul(x, slope))


@lowering(aten.elu.default)
def elu(region: Any, node: Any, x: sinter.Tensor, alpha: Any = 1, scale: Any = 1,
        input_scale: Any = 1) -> sinter.Tensor:
    x = widen(x)
    below = x if input_scale == 1 else sinter.mul(x, float(input_scale))
    negative = sinter.mul(sinter.expm1(below), float(alpha * scale))
    return sinter.where(sinter.lt(x, 0), negative, sinter.mul(x, float(scale)))


@lowering(aten.gelu.default)
def gelu(region: Any, node: Any, x: sinter.Tensor, *, approximate: str = "none") -> sinter.Tensor:
    return sinter.gelu_tanh(x) if approximate == "tanh" else sinter.gelu(x)


@lowering(aten.silu.default)
def silu(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return sinter.silu(x)


@lowering(aten.celu.default)
def celu(region: Any, node: Any, x: sinter.Tensor, alpha: Any = 1) -> sinter.Tensor:
    return elu(region, node, x, alpha, 1, 1.0 / alpha)


@lowering(aten.sigmoid_backward.default)
def sigmoid_backward(region: Any, node: Any, g: sinter.Tensor, y: sinter.Tensor) -> sinter.Tensor:
    g, y = widen(g), widen(y)
    return sinter.mul(g, sinter.mul(sinter.sub(1.0, y), y))


@lowering(aten.tanh_backward.default)
def tanh_backward(region: Any, node: Any, g: sinter.Tensor, y: sinter.Tensor) -> sinter.Tensor:
    g, y = widen(g), widen(y)
    return sinter.mul(g, sinter.sub(1.0, sinter.mul(y, y)))
