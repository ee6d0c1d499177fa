"""Functions of one array, elementwise, by the names of the array API standard.

Operands broadcast, and are cast to their common dtype (result_type). Functions that the standard
defines for floats only compute integers and bool as float32.
"""

from __future__ import annotations

from typing import Any

import sinter

from . import _operands
from ._operands import elementwise


def abs(x: Any, /) -> Any:
    """The absolute value. The most negative integer stays as it is."""
    return elementwise(sinter.abs, x)


def acos(x: Any, /) -> Any:
    """The inverse cosine."""
    return elementwise(sinter.acos, x, is_float=True)


def acosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine."""
    return elementwise(sinter.acosh, x, is_float=True)


def asin(x: Any, /) -> Any:
    """The inverse sine."""
    return elementwise(sinter.asin, x, is_float=True)


def asinh(x: Any, /) -> Any:
    """The inverse hyperbolic sine."""
    return elementwise(sinter.asinh, x, is_float=True)


def atan(x: Any, /) -> Any:
    """The inverse tangent."""
    return elementwise(sinter.atan, x, is_float=True)


def atanh(x: Any, /) -> Any:
    """The inverse hyperbolic tangent."""
    return elementwise(sinter.atanh, x, is_float=True)


def ceil(x: Any, /) -> Any:
    """The smallest integer that is not less."""
    return elementwise(sinter.ceil, x)


def cos(x: Any, /) -> Any:
    """The cosine."""
    return elementwise(sinter.cos, x, is_float=True)


def cosh(x: Any, /) -> Any:
    """The hyperbolic cosine."""
    return elementwise(sinter.cosh, x, is_float=True)


def exp(x: Any, /) -> Any:
    """e to the power x."""
    return elementwise(sinter.exp, x, is_float=True)


def expm1(x: Any, /) -> Any:
    """exp(x) - 1 without cancellation."""
    return elementwise(sinter.expm1, x, is_float=True)


def floor(x: Any, /) -> Any:
    """The largest integer that is not greater."""
    return elementwise(sinter.floor, x)


def isfinite(x: Any, /) -> Any:
    """True where x is neither infinite nor NaN."""
    return elementwise(sinter.isfinite, x)


def isinf(x: Any, /) -> Any:
    """True where x is infinite."""
    return elementwise(sinter.isinf, x)


def isnan(x: Any, /) -> Any:
    """True where x is NaN."""
    return elementwise(sinter.isnan, x)


def log(x: Any, /) -> Any:
    """The natural logarithm."""
    return elementwise(sinter.log, x, is_float=True)


def log1p(x: Any, /) -> Any:
    """log(1 + x) without cancellation."""
    return elementwise(sinter.log1p, x, is_float=True)


def log2(x: Any, /) -> Any:
    """The logarithm to base 2."""
    return elementwise(sinter.log2, x, is_float=True)


def log10(x: Any, /) -> Any:
    """The logarithm to base 10."""
    return elementwise(sinter.log10, x, is_float=True)


def logical_not(x: Any, /) -> Any:
    """True where x is false."""
    return elementwise(sinter.logical_not, x)


def negative(x: Any, /) -> Any:
    """-x. Integers wrap."""
    return elementwise(sinter.neg, x)


def reciprocal(x: Any, /) -> Any:
    """1 / x"""
    return elementwise(sinter.reciprocal, x, is_float=True)


def round(x: Any, /) -> Any:
    """The nearest integer; halves round to even."""
    return elementwise(sinter.round, x)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1; NaN for NaN."""
    return elementwise(sinter.sign, x)


def signbit(x: Any, /) -> Any:
    """True where the sign bit is set, also for -0."""
    return elementwise(sinter.signbit, x)


def sin(x: Any, /) -> Any:
    """The sine."""
    return elementwise(sinter.sin, x, is_float=True)


def sinh(x: Any, /) -> Any:
    """The hyperbolic sine."""
    return elementwise(sinter.sinh, x, is_float=True)


def square(x: Any, /) -> Any:
    """x * x"""
    return elementwise(sinter.square, x)


def sqrt(x: Any, /) -> Any:
    """The square root."""
    return elementwise(sinter.sqrt, x, is_float=True)


def tan(x: Any, /) -> Any:
    """The tangent."""
    return elementwise(sinter.tan, x, is_float=True)


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent."""
    return elementwise(sinter.tanh, x, is_float=True)


def trunc(x: Any, /) -> Any:
    """The integer part."""
    return elementwise(sinter.trunc, x)


def bitwise_invert(x: Any, /) -> Any:
    """~x; for bool, the negation."""
    x = _operands.array(x, "bitwise_invert")
    return sinter.logical_not(x) if x.dtype == sinter.boolean else sinter.bitwise_not(x)


def conj(x: Any, /) -> Any:
    """x, because sinter computes with real numbers only."""
    return _operands.array(x, "conj")


def positive(x: Any, /) -> Any:
    """x"""
    return _operands.array(x, "positive")


def real(x: Any, /) -> Any:
    """x, because sinter computes with real numbers only."""
    return _operands.array(x, "real")
