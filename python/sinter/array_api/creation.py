"""Functions that create arrays in the graph that is being recorded."""

from __future__ import annotations

import math
from typing import Any

import sinter
from sinter.tracing import recording
from sinter.tracing.scalars import Scalar, kind_of

from . import _operands
from ._operands import as_tensor, default_dtype


def _shape(shape: Any) -> tuple:
    return (shape,) if isinstance(shape, sinter.Extent) or hasattr(shape, "__index__") else tuple(shape)


def _filled(graph: sinter.Graph, shape: tuple, value: Any, dtype: Any) -> sinter.Tensor:
    dtype = None if dtype is None else sinter.dtype(dtype)
    if isinstance(value, (bool, int, float)):
        dtype = dtype or default_dtype(value)
        if dtype == sinter.boolean:
            value = bool(value)
        return sinter.full(graph, shape, value, dtype)
    tensor = as_tensor(value, dtype, graph)
    return sinter.broadcast_to(sinter.cast(tensor, dtype) if dtype else tensor, shape)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """An array filled with a number. The default dtype is bool, int64 or float32, as that of the number."""
    graph = _operands.graph_of((fill_value,), "full")
    return _filled(graph, _shape(shape), fill_value, dtype)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """An array of zeros, by default of float32."""
    return _filled(recording.graph_for("zeros"), _shape(shape), 0, dtype or sinter.f32)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """An array of ones, by default of float32."""
    return _filled(recording.graph_for("ones"), _shape(shape), 1, dtype or sinter.f32)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """An array with unspecified elements: zeros."""
    return _filled(recording.graph_for("empty"), _shape(shape), 0, dtype or sinter.f32)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """An array of x's shape and dtype, filled with a number."""
    x = _operands.array(x, "full_like")
    return _filled(x.graph, tuple(x.shape), fill_value, dtype or x.dtype)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """Zeros of x's shape and dtype."""
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """Ones of x's shape and dtype."""
    return full_like(x, 1, dtype=dtype)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """An array of x's shape and dtype with unspecified elements: zeros."""
    return full_like(x, 0, dtype=dtype)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> sinter.Tensor:
    """An array from outside as an input, a number, or nested sequences of numbers and Tensors."""
    if isinstance(obj, (list, tuple)):
        return _from_sequence(obj, dtype)
    graph = _operands.graph_of((obj,), "asarray")
    if isinstance(obj, (bool, int, float)) and kind_of(obj) is not None and type(obj) in (bool, int, float):
        return _filled(graph, (), obj, dtype)
    tensor = as_tensor(obj, None if dtype is None else sinter.dtype(dtype), graph)
    return tensor if dtype is None else sinter.cast(tensor, dtype)


def _from_sequence(items: Any, dtype: Any) -> sinter.Tensor:
    if not items:
        return zeros((0,), dtype=dtype)
    if dtype is None:
        kinds = [kind_of(leaf) for leaf in _flat(items)]
        known = [k for k in ("float", "int", "bool") if k in kinds]
        tensors = [leaf for leaf in _flat(items) if isinstance(leaf, sinter.Tensor)]
        dtype = _operands.common_dtype(tensors) if tensors else {"float": sinter.f32, "int": sinter.i64}.get(
            known[0] if known else "bool", sinter.boolean)
    parts = [sinter.cast(asarray(item, dtype=dtype), dtype) for item in items]
    return sinter.stack(parts, 0)


def _flat(items: Any) -> list[Any]:
    return [leaf for item in items for leaf in (_flat(item) if isinstance(item, (list, tuple)) else [item])]


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> sinter.Tensor:
    """An array of another library as an input of the graph."""
    return asarray(x)


def _iota(graph: sinter.Graph, count: Any, start: int = 0, step: int = 1, dtype: sinter.DType = sinter.i64) -> sinter.Tensor:
    return sinter.iota(graph, count, start, step, dtype)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """Numbers from start (0 if only one number is given) up to, but without, stop. Sizes of named axes may be stop."""
    if stop is None:
        start, stop = 0, start
    graph = _operands.graph_of((), "arange")
    for number in (start, stop, step):
        if isinstance(number, (Scalar, sinter.Tensor)):
            raise sinter.UserError("arange: the number of elements must be known while the function is recorded; pass Python numbers")
    is_integer = all(isinstance(number, (int, sinter.Extent)) for number in (start, stop, step))
    target = sinter.dtype(dtype) if dtype is not None else sinter.i64 if is_integer else sinter.f32
    if step == 0:
        raise sinter.UserError("arange: the step is 0")
    if isinstance(stop, sinter.Extent) or isinstance(start, sinter.Extent):
        if step != 1 or not isinstance(start, int):
            raise sinter.UserError("arange: with the size of a named axis, the start must be an int and the step 1")
        return sinter.cast(_iota(graph, stop - start, start), target)
    count = max(0, math.ceil((stop - start) / step))
    if is_integer:
        return sinter.cast(_iota(graph, count, start, step), target)
    positions = sinter.cast(_iota(graph, count), sinter.f64)
    return sinter.cast(positions * float(step) + float(start), target)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> sinter.Tensor:
    """`num` evenly spaced numbers from start to stop, with stop if `endpoint`. Computed in float64."""
    graph = _operands.graph_of((start, stop), "linspace")
    target = sinter.dtype(dtype) if dtype is not None else sinter.f32
    intervals = num - 1 if endpoint else num
    index = _iota(graph, num)
    first, last = (as_tensor(x, sinter.f64, graph) if isinstance(x, Scalar) else x for x in (start, stop))
    position = sinter.cast(index, sinter.f64)
    values = first + position * ((last - first) / max(intervals, 1))
    if endpoint and num > 1:
        values = sinter.where(index == num - 1, last, values)
    return sinter.cast(values, target)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> sinter.Tensor:
    """Ones on the diagonal k, zeros elsewhere."""
    graph = _operands.graph_of((), "eye")
    rows = sinter.unsqueeze(_iota(graph, n_rows), 1)
    columns = sinter.unsqueeze(_iota(graph, n_rows if n_cols is None else n_cols), 0)
    return sinter.cast(columns - rows == k, sinter.f32 if dtype is None else dtype)


def tril(x: Any, /, *, k: int = 0) -> sinter.Tensor:
    """x with zeros above the diagonal k of the last two axes."""
    return sinter.tril(_operands.array(x, "tril"), k)


def triu(x: Any, /, *, k: int = 0) -> sinter.Tensor:
    """x with zeros below the diagonal k of the last two axes."""
    return sinter.triu(_operands.array(x, "triu"), k)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[sinter.Tensor]:
    """Coordinates from vectors: one array per vector, of rank len(arrays). "xy" swaps the first two axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    vectors = [_operands.array(x, "meshgrid") for x in arrays]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    extents = [vector.shape[0] if vector.rank else 1 for vector in vectors]
    shape: list[Any] = [None] * len(vectors)
    for vector, axis in enumerate(order):
        shape[axis] = extents[vector]
    grids = []
    for vector, axis in zip(vectors, order):
        spread = [1] * len(vectors)
        spread[axis] = shape[axis]
        grids.append(sinter.broadcast_to(sinter.reshape(vector, spread), shape))
    return grids
