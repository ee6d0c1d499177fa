"""The Python array API standard (2024.12) over recorded Tensors.

    import sinter, sinter.array_api as xp

    @sinter.jit
    def standardize(x):
        return (x - xp.mean(x)) / xp.std(x)

The functions record ops into a graph: that of their Tensors, or that of the jitted function around
them. Where the standard leaves results undefined, they are those of sinter's own ops. An integer with
a float gives the float, and float16 with bfloat16 gives float32. Functions of floats compute integers
as float32. The default dtypes are float32 and int64.
"""

from __future__ import annotations

import math
from typing import Any

from . import linalg
from .creation import (
    arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like, tril,
    triu, zeros, zeros_like,
)
from .data_types import (
    astype, bfloat16, bool, can_cast, finfo, float16, float32, float64, iinfo, int8, int16, int32, int64, isdtype,
    result_type, uint8, uint16, uint32, uint64,
)
from .elementwise_binary import (
    add, atan2, bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, clip, copysign, divide,
    equal, floor_divide, greater, greater_equal, hypot, less, less_equal, logaddexp, logical_and, logical_or,
    logical_xor, maximum, minimum, multiply, nextafter, not_equal, pow, remainder, subtract, where,
)
from .elementwise_unary import (
    abs, acos, acosh, asin, asinh, atan, atanh, bitwise_invert, ceil, conj, cos, cosh, exp, expm1, floor, isfinite,
    isinf, isnan, log, log1p, log2, log10, logical_not, negative, positive, real, reciprocal, round, sign, signbit, sin,
    sinh, sqrt, square, tan, tanh, trunc,
)
from .inspection import __array_namespace_info__
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    broadcast_arrays, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, repeat, reshape, roll, squeeze,
    stack, take, take_along_axis, tile, unstack,
)
from .statistical import (
    all, any, argmax, argmin, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, searchsorted,
    std, sum, var,
)

__array_api_version__ = "2024.12"

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None

#: Functions of the standard that sinter has no ops for, with the reason.
_MISSING = {
    **dict.fromkeys(("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
                    "its shape depends on values, and shapes of recorded values do not"),
    **dict.fromkeys(("argsort", "sort"), "sinter has no op that sorts"),
    **dict.fromkeys(("imag", "complex64", "complex128"), "sinter computes with real numbers only"),
    "fft": "sinter has no Fourier transforms",
}


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        raise AttributeError(f"sinter.array_api has no {name}: {_MISSING[name]}")
    raise AttributeError(f"module 'sinter.array_api' has no attribute {name!r}")
