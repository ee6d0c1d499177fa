"""Records a function for the arguments of one call."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import sinter

from . import axes as axis_names
from . import libraries, outside, recording, signature, tree
from .parameters import Parameters
from .recorded import Recorded, result_structure
from .scalars import Scalar


class Recorder:
    """Puts Tensors in place of the leaves of a call, and keeps what it learns of them."""

    def __init__(self, trace: recording.Trace):
        self.trace = trace
        self.layouts: dict[int, libraries.Layout] = {}
        self.symbols: dict[str, tuple[int, int]] = {}
        self.texts: list[tuple[str, str]] = []  # path and description of each leaf and static value
        self._count = 0

    def argument(self, value: Any, spec: Any, path: str, is_static: bool) -> Any:
        """The object that the function gets in place of `value`."""
        if is_static or not (tree.is_container(value) or signature.is_leaf(value)):
            self.texts.append((path, repr(value)))
            return value
        if tree.is_container(value):
            specs = [None] * len(value) if spec is None else axis_names.parts_of(spec, value, path)
            parts = [self.argument(part, below, at, False) for (at, part), below in zip(tree.items(value, path), specs)]
            return tree.rebuild(value, parts)
        index = self._count
        self._count += 1
        if libraries.is_array(value):
            return self._array(value, spec, path, index)
        return self._number(value, path, index)

    def _array(self, value: Any, spec: Any, path: str, index: int) -> sinter.Tensor:
        layout = libraries.describe(value, path)
        shape, strides = layout.shape, layout.strides
        if spec is not None:
            names, _, _ = spec.of_rank(len(shape), path)
            shape = tuple(
                self._symbol(name, index, axis) if type(name) is str else size
                for axis, (name, size) in enumerate(zip(names, shape))
            )
            order = None if strides is None else axis_names.dense_order(layout.shape, strides)
            if order is not None:
                strides = axis_names.strides_in_order(shape, order)
        self.layouts[index] = layout
        self.texts.append((path, describe_array(layout, shape)))
        return self.trace.input(path, layout.dtype, shape, strides, index)

    def _symbol(self, name: str, index: int, axis: int) -> sinter.Extent:
        self.symbols.setdefault(name, (index, axis))
        return self.trace.graph.extent(name)

    def _number(self, value: Any, path: str, index: int) -> Any:
        trace = self.trace
        if libraries.is_numpy_number(value):
            dtype = sinter.dtype(value.dtype.name)
            self.texts.append((path, f"a number of {dtype.name}"))
            return trace.scalar(path, dtype, index)
        kind = "float" if isinstance(value, float) else "int"
        self.texts.append((path, f"a Python {kind}"))
        return Scalar(kind, path, lambda dtype: trace.scalar(path, dtype, index))


def describe_array(layout: libraries.Layout, shape: tuple) -> str:
    text = f"{layout.dtype.name}[{', '.join(map(str, shape))}]"
    if layout.strides is not None:
        text += f" with strides {layout.strides}"
    return text if layout.device == libraries.HOST else f"{text} on {layout.device}"


def record(function: Callable[..., Any], name: str, parameters: Parameters, values: Sequence[Any], specs: Sequence[Any],
           device: sinter.Device | None, options: dict[str, Any]) -> Recorded:
    """Calls `function` with Tensors in place of the arrays in `values`, and makes its result the outputs."""
    trace = recording.Trace(sinter.Graph(name))
    recorder = Recorder(trace)
    arguments = [
        recorder.argument(value, spec, path, position in parameters.static)
        for position, (value, spec, path) in enumerate(zip(values, specs, parameters.names))
    ]
    with recording.entered(trace):
        try:
            result = parameters.call(function, arguments)
            structure = result_structure(result, trace)
        except TypeError as error:
            if trace.problem is not None:
                raise trace.problem from error
            raise
    recorded = Recorded(trace, structure, recorder.layouts, recorder.symbols, device, options)
    recorded.arguments = recorder.texts
    outside.find_places(recorded.captured, function, getattr(function, "_instance", None))
    return recorded
