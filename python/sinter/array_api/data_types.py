"""Data types by the names of the array API standard, and functions of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import sinter
from sinter.tracing import libraries
from sinter.tracing.scalars import Scalar, kind_of

from . import _operands

bool = sinter.boolean
int8, int16, int32, int64 = sinter.i8, sinter.i16, sinter.i32, sinter.i64
uint8, uint16, uint32, uint64 = sinter.u8, sinter.u16, sinter.u32, sinter.u64
float16, bfloat16, float32, float64 = sinter.f16, sinter.bf16, sinter.f32, sinter.f64

_SIGNED = (int8, int16, int32, int64)
_UNSIGNED = (uint8, uint16, uint32, uint64)
_FLOATS = (float16, bfloat16, float32, float64)
_KINDS = {
    "bool": (bool,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _FLOATS + (sinter.f8e4m3, sinter.f8e5m2),
    "complex floating": (sinter.c64,),
}
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

#: Bits of precision with the implied one, exponents of the smallest normal and the largest finite number.
_FORMATS = {
    "f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023),
    "f8e4m3": (4, -6, 8), "f8e5m2": (3, -14, 15),
}


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: sinter.DType


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: sinter.DType


def _dtype(type: Any) -> sinter.DType:
    if hasattr(type, "dtype") and not isinstance(type, sinter.DType):
        type = type.dtype
    return sinter.dtype(type)


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating dtype, or of that of an array."""
    dtype = _dtype(type)
    if dtype.name not in _FORMATS:
        raise TypeError(f"finfo needs a floating dtype, not {dtype.name}")
    bits, least, most = _FORMATS[dtype.name]
    largest = math.ldexp(2 - 2.0 ** (1 - bits), most)
    if dtype == sinter.f8e4m3:
        largest = 448.0  # its largest mantissa is NaN
    return FloatInfo(8 * dtype.size, 2.0 ** (1 - bits), largest, -largest, 2.0**least, dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer dtype, or of that of an array."""
    dtype = _dtype(type)
    if dtype not in _KINDS["integral"]:
        raise TypeError(f"iinfo needs an integer dtype, not {dtype.name}")
    bits = 8 * dtype.size
    if dtype in _UNSIGNED:
        return IntegerInfo(bits, 2**bits - 1, 0, dtype)
    return IntegerInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)


def isdtype(dtype: Any, kind: Any) -> "bool":
    """True if `dtype` is the dtype `kind`, of the kind with that name, or of one in a tuple of both."""
    dtype = sinter.dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return dtype in _KINDS[kind]
    if isinstance(kind, str):
        raise ValueError(f"isdtype: {kind!r} is no kind of dtypes; they are {', '.join(_KINDS)}")
    return dtype == sinter.dtype(kind)


def _common(a: sinter.DType, b: sinter.DType) -> sinter.DType:
    """The dtype of an op on two dtypes, by the rules of sinter, which extend those of the standard."""
    dtype = sinter.common_dtype(a, b)
    if dtype is None:
        raise TypeError(f"{a.name} and {b.name} have no common dtype; convert one of them with xp.astype")
    return dtype


def result_type(*arrays_and_dtypes: Any) -> sinter.DType:
    """The dtype of an op on these arrays, dtypes and Python numbers. At least one must be an array or dtype.

    Where the standard defines no result, for example for an integer and a float, it is that of sinter:
    the float. Numbers take the dtype of the arrays, except that a float with integers gives f32.
    """
    dtypes, kinds = [], []
    for value in arrays_and_dtypes:
        kind = None if libraries.is_numpy_number(value) else kind_of(value)
        if kind is None:
            dtypes.append(_dtype(value))
        else:
            kinds.append(kind)
    if not dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = _common(result, dtype)
    for kind in kinds:
        result = Scalar(kind, "a number").dtype_beside(result)
    return result


def can_cast(from_: Any, to: Any, /) -> "bool":
    """True if the standard's type promotion leads from one dtype to the other."""
    source, target = _dtype(from_), sinter.dtype(to)
    if source == target:
        return True
    for kinds in (("integral",), ("real floating",)):
        if isdtype(source, kinds) and isdtype(target, kinds):
            try:
                return _common(source, target) == target
            except TypeError:
                return False
    return False


def astype(x: Any, dtype: Any, /, *, copy: "bool" = True, device: Any = None) -> sinter.Tensor:
    """x in another dtype, rounded to nearest even. Floats truncate to integers, NaN gives 0."""
    tensor = _operands.array(x, "astype")
    target = sinter.dtype(dtype)
    return tensor if tensor.dtype == target else sinter.cast(tensor, target)
