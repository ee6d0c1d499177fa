"""Products of arrays and norms, by the names of the array API standard.

Products of floats of rank 1 and more are calls of a matrix library, except where the standard's
shapes need something else. Products of integers are fused sums.
"""

from __future__ import annotations

import math
from typing import Any

import sinter

from . import _operands

_LIBRARY = ("f16", "bf16", "f32", "f64")


def _pair(x1: Any, x2: Any, what: str) -> tuple[sinter.Tensor, sinter.Tensor]:
    a, b = _operands.array(x1, what), _operands.array(x2, what)
    dtype = _operands.common_dtype([a, b])
    if dtype == sinter.boolean:
        raise TypeError(f"{what} needs numbers, not bool; convert with xp.astype")
    return sinter.cast(a, dtype), sinter.cast(b, dtype)


def matmul(x1: Any, x2: Any, /) -> sinter.Tensor:
    """The matrix product. Leading axes broadcast; vectors are rows on the left, and columns on the right."""
    a, b = _pair(x1, x2, "matmul")
    if a.rank == 0 or b.rank == 0:
        raise sinter.UserError("matmul needs arrays of rank 1 or more; multiply by a number with *")
    if a.dtype.name in _LIBRARY:
        return sinter.matmul(a, b)
    inner_a, inner_b = a.shape[-1], b.shape[-1 if b.rank == 1 else -2]
    if inner_a != inner_b:
        raise sinter.UserError(f"matmul: the last axis of x1 has the size {inner_a}, and the axis of x2 to sum over {inner_b}")
    rows = a if a.rank > 1 else sinter.unsqueeze(a, 0)
    columns = b if b.rank > 1 else sinter.unsqueeze(b, 1)
    products = sinter.unsqueeze(rows, -2) * sinter.unsqueeze(sinter.transpose(columns, -1, -2), -3)
    result = sinter.cast(sinter.sum(products, (-1,)), a.dtype)
    if b.rank == 1:
        result = sinter.squeeze(result, -1)
    return sinter.squeeze(result, -1 if b.rank == 1 else -2) if a.rank == 1 else result


def matrix_transpose(x: Any, /) -> sinter.Tensor:
    """x with the last two axes swapped."""
    x = _operands.array(x, "matrix_transpose")
    if x.rank < 2:
        raise sinter.UserError(f"matrix_transpose needs an array of rank 2 or more, not {x.rank}")
    return sinter.transpose(x, -2, -1)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> sinter.Tensor:
    """The sum of products along an axis, which counts from the end; the other axes broadcast."""
    a, b = _pair(x1, x2, "vecdot")
    if axis >= 0 and a.rank != b.rank:
        raise sinter.UserError("vecdot: with arrays of different rank, the axis must count from the end")
    if a.shape[axis] != b.shape[axis]:
        raise sinter.UserError(f"vecdot: the axis has the size {a.shape[axis]} in x1, and {b.shape[axis]} in x2")
    return sinter.cast(sinter.sum(a * b, (axis,)), a.dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> sinter.Tensor:
    """The sum of products over pairs of axes: the last n of x1 with the first n of x2, or two lists of axes."""
    a, b = _pair(x1, x2, "tensordot")
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.rank, b.rank):
            raise sinter.UserError(f"tensordot: {axes} axes of arrays of ranks {a.rank} and {b.rank}")
        over_a, over_b = tuple(range(a.rank - axes, a.rank)), tuple(range(axes))
    else:
        over_a, over_b = (_operands.axes_of(over, t.rank, "tensordot") for over, t in zip(axes, (a, b)))
    if [a.shape[i] for i in over_a] != [b.shape[i] for i in over_b]:
        raise sinter.UserError("tensordot: the sizes of the axes to sum over differ")
    free_a = [i for i in range(a.rank) if i not in over_a]
    free_b = [i for i in range(b.rank) if i not in over_b]
    shape = [a.shape[i] for i in free_a] + [b.shape[i] for i in free_b]
    inner = _product([a.shape[i] for i in over_a])
    left = sinter.reshape(_permuted(a, [*free_a, *over_a]), (_product([a.shape[i] for i in free_a]), inner))
    right = sinter.reshape(_permuted(b, [*over_b, *free_b]), (inner, _product([b.shape[i] for i in free_b])))
    return sinter.reshape(matmul(left, right), shape)


def _permuted(x: sinter.Tensor, axes: list[int]) -> sinter.Tensor:
    return sinter.permute(x, tuple(axes)) if x.rank else x


def _product(extents: list[Any]) -> Any:
    result: Any = 1
    for extent in extents:
        result = result * extent
    return result


def outer(x1: Any, x2: Any, /) -> sinter.Tensor:
    """The products of all pairs of elements of two vectors."""
    a, b = _pair(x1, x2, "outer")
    if a.rank != 1 or b.rank != 1:
        raise sinter.UserError(f"outer needs vectors, not arrays of ranks {a.rank} and {b.rank}")
    return sinter.unsqueeze(a, 1) * sinter.unsqueeze(b, 0)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> sinter.Tensor:
    """The cross product of vectors of three elements along an axis; the other axes broadcast."""
    a, b = _pair(x1, x2, "cross")
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise sinter.UserError(f"cross: the axis must have 3 elements, not {a.shape[axis]} and {b.shape[axis]}")
    p, q = ([sinter.select(t, axis, i) for i in range(3)] for t in (a, b))
    parts = [p[(i + 1) % 3] * q[(i + 2) % 3] - p[(i + 2) % 3] * q[(i + 1) % 3] for i in range(3)]
    rank = max(a.rank, b.rank)
    return sinter.stack(parts, axis % rank)


def _diagonal_mask(x: sinter.Tensor, offset: int) -> sinter.Tensor:
    rows, columns = x.shape[-2], x.shape[-1]
    row, column = sinter.iota(x.graph, rows), sinter.iota(x.graph, columns)
    return sinter.eq(sinter.unsqueeze(column, 0) - sinter.unsqueeze(row, 1), offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> sinter.Tensor:
    """The sum of a diagonal of the last two axes."""
    x = _operands.array(x, "trace")
    kept = sinter.where(_diagonal_mask(x, offset), x, sinter.full(x.graph, (), 0, x.dtype))
    from .statistical import sum

    return sum(kept, axis=(-2, -1), dtype=dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> sinter.Tensor:
    """A diagonal of the last two axes, whose sizes must be known."""
    x = _operands.array(x, "diagonal")
    rows, columns = x.shape[-2], x.shape[-1]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise sinter.UserError("diagonal needs axes of known size")
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    flat = sinter.reshape(x, (*x.shape[:-2], rows * columns))
    start = max(-offset, 0) * columns + max(offset, 0)
    index = sinter.iota(x.graph, count, start, columns + 1)
    return sinter.take(flat, index, -1)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> sinter.Tensor:
    """The norm over axes, for the orders 0, 1, 2, inf, -inf and any other number."""
    x = _operands.array(x, "vector_norm")
    axes = tuple(range(x.rank)) if axis is None else _operands.axes_of(axis, x.rank, "vector_norm")
    if ord in (1, 2, math.inf):
        return sinter.norm(x, float(ord), axes, keepdims)
    magnitude = sinter.abs(x)
    if ord == -math.inf:
        return sinter.min(magnitude, axes, keepdims)
    if ord == 0:
        return sinter.cast(sinter.count_nonzero(x, axes, keepdims), x.dtype)
    return sinter.pow(sinter.sum(sinter.pow(magnitude, float(ord)), axes, keepdims), 1.0 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> sinter.Tensor:
    """The Frobenius norm of the last two axes ("fro"), or the largest sum of magnitudes of columns (1) or rows (inf)."""
    x = _operands.array(x, "matrix_norm")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        raise sinter.UserError(f"matrix_norm: sinter has no norm of the order {ord!r}")
    sums = sinter.sum(sinter.abs(x), (-2 if abs(ord) == 1 else -1,), True)
    result = (sinter.max if ord > 0 else sinter.min)(sums, (-2, -1), True)
    return result if keepdims else sinter.squeeze(sinter.squeeze(result, -1), -1)


def matrix_power(x: Any, n: int, /) -> sinter.Tensor:
    """The product of n matrices x, by repeated squaring. n is an int of 0 or more."""
    x = _operands.array(x, "matrix_power")
    if n < 0:
        raise sinter.UserError("matrix_power: sinter has no inverse of matrices, so n must not be negative")
    result, square = None, x
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    if result is None:
        identity = sinter.cast(_diagonal_mask(x, 0), x.dtype)
        return sinter.broadcast_to(identity, tuple(x.shape))
    return result


def __getattr__(name: str) -> Any:
    if name in ("cholesky", "det", "eigh", "eigvalsh", "inv", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals"):
        raise AttributeError(f"sinter.array_api.linalg has no {name}: sinter has no decompositions of matrices")
    raise AttributeError(f"module 'sinter.array_api.linalg' has no attribute {name!r}")
