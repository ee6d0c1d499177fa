"""Comparisons, predicates, logic, bits, shifts and `where`."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import is_floating, promote, torch_dtype

aten = torch.ops.aten

_COMPARE = {
    sinter.eq: aten.eq,
    sinter.ne: aten.ne,
    sinter.lt: aten.lt,
    sinter.le: aten.le,
    sinter.gt: aten.gt,
    sinter.ge: aten.ge,
}
_LOGIC = {
    sinter.logical_and: aten.logical_and,
    sinter.logical_or: aten.logical_or,
    sinter.logical_xor: aten.logical_xor,
}
_BITS = {
    sinter.bitwise_and: aten.bitwise_and,
    sinter.bitwise_or: aten.bitwise_or,
    sinter.bitwise_xor: aten.bitwise_xor,
}
_SHIFTS = {
    sinter.left_shift: aten.bitwise_left_shift,
    sinter.right_shift: aten.bitwise_right_shift,
}
_OPERATOR_SHIFTS = {sinter.left_shift: aten.__lshift__, sinter.right_shift: aten.__rshift__}
_PREDICATES = {
    sinter.isnan: aten.isnan,
    sinter.isinf: aten.isinf,
}


def _register_compare(op: Any, overloads: list[Any]) -> None:
    @lowering(*overloads)
    def binary(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
        return op(*promote(a, b, keep_bool=True))


def _register_logic(op: Any, overloads: list[Any]) -> None:
    @lowering(*overloads)
    def logic(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
        return op(sinter.cast(a, sinter.boolean), sinter.cast(b, sinter.boolean))


def _register_predicate(op: Any, overloads: list[Any]) -> None:
    @lowering(*overloads)
    def predicate(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
        return op(*promote(x))


for _op, _packet in _COMPARE.items():
    _register_compare(_op, [_packet.Tensor, _packet.Scalar])
for _op, _packet in _LOGIC.items():
    _register_logic(_op, [_packet.default])
for _op, _packet in _BITS.items():
    _register_compare(_op, [_packet.Tensor, _packet.Scalar, _packet.Scalar_Tensor])
for _op, _packet in _SHIFTS.items():
    _register_compare(_op, [_packet.Tensor, _packet.Tensor_Scalar, _packet.Scalar_Tensor])
for _op, _packet in _OPERATOR_SHIFTS.items():
    _register_compare(_op, [_packet.Tensor, _packet.Scalar])
for _op, _packet in _PREDICATES.items():
    _register_predicate(_op, [_packet.default])


@lowering(aten.signbit.default)
def signbit(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    if torch_dtype(x) in (torch.bool, torch.uint8):
        return sinter.ne(x, x)
    return sinter.signbit(x)


@lowering(aten.logical_not.default)
def logical_not(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return sinter.logical_not(x)


@lowering(aten.bitwise_not.default)
def bitwise_not(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return sinter.bitwise_not(x)


@lowering(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def where(region: Any, node: Any, condition: sinter.Tensor, a: Any, b: Any) -> sinter.Tensor:
    return sinter.where(condition, *promote(a, b, keep_bool=True))


@lowering(aten.isposinf.default)
def isposinf(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return sinter.eq(x, float("inf")) if is_floating(x) else sinter.ne(x, x)


@lowering(aten.isneginf.default)
def isneginf(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
    return sinter.eq(x, float("-inf")) if is_floating(x) else sinter.ne(x, x)
