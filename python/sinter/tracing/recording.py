"""The graph that the current thread records, and the values that enter it from outside."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any, Iterator

import sinter
import sinter._core

from . import libraries
from .outside import Captured


class Trace:
    """A graph while a function is recorded into it.

    `sources` has one entry for each input and scalar of the graph, in their order. It is the index of a
    leaf of the arguments, or an array that the function refers to from outside.
    """

    def __init__(self, graph: sinter.Graph):
        self.graph = graph
        self.sources: list[int | Captured] = []
        self.inputs: list[sinter.Tensor] = []
        self.problem: Exception | None = None
        self._captured: dict[int, tuple[Any, sinter.Tensor]] = {}
        self._names: set[str] = set()

    def name(self, wanted: str) -> str:
        """A name for an input that no other input has: `wanted`, or one with a number behind it."""
        text = re.sub(r"[^0-9A-Za-z_]+", "_", wanted).strip("_") or "x"
        if text[0].isdigit():
            text = "x_" + text
        free, count = text, 1
        while free in self._names:
            count += 1
            free = f"{text}_{count}"
        self._names.add(free)
        return free

    def input(self, name: str, dtype: sinter.DType, shape, strides, source: Any) -> sinter.Tensor:
        """Declares an input whose array is `source` at each call."""
        tensor = self.graph.input(self.name(name), dtype, shape, strides=strides)
        self.sources.append(source)
        self.inputs.append(tensor)
        return tensor

    def scalar(self, name: str, dtype: sinter.DType, source: int) -> sinter.Tensor:
        """Declares a number of the call."""
        tensor = self.graph.scalar(self.name(name), dtype)
        self.sources.append(source)
        return tensor

    def capture(self, array: Any) -> sinter.Tensor:
        """The input for an array that the function refers to, but does not get as an argument."""
        known = self._captured.get(id(array))
        if known is not None:
            return known[1]
        layout = libraries.describe(array, f"an array of {libraries.type_name(array)} from outside")
        tensor = self.input("captured", layout.dtype, layout.shape, layout.strides, Captured(array, layout))
        self._captured[id(array)] = (array, tensor)
        return tensor

    def widest_float(self) -> sinter.DType:
        """The widest floating dtype of the inputs; f32 if none is floating."""
        floats = [t.dtype for t in self.inputs if t.dtype.is_floating]
        return max(floats, key=lambda dtype: dtype.size, default=sinter.f32)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def current() -> Trace | None:
    """The trace that this thread records into; None outside of recorded functions."""
    traces = _stack.traces
    return traces[-1] if traces else None


@contextlib.contextmanager
def entered(trace: Trace) -> Iterator[Trace]:
    """Records into `trace` until the end of the block."""
    _stack.traces.append(trace)
    try:
        yield trace
    finally:
        _stack.traces.pop()


@contextlib.contextmanager
def recording(graph: sinter.Graph) -> Iterator[sinter.Graph]:
    """Makes `graph` the one that functions without Tensor arguments record into.

    Creation functions of `sinter.array_api`, such as `zeros`, need it outside of `sinter.jit`:

        with sinter.recording(graph):
            mask = xp.tril(xp.ones((4, 4)))
    """
    with entered(Trace(graph)):
        yield graph


def graph_for(what: str) -> sinter.Graph:
    """The graph of the current trace. Raises UserError outside of one."""
    trace = current()
    if trace is None:
        raise sinter.UserError(
            f"{what} records into a graph, and none is being recorded here: call it in a function "
            "with @sinter.jit, or inside `with sinter.recording(graph):`"
        )
    return trace.graph


def _operand(value: Any) -> Any:
    """The Tensor or number for an operand that is neither; None if there is none.

    The size of a named axis becomes an i64, an array from outside an input. A number of a call that meets no Tensor in an operator takes
    the widest floating dtype of the inputs.
    """
    if isinstance(value, sinter.Extent):
        from sinter.array_api import _operands

        return _operands.extent_tensor(value, sinter.i64)
    trace = current()
    if trace is None:
        return None
    try:
        if hasattr(value, "__sinter_weak__"):
            return value.at(value.default_dtype())
        if libraries.is_array(value):
            return trace.capture(value)
    except sinter.Error as error:
        trace.problem = error
    return None


sinter._core._set_operand_hook(_operand)
