"""Arguments of array API functions as Tensors and numbers of the graph that is being recorded."""

from __future__ import annotations

import operator
from typing import Any, Callable

import sinter
from sinter.tracing import libraries, recording
from sinter.tracing.scalars import Scalar, binary, kind_of, weak, wider_kind


def graph_of(values: tuple | list, what: str) -> sinter.Graph:
    """The graph of the first Tensor among `values`, else the one that is being recorded."""
    for value in values:
        if isinstance(value, sinter.Tensor):
            return value.graph
    return recording.graph_for(what)


def tensor_of_array(value: Any) -> sinter.Tensor | None:
    """An array from outside as an input of the graph that is being recorded; None if it is no array.

    Raises UserError outside of recorded functions.
    """
    if not libraries.is_array(value):
        return None
    trace = recording.current()
    if trace is None:
        raise sinter.UserError(
            f"an array of {libraries.type_name(value)} is no Tensor; call the function from one with @sinter.jit, or "
            "declare an input of the graph with graph.input"
        )
    return trace.capture(value)


def strong(value: Any, what: str) -> Any:
    """`value` as a Tensor, Scalar or Python number."""
    if isinstance(value, (sinter.Tensor, Scalar, bool, int, float)) and not libraries.is_numpy_number(value):
        return value
    if libraries.is_numpy_number(value):
        return sinter.full(recording.graph_for(what), (), value.item(), sinter.dtype(value.dtype.name))
    if isinstance(value, sinter.Extent):
        return extent_tensor(value, sinter.i64)
    tensor = tensor_of_array(value)
    if tensor is not None:
        return tensor
    raise TypeError(f"{what}: an operand is {libraries.type_name(value)}, which is neither an array nor a number")


def extent_tensor(extent: sinter.Extent, dtype: sinter.DType) -> sinter.Tensor:
    """A size n of a named axis as a number: element n of 0, 1, …, n."""
    return sinter.cast(sinter.select(sinter.iota(extent.graph, extent + 1), 0, extent), dtype)


def array(value: Any, what: str) -> sinter.Tensor:
    """`value` as a Tensor; a number is an error, because functions need at least one array."""
    value = strong(value, what)
    if isinstance(value, Scalar):
        return value.at(value.default_dtype())
    if not isinstance(value, sinter.Tensor):
        raise TypeError(f"{what} needs an array, and got the number {value!r}; make one with xp.asarray")
    return value


def as_tensor(value: Any, dtype: sinter.DType | None, graph: sinter.Graph) -> sinter.Tensor:
    """`value` as a Tensor; numbers get `dtype`, or the default dtype of their kind."""
    value = strong(value, "a value")
    if isinstance(value, Scalar):
        return value.at(dtype or value.default_dtype())
    if not isinstance(value, sinter.Tensor):
        return sinter.full(graph, (), value, dtype or default_dtype(value))
    return value


def default_dtype(value: Any) -> sinter.DType:
    """The dtype of a Python number where no array decides it."""
    return {"bool": sinter.boolean, "int": sinter.i64, "float": sinter.f32}[kind_of(value) or "float"]


def common_dtype(tensors: list[sinter.Tensor]) -> sinter.DType:
    from .data_types import result_type

    return result_type(*tensors)


def operands(values: tuple, what: str) -> list[Any]:
    """Tensors and Python numbers for an op. Scalars take the dtype of the Tensors.

    There must be a Tensor: `elementwise` handles calls with Scalars and numbers only.
    """
    found = [strong(value, what) for value in values]
    tensors = [value for value in found if isinstance(value, sinter.Tensor)]
    if not tensors:
        raise TypeError(f"{what} needs at least one array, and got numbers only; make one with xp.asarray")
    if any(isinstance(value, Scalar) for value in found):
        dtype = common_dtype(tensors)
        found = [value.at(value.dtype_beside(dtype)) if isinstance(value, Scalar) else value for value in found]
    return found


def elementwise(record: Callable[..., sinter.Tensor], *values: Any, what: str = "", is_float: bool = False) -> Any:
    """The result of an op on operands. Numbers of a call alone give a number again.

    `is_float`: the op computes in floats, also for integer operands.
    """
    what = what or record.__name__
    if any(type(value) is Scalar for value in values) and all(kind_of(value) is not None for value in values):
        kind = "float" if is_float else wider_kind(*[kind_of(value) or "bool" for value in values])
        if len(values) == 2:
            return binary(record, *values, true_quotient=is_float)
        wide = sinter.f64 if kind == "float" else sinter.i64
        return weak(record(*[v.at(wide) if type(v) is Scalar else v for v in values]), kind)
    return record(*operands(values, what))


def ints(value: Any) -> tuple[int, ...]:
    """One int, also of NumPy, or a sequence of them as a tuple."""
    if hasattr(value, "__index__") and not isinstance(value, sinter.Tensor):
        return (operator.index(value),)
    return tuple(operator.index(one) for one in value)


def axes_of(axis: Any, rank: int, what: str) -> tuple[int, ...]:
    """Axes as numbers from 0. Raises UserError for axes that the array does not have, or has twice."""
    given = ints(axis)
    found = []
    for one in given:
        if not -rank <= one < rank:
            raise sinter.UserError(f"{what}: axis {one} is none of an array of rank {rank}")
        found.append(one % rank)
    if len(set(found)) != len(found):
        raise sinter.UserError(f"{what}: an axis appears twice in {given}")
    return tuple(found)


def reduced_axes(axis: Any, rank: int, what: str) -> tuple[int, ...] | None:
    """The axes of a reduction: None for all of them."""
    return None if axis is None else axes_of(axis, rank, what)
