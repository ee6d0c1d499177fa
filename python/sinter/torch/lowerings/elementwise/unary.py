"""Functions of one operand: those that are one sinter op, and roundings."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import floating, is_floating, promote, torch_dtype, widen

aten = torch.ops.aten

# Floating results; integers are taken in the default dtype.
_FLOAT = {
    sinter.exp: aten.exp,
    sinter.exp2: aten.exp2,
    sinter.expm1: aten.expm1,
    sinter.log: aten.log,
    sinter.log2: aten.log2,
    sinter.log10: aten.log10,
    sinter.log1p: aten.log1p,
    sinter.sqrt: aten.sqrt,
    sinter.rsqrt: aten.rsqrt,
    sinter.sin: aten.sin,
    sinter.cos: aten.cos,
    sinter.tan: aten.tan,
    sinter.asin: aten.asin,
    sinter.acos: aten.acos,
    sinter.atan: aten.atan,
    sinter.sinh: aten.sinh,
    sinter.cosh: aten.cosh,
    sinter.tanh: aten.tanh,
    sinter.asinh: aten.asinh,
    sinter.acosh: aten.acosh,
    sinter.atanh: aten.atanh,
    sinter.erf: aten.erf,
    sinter.erfc: aten.erfc,
    sinter.erfinv: aten.erfinv,
    sinter.lgamma: aten.lgamma,
    sinter.digamma: aten.digamma,
    sinter.sigmoid: aten.sigmoid,
}

# Results in the dtype of the operand.
_NUMBER = {
    sinter.neg: aten.neg,
    sinter.abs: aten.abs,
    sinter.square: aten.square,
}

# Integers stay as they are.
_ROUNDING = {
    sinter.floor: aten.floor,
    sinter.ceil: aten.ceil,
    sinter.trunc: aten.trunc,
    sinter.round: aten.round,
}


def _register_float(op: Any, packet: Any) -> None:
    @lowering(packet.default)
    def unary(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
        return op(floating(x))


def _register_number(op: Any, packet: Any) -> None:
    @lowering(packet.default)
    def unary(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
        return op(*promote(x))


def _register_rounding(op: Any, packet: Any) -> None:
    @lowering(packet.default)
    def rounding(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
        return op(x) if is_floating(x) else x


for _op, _packet in _FLOAT.items():
    _register_float(_op, _packet)
for _op, _packet in _NUMBER.items():
    _register_number(_op, _packet)
for _op, _packet in _ROUNDING.items():
    _register_rounding(_op, _packet)


@lowering(aten.round.decimals)
def round_decimals(region: Any, node: Any, x: sinter.Tensor, *, decimals: int) -> sinter.Tensor:
    """Rounds to a number of decimals by a factor of 10^|decimals|, as in eager mode."""
    if not is_floating(x):
        return x
    x = widen(x)
    factor = float(10 ** abs(decimals))
    if decimals >= 0:
        return sinter.div(sinter.round(sinter.mul(x, factor)), factor)
    return sinter.mul(sinter.round(sinter.div(x, factor)), factor)


@lowering(aten.sign.default, aten.sgn.default)
def sign(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    """The sign; 0 for NaN, unlike sinter's op."""
    if torch_dtype(x) == torch.bool:
        return x
    if not is_floating(x):
        return sinter.sign(x)
    return sinter.where(sinter.isnan(x), 0.0, sinter.sign(x))


@lowering(aten.positive.default)
def positive(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return x
