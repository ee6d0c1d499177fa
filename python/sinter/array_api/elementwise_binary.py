"""Functions of two or three arrays, elementwise, by the names of the array API standard."""

from __future__ import annotations

from typing import Any, Callable

import sinter
from sinter.tracing.scalars import Scalar, kind_of

from . import _operands
from ._operands import elementwise


def add(x1: Any, x2: Any, /) -> Any:
    """x1 + x2"""
    return elementwise(sinter.add, x1, x2)


def atan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1), in [-pi, pi]."""
    return elementwise(sinter.atan2, x1, x2, is_float=True)


def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    """x1 * 2**x2, wrapped; 0 for a negative or too large x2."""
    return elementwise(sinter.left_shift, x1, x2)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """floor(x1 / 2**x2)"""
    return elementwise(sinter.right_shift, x1, x2)


def copysign(x1: Any, x2: Any, /) -> Any:
    """The magnitude of x1 with the sign of x2."""
    return elementwise(sinter.copysign, x1, x2, is_float=True)


def divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2; integers give float32."""
    return elementwise(sinter.div, x1, x2, is_float=True)


def equal(x1: Any, x2: Any, /) -> Any:
    """x1 == x2"""
    return elementwise(sinter.eq, x1, x2)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """floor(x1 / x2)"""
    return elementwise(sinter.floordiv, x1, x2)


def greater(x1: Any, x2: Any, /) -> Any:
    """x1 > x2"""
    return elementwise(sinter.gt, x1, x2)


def greater_equal(x1: Any, x2: Any, /) -> Any:
    """x1 >= x2"""
    return elementwise(sinter.ge, x1, x2)


def hypot(x1: Any, x2: Any, /) -> Any:
    """sqrt(x1² + x2²) without overflow."""
    return elementwise(sinter.hypot, x1, x2, is_float=True)


def less(x1: Any, x2: Any, /) -> Any:
    """x1 < x2"""
    return elementwise(sinter.lt, x1, x2)


def less_equal(x1: Any, x2: Any, /) -> Any:
    """x1 <= x2"""
    return elementwise(sinter.le, x1, x2)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)) without overflow."""
    return elementwise(sinter.logaddexp, x1, x2, is_float=True)


def logical_and(x1: Any, x2: Any, /) -> Any:
    """True where both are true."""
    return elementwise(sinter.logical_and, x1, x2)


def logical_or(x1: Any, x2: Any, /) -> Any:
    """True where one is true."""
    return elementwise(sinter.logical_or, x1, x2)


def logical_xor(x1: Any, x2: Any, /) -> Any:
    """True where exactly one is true."""
    return elementwise(sinter.logical_xor, x1, x2)


def maximum(x1: Any, x2: Any, /) -> Any:
    """The larger one; NaN if one is NaN."""
    return elementwise(sinter.maximum, x1, x2)


def minimum(x1: Any, x2: Any, /) -> Any:
    """The smaller one; NaN if one is NaN."""
    return elementwise(sinter.minimum, x1, x2)


def multiply(x1: Any, x2: Any, /) -> Any:
    """x1 * x2"""
    return elementwise(sinter.mul, x1, x2)


def nextafter(x1: Any, x2: Any, /) -> Any:
    """The next number after x1 in the direction of x2."""
    return elementwise(sinter.nextafter, x1, x2, is_float=True)


def not_equal(x1: Any, x2: Any, /) -> Any:
    """x1 != x2"""
    return elementwise(sinter.ne, x1, x2)


def remainder(x1: Any, x2: Any, /) -> Any:
    """x1 - floor(x1 / x2) * x2, with the sign of x2."""
    return elementwise(sinter.remainder, x1, x2)


def subtract(x1: Any, x2: Any, /) -> Any:
    """x1 - x2"""
    return elementwise(sinter.sub, x1, x2)


def _bits(what: str, of_integers: Callable[..., Any], of_bool: Callable[..., Any], x1: Any, x2: Any) -> Any:
    """An op on bits. The op table has one for integers and one for bool."""
    if kind_of(x1) is not None and kind_of(x2) is not None:
        return elementwise(of_integers, x1, x2)
    a, b = _operands.operands((x1, x2), what)
    dtypes = {x.dtype for x in (a, b) if isinstance(x, sinter.Tensor)}
    return of_bool(a, b) if dtypes == {sinter.boolean} else of_integers(a, b)


def bitwise_and(x1: Any, x2: Any, /) -> Any:
    """Bits that are 1 in both; for bool, the conjunction."""
    return _bits("bitwise_and", sinter.bitwise_and, sinter.logical_and, x1, x2)


def bitwise_or(x1: Any, x2: Any, /) -> Any:
    """Bits that are 1 in one; for bool, the disjunction."""
    return _bits("bitwise_or", sinter.bitwise_or, sinter.logical_or, x1, x2)


def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    """Bits that are 1 in exactly one; for bool, the exclusive disjunction."""
    return _bits("bitwise_xor", sinter.bitwise_xor, sinter.logical_xor, x1, x2)


def pow(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2. Of integers it is an integer, wrapped; negative exponents of them are undefined."""
    if kind_of(x1) is not None and kind_of(x2) is not None:
        return elementwise(sinter.pow, x1, x2, is_float=True)
    a, b = _operands.operands((x1, x2), "pow")
    dtypes = [x.dtype for x in (a, b) if isinstance(x, sinter.Tensor)]
    numbers = [x for x in (a, b) if not isinstance(x, sinter.Tensor)]
    if not all(dtype.is_integer for dtype in dtypes) or any(isinstance(x, float) for x in numbers):
        return sinter.pow(a, b)
    return _integer_power(a, b, _operands.common_dtype([x for x in (a, b) if isinstance(x, sinter.Tensor)]))


def _integer_power(base: Any, exponent: Any, dtype: sinter.DType) -> sinter.Tensor:
    """Repeated squaring. Six bits are enough: larger exponents overflow, except of 0, 1 and -1."""
    if isinstance(exponent, int):
        return _power_by_number(sinter.cast(base, dtype), exponent)
    graph = exponent.graph
    base, exponent = (sinter.cast(_operands.as_tensor(x, dtype, graph), dtype) for x in (base, exponent))
    square, result = base, None
    for bit in range(6):
        factor = sinter.where(sinter.ne(sinter.bitwise_and(exponent, 1 << bit), 0), square, 1)
        result = factor if result is None else result * factor
        square = square * square
    is_zero = sinter.logical_and(sinter.eq(base, 0), sinter.ne(exponent, 0))
    return sinter.where(is_zero, 0, result)


def _power_by_number(base: sinter.Tensor, exponent: int) -> sinter.Tensor:
    result, square = None, base
    remaining = max(exponent, 0)
    while remaining:
        if remaining & 1:
            result = square if result is None else result * square
        remaining >>= 1
        if remaining:
            square = square * square
    return sinter.full(base.graph, base.shape, 1, base.dtype) if result is None else result


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """minimum(maximum(x, min), max) in x's dtype; NaN if one of them is NaN."""
    x = _operands.array(x, "clip")
    result = x
    if min is not None:
        result = elementwise(sinter.maximum, result, min, what="clip")
    if max is not None:
        result = elementwise(sinter.minimum, result, max, what="clip")
    return result if result.dtype == x.dtype else sinter.cast(result, x.dtype)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """x1 where the condition is true, else x2. Two numbers give their default dtype."""
    condition = _operands.array(condition, "where")
    if condition.dtype != sinter.boolean:
        condition = sinter.ne(condition, 0)
    pair = [_operands.strong(x, "where") for x in (x1, x2)]
    tensors = [x for x in pair if isinstance(x, sinter.Tensor)]
    if tensors:
        dtype = _operands.common_dtype(tensors)
        pair = [x.at(x.dtype_beside(dtype)) if isinstance(x, Scalar) else x for x in pair]
        return sinter.where(condition, *pair)
    defaults = [x.default_dtype() if isinstance(x, Scalar) else _operands.default_dtype(x) for x in pair]
    from .data_types import result_type

    dtype = result_type(*defaults)
    return sinter.where(condition, *[sinter.cast(_operands.as_tensor(x, dtype, condition.graph), dtype) for x in pair])
