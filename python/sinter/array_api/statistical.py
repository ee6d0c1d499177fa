"""Sums, means and other functions over axes, by the names of the array API standard.

Sums and products of integers and bool are int64, of unsigned integers uint64. Those of floats keep
their dtype, and accumulate in float32 or wider.
"""

from __future__ import annotations

from typing import Any

import sinter

from . import _operands


def _axes(x: sinter.Tensor, axis: Any, what: str) -> Any:
    axes = _operands.reduced_axes(axis, x.rank, what)
    return tuple(range(x.rank)) if axes is None else axes


def _reduce(record: Any, x: Any, axis: Any, keepdims: bool, what: str, dtype: Any = None) -> sinter.Tensor:
    x = _operands.array(x, what)
    if dtype is not None:
        x = sinter.cast(x, dtype)
    axes = _axes(x, axis, what)
    if not axes and axis is not None:  # over no axes; for the core, no axes are all axes
        result = record(sinter.unsqueeze(x, 0), (0,))
    else:
        result = record(x, axes, keepdims)
    return result if dtype is None else sinter.cast(result, dtype)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """The sum over axes; all axes by default."""
    return _reduce(sinter.sum, x, axis, keepdims, "sum", dtype)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """The product over axes; all axes by default."""
    return _reduce(sinter.prod, x, axis, keepdims, "prod", dtype)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """The largest element over axes; NaN if there is one. Over no elements, the smallest value of the dtype."""
    return _reduce(sinter.max, x, axis, keepdims, "max")


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """The smallest element over axes; NaN if there is one. Over no elements, the largest value of the dtype."""
    return _reduce(sinter.min, x, axis, keepdims, "min")


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """The sum divided by the number of elements, rounded once. Integers give float32."""
    return _reduce(sinter.mean, x, axis, keepdims, "mean")


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> sinter.Tensor:
    """The sum of squared deviations from the mean, divided by n - correction."""
    whole = int(correction)
    if whole == correction:
        return _reduce(lambda t, axes, keep=False: sinter.var(t, axes, whole, keep), x, axis, keepdims, "var")
    x = _operands.array(x, "var")
    count = 1
    for one in _axes(x, axis, "var"):
        if not isinstance(x.shape[one], int):
            raise sinter.UserError("var: a correction that is no integer needs axes of known size")
        count *= x.shape[one]
    divisor = count - correction
    return var(x, axis=axis, keepdims=keepdims) * (count / divisor if divisor > 0 else float("nan"))


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> sinter.Tensor:
    """The square root of var. Its slope is 0 where var is 0."""
    if int(correction) != correction:
        return sinter.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))
    return _reduce(lambda t, axes, keep=False: sinter.std_dev(t, axes, int(correction), keep), x, axis, keepdims, "std")


def _scan(record: Any, x: Any, axis: Any, dtype: Any, include_initial: bool, initial: int, what: str) -> sinter.Tensor:
    x = _operands.array(x, what)
    if dtype is not None:
        x = sinter.cast(x, dtype)
    if axis is None:
        if x.rank != 1:
            raise ValueError(f"{what} of an array of rank {x.rank} needs an axis")
        axis = 0
    (axis,) = _operands.axes_of(axis, x.rank, what)
    result = record(x, axis)
    if dtype is not None:
        result = sinter.cast(result, dtype)
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        result = sinter.concat([sinter.full(x.graph, shape, initial, result.dtype), result], axis)
    return result


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> sinter.Tensor:
    """Prefix sums along an axis; `include_initial` puts 0 in front."""
    return _scan(sinter.cumsum, x, axis, dtype, include_initial, 0, "cumulative_sum")


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> sinter.Tensor:
    """Prefix products along an axis; `include_initial` puts 1 in front."""
    return _scan(sinter.cumprod, x, axis, dtype, include_initial, 1, "cumulative_prod")


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """True if every element over axes is true (not 0)."""
    return _reduce(sinter.all, x, axis, keepdims, "all")


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """True if an element over axes is true (not 0)."""
    return _reduce(sinter.any, x, axis, keepdims, "any")


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> sinter.Tensor:
    """Differences of adjacent elements along an axis, n times, after `prepend` and `append` are joined to x."""
    x = _operands.array(x, "diff")
    (axis,) = _operands.axes_of(axis, x.rank, "diff")
    ends = [None if end is None else _operands.array(end, "diff") for end in (prepend, append)]
    parts = [part for part in (ends[0], x, ends[1]) if part is not None]
    if len(parts) > 1:
        dtype = _operands.common_dtype(parts)
        x = sinter.concat([sinter.cast(part, dtype) for part in parts], axis)
    for _ in range(n):
        extent = x.shape[axis]
        later, earlier = sinter.slice(x, axis, 1, extent), sinter.slice(x, axis, 0, extent - 1)
        x = sinter.ne(later, earlier) if x.dtype == sinter.boolean else later - earlier
    return x


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> sinter.Tensor:
    """The index of the first NaN, else of the first largest element, along an axis or in row-major order."""
    return _reduce(sinter.argmax, x, axis, keepdims, "argmax")


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> sinter.Tensor:
    """The index of the first NaN, else of the first smallest element, along an axis or in row-major order."""
    return _reduce(sinter.argmin, x, axis, keepdims, "argmin")


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> sinter.Tensor:
    """The number of elements that are not 0, in int64. NaN counts."""
    return _reduce(sinter.count_nonzero, x, axis, keepdims, "count_nonzero")


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> sinter.Tensor:
    """Positions in the sorted vector x1 at which elements of x2 keep it sorted; compares all pairs."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    x1, x2 = _operands.array(x1, "searchsorted"), _operands.array(x2, "searchsorted")
    if sorter is not None:
        x1 = sinter.take(x1, _operands.array(sorter, "searchsorted"), 0)
    values = sinter.unsqueeze(x2, -1)
    precedes = sinter.lt(x1, values) if side == "left" else sinter.le(x1, values)
    return sinter.sum(precedes, (-1,))
