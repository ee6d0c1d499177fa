"""Losses and products that eager mode rounds once; the others are decomposed."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import axis_of, cast, promote_wide, widen

aten = torch.ops.aten

_NONE, _MEAN, _SUM = 0, 1, 2


def _reduced(loss: sinter.Tensor, reduction: int) -> sinter.Tensor:
    if reduction == _NONE:
        return loss
    return sinter.mean(loss) if reduction == _MEAN else sinter.sum(loss)


def _share(g: sinter.Tensor, x: sinter.Tensor, reduction: int) -> sinter.Tensor:
    """The cotangent of each element of the loss."""
    if reduction != _MEAN:
        return g
    count = sinter.sum(sinter.full(x.graph, list(x.shape), 1, sinter.i64))
    return sinter.div(g, sinter.cast(count, g.dtype))


@lowering(aten.binary_cross_entropy.default)
def binary_cross_entropy(region: Any, node: Any, x: sinter.Tensor, target: sinter.Tensor,
                         weight: sinter.Tensor | None = None, reduction: int = _MEAN
                         ) -> sinter.Tensor:
    """−t log x − (1 − t) log(1 − x), where logarithms are at least −100."""
    x, target = widen(x), widen(target)
    of_true = sinter.maximum(sinter.log(x), -100.0)
    of_false = sinter.maximum(sinter.log1p(sinter.neg(x)), -100.0)
    below = sinter.mul(sinter.sub(target, 1.0), of_false)
    loss = sinter.sub(below, sinter.mul(target, of_true))
    if weight is not None:
        loss = sinter.mul(loss, widen(weight))
    # Eager mode reduces the rounded losses.
    rounded = cast(loss, node.meta["val"].dtype)
    return _reduced(rounded, reduction)


@lowering(aten.binary_cross_entropy_backward.default)
def binary_cross_entropy_backward(region: Any, node: Any, g: sinter.Tensor, x: sinter.Tensor,
                                  target: sinter.Tensor, weight: sinter.Tensor | None = None,
                                  reduction: int = _MEAN) -> sinter.Tensor:
    g, x, target = widen(g), widen(x), widen(target)
    slope = sinter.maximum(sinter.mul(sinter.sub(1.0, x), x), 1e-12)
    result = sinter.div(sinter.mul(g, sinter.sub(x, target)), slope)
    if weight is not None:
        result = sinter.mul(result, widen(weight))
    return _share(result, x, reduction)


@lowering(aten.binary_cross_entropy_with_logits.default)
def binary_cross_entropy_with_logits(region: Any, node: Any, x: sinter.Tensor,
                                     target: sinter.Tensor, weight: sinter.Tensor | None = None,
                                     positive_weight: sinter.Tensor | None = None,
                                     reduction: int = _MEAN) -> sinter.Tensor:
    """(1 − t) x + w (log(1 + e^−|x|) + max(−x, 0)), where w = 1 + (positive_weight − 1) t."""
    x, target = widen(x), widen(target)
    tail = sinter.log1p(sinter.exp(sinter.neg(sinter.abs(x))))
    tail = sinter.add(tail, sinter.maximum(sinter.neg(x), 0.0))
    if positive_weight is not None:
        more = sinter.mul(sinter.sub(widen(positive_weight), 1.0), target)
        tail = sinter.mul(tail, sinter.add(more, 1.0))
    loss = sinter.add(sinter.mul(sinter.sub(1.0, target), x), tail)
    if weight is not None:
        loss = sinter.mul(loss, widen(weight))
    return _reduced(loss, reduction)


@lowering(aten.linalg_cross.default)
def linalg_cross(region: Any, node: Any, a: sinter.Tensor, b: sinter.Tensor, *, dim: int = -1
                 ) -> sinter.Tensor:
    """The cross product of vectors of three elements along an axis."""
    a, b = promote_wide(a, b)
    axis = axis_of(dim, node.meta["val"].ndim) - node.meta["val"].ndim
    x = [sinter.select(a, axis, at) for at in range(3)]
    y = [sinter.select(b, axis, at) for at in range(3)]
    parts = []
    for at in range(3):
        second, third = (at + 1) % 3, (at + 2) % 3
        product = sinter.mul(x[second], y[third])
        parts.append(sinter.sub(product, sinter.mul(x[third], y[second])))
    return sinter.stack(parts, parts[0].rank + 1 + axis)
