"""Arithmetic of two and three operands."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from .integer_functions import integer_power
from ..operands import (
    cast,
    is_floating,
    is_tensor,
    number,
    promote,
    promote_wide,
    torch_dtype,
)

aten = torch.ops.aten


@lowering(aten.add.Tensor, aten.add.Scalar)
def add(region: Any, node: Any, a: Any, b: Any, alpha: Any = 1) -> sinter.Tensor:
    if alpha == 1:
        a, b = promote(a, b, rounds=False)
        return sinter.add(a, b)
    a, b, alpha = _scaled(a, b, alpha)
    return sinter.add(a, sinter.mul(b, alpha) if is_tensor(b) else b * alpha)


@lowering(aten.sub.Tensor, aten.sub.Scalar)
def sub(region: Any, node: Any, a: Any, b: Any, alpha: Any = 1) -> sinter.Tensor:
    if alpha == 1:
        a, b = promote(a, b, rounds=False)
        return sinter.sub(a, b)
    a, b, alpha = _scaled(a, b, alpha)
    return sinter.sub(a, sinter.mul(b, alpha) if is_tensor(b) else b * alpha)


@lowering(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(region: Any, node: Any, a: Any, b: Any, alpha: Any = 1) -> sinter.Tensor:
    a, b, alpha = _scaled(a, b, alpha)
    return sinter.sub(b, sinter.mul(a, alpha) if alpha != 1 else a)


def _scaled(a: Any, b: Any, alpha: Any) -> list[Any]:
    """a, b and a factor in the dtype of a and b, wide enough for one rounding at the end."""
    a, b = promote_wide(a, b)
    dtype = torch_dtype(a if is_tensor(a) else b)
    return [a, b, float(alpha) if dtype.is_floating_point else int(alpha)]


@lowering(aten.mul.Tensor, aten.mul.Scalar)
def mul(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    a, b = promote(a, b, rounds=False)
    return sinter.mul(a, b)


@lowering(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor)
def div(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    a, b = promote(a, b, to_float=True, rounds=False)
    return sinter.div(a, b)


@lowering(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(region: Any, node: Any, a: Any, b: Any, *, rounding_mode: str | None) -> sinter.Tensor:
    if rounding_mode is None:
        return div(region, node, a, b)
    a, b = promote_wide(a, b)
    if rounding_mode == "floor":
        return _floor_quotient(a, b)
    if is_floating(a if is_tensor(a) else b):
        return sinter.trunc(sinter.div(a, b))
    return sinter.floordiv(sinter.sub(a, sinter.fmod(a, b)), b)


@lowering(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    return _floor_quotient(*promote_wide(a, b))


def _floor_quotient(a: Any, b: Any) -> sinter.Tensor:
    """floor(a / b) as PyTorch computes it: from the exact remainder, with a / b where b is 0."""
    if not is_floating(a if is_tensor(a) else b):
        return sinter.floordiv(a, b)
    remainder = sinter.fmod(a, b)
    quotient = sinter.div(sinter.sub(a, remainder), b)
    is_below = sinter.ne(remainder, 0.0) & sinter.ne(sinter.lt(remainder, 0.0), _is_negative(b))
    quotient = sinter.where(is_below, sinter.sub(quotient, 1.0), quotient)
    floor = sinter.floor(quotient)
    is_above = sinter.gt(sinter.sub(quotient, floor), 0.5)
    nearest = sinter.where(is_above, sinter.add(floor, 1.0), floor)
    exact = sinter.div(a, b)
    result = sinter.where(sinter.eq(quotient, 0.0), sinter.copysign(0.0, exact), nearest)
    return sinter.where(_is_zero(b), exact, result)


def _is_negative(b: Any) -> Any:
    return sinter.lt(b, 0.0) if is_tensor(b) else b < 0


def _is_zero(b: Any) -> Any:
    return sinter.eq(b, 0.0) if is_tensor(b) else b == 0


@lowering(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    return sinter.fmod(*promote(a, b))


@lowering(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def remainder(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    return sinter.remainder(*promote(a, b))


_POWERS = {
    0.5: sinter.sqrt,
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    -0.5: lambda x: sinter.div(1.0, sinter.sqrt(x)),
    -1.0: lambda x: sinter.div(1.0, x),
    -2.0: lambda x: sinter.div(1.0, x * x),
}


@lowering(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar)
def power(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    """Integers multiply and wrap; common exponents are products and roots, as in eager mode."""
    a, b = promote_wide(a, b)
    if not is_floating(a if is_tensor(a) else b):
        return integer_power(a, b)
    if not is_tensor(b) and b in _POWERS:
        return _POWERS[b](a)
    return sinter.pow(a, b)


# Ops of two operands that become one sinter op after promotion.
_BINARY = {
    sinter.maximum: [aten.maximum.default],
    sinter.minimum: [aten.minimum.default],
    sinter.fmax: [aten.fmax.default],
    sinter.fmin: [aten.fmin.default],
}
_BINARY_FLOAT = {
    sinter.atan2: [aten.atan2.default],
    sinter.hypot: [aten.hypot.default],
    sinter.copysign: [aten.copysign.Tensor, aten.copysign.Scalar],
}


def _register_binary(op: Any, overloads: list[Any], to_float: bool) -> None:
    @lowering(*overloads)
    def binary(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
        return op(*promote(a, b, to_float=to_float))


for _op, _overloads in _BINARY.items():
    _register_binary(_op, _overloads, to_float=False)
for _op, _overloads in _BINARY_FLOAT.items():
    _register_binary(_op, _overloads, to_float=True)


@lowering(aten.nextafter.default)
def nextafter(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    a, b = promote(a, b, to_float=True)
    if torch_dtype(a) in (torch.float32, torch.float64):
        return sinter.nextafter(a, b)
    # The bits of a floating number, read as an integer, count its magnitudes.
    bits = sinter.bitcast(a, sinter.i16)
    grows = sinter.eq(sinter.lt(a, b), sinter.gt(a, 0.0))
    step = sinter.where(grows, sinter.add(bits, 1), sinter.sub(bits, 1))
    smallest = sinter.where(sinter.lt(b, 0.0), number(-0x7FFF, torch.int16), 1)
    step = sinter.where(sinter.eq(a, 0.0), smallest, step)
    moved = sinter.bitcast(sinter.cast(step, sinter.i16), a.dtype)
    is_nan = sinter.logical_or(sinter.isnan(a), sinter.isnan(b))
    result = sinter.where(sinter.eq(a, b), b, moved)
    return sinter.where(is_nan, float("nan"), result)


@lowering(aten.clamp.default, aten.clamp.Tensor)
def clamp(region: Any, node: Any, x: Any, low: Any = None, high: Any = None) -> sinter.Tensor:
    """minimum(maximum(x, low), high): `high` wins, and NaN stays."""
    given = [bound for bound in (low, high) if bound is not None]
    x, *bounds = promote(x, *given)
    if low is not None:
        x = sinter.maximum(x, bounds[0])
    return sinter.minimum(x, bounds[-1]) if high is not None else x


@lowering(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(region: Any, node: Any, x: Any, low: Any) -> sinter.Tensor:
    return clamp(region, node, x, low)


@lowering(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(region: Any, node: Any, x: Any, high: Any) -> sinter.Tensor:
    return clamp(region, node, x, None, high)


@lowering(aten.addcmul.default)
def addcmul(region: Any, node: Any, x: Any, a: Any, b: Any, *, value: Any = 1) -> sinter.Tensor:
    x, a, b, value = promote_wide(x, a, b, value) if value != 1 else [*promote_wide(x, a, b), 1]
    return sinter.add(x, sinter.mul(a, b) if value == 1 else sinter.mul(sinter.mul(a, b), value))


@lowering(aten.addcdiv.default)
def addcdiv(region: Any, node: Any, x: Any, a: Any, b: Any, *, value: Any = 1) -> sinter.Tensor:
    x, a, b = promote_wide(x, a, b, to_float=True)
    quotient = sinter.div(a if value == 1 else sinter.mul(a, float(value)), b)
    return sinter.add(x, quotient)


@lowering(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(region: Any, node: Any, a: Any, b: Any, weight: Any) -> sinter.Tensor:
    a, b, weight = promote_wide(a, b, weight)
    return sinter.lerp(a, b, weight)


@lowering(aten.reciprocal.default)
def reciprocal(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    (x,) = promote(x, to_float=True)
    return sinter.div(1.0, x)


@lowering(aten.xlogy.Tensor, aten.xlogy.Scalar_Self, aten.xlogy.Scalar_Other)
def xlogy(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    return _times_log(a, b, sinter.log)


@lowering(aten.special_xlog1py.default)
def xlog1py(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    return _times_log(a, b, sinter.log1p)


def _times_log(a: Any, b: Any, log: Any) -> sinter.Tensor:
    """a · log(b); 0 where a is 0, and NaN where b is NaN."""
    a, b = promote_wide(a, b, to_float=True)
    if not is_tensor(b):
        b = sinter.add(sinter.mul(cast(a, torch_dtype(a)), 0.0), b)
    if not is_tensor(a):
        product = sinter.mul(log(b), a) if a != 0 else sinter.mul(b, 0.0)
        return sinter.where(sinter.isnan(b), b, product if a != 0 else 0.0)
    product = sinter.where(sinter.eq(a, 0.0), 0.0, sinter.mul(a, log(b)))
    return sinter.where(sinter.isnan(b), b, product)
