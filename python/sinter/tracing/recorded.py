"""One recorded signature of a function: its graph, executable and contexts."""

from __future__ import annotations

import threading
from typing import Any, Callable

import sinter

from . import libraries, recording, results, tree
from .outside import Captured
from .scalars import Scalar
from .signature import is_static


class Slot:
    """The place of an array in the structure of a function's result."""

    def __init__(self, dtype: sinter.DType, shape: tuple):
        self.dtype = dtype
        self.shape = shape


class Size:
    """The place of a number in the structure of a function's result that is the size of named axes."""

    def __init__(self, extent: sinter.Extent):
        self.extent = extent


class Recorded:
    """A graph of a function, and what a call needs to run it on its leaves.

    `symbols` maps the name of each symbol to the leaf and axis that has its size.
    """

    def __init__(self, trace: recording.Trace, structure: Any, layouts: dict[int, libraries.Layout],
                 symbols: dict[str, tuple[int, int]], device: sinter.Device | None, options: dict[str, Any]):
        self.graph = trace.graph
        self.symbols = symbols
        self.options = options
        self.arguments: list[str] = []  # one text per leaf and static argument, for reasons
        self.used = 0
        self.captured = [s for s in trace.sources if isinstance(s, Captured)]
        self.device = device or _device_of([*layouts.values(), *(one.layout for one in self.captured)])
        self._sources = trace.sources
        self._conversions = self._find_conversions(layouts)
        self._is_straight = trace.sources == list(range(len(trace.sources)))
        self._structure = structure
        places = [leaf for leaf in tree.leaves(structure) if isinstance(leaf, (Slot, Size))]
        slots = [place for place in places if isinstance(place, Slot)]
        made = results.Results(results.library_of({layout.library for layout in layouts.values()}), self.device)
        self._empties = [(made.empty(slot.dtype), slot.shape) for slot in slots]
        self._shapes = None if not symbols else _shape_function(symbols, [slot.shape for slot in slots])
        finishes = [made.finish(slot.dtype) for slot in slots]
        self._finishes = finishes if any(finishes) else None
        self._stream = made.stream()
        self._build = tree.builder(structure, lambda leaf: isinstance(leaf, (Slot, Size)))
        sizes = [(i, place.extent) for i, place in enumerate(places) if isinstance(place, Size)]
        self._size_places = [i for i, _ in sizes]
        self._sizes = _shape_function(symbols, [tuple(extent for _, extent in sizes)]) if sizes else None
        self._contexts: list[sinter.Context] = []
        self._lock = threading.Lock()
        self._executable: sinter.Executable | None = None

    def _find_conversions(self, layouts: dict[int, libraries.Layout]) -> list[tuple[int, Callable[[Any], Any]]]:
        """Functions that make an array that can be bound, for the positions of inputs that need it."""
        found = []
        for position, source in enumerate(self._sources):
            layout = source.layout if isinstance(source, Captured) else layouts.get(source)
            if layout is None:
                continue
            if layout.device == libraries.HOST and not self.device.is_host:
                found.append((position, self.device.array))
            elif layout.convert is not None:
                found.append((position, layout.convert))
        return found

    @property
    def executable(self) -> sinter.Executable:
        """The compiled graph."""
        if self._executable is None:
            with self._lock:
                if self._executable is None:
                    self._executable = sinter.compile(self.graph, self.device, **self.options)
        return self._executable

    def changed_name(self) -> str | None:
        """The name of an array from outside that needs a new recording; None if there is none."""
        for one in self.captured:
            name = one.refresh()
            if name is not None:
                return name
        return None

    def sizes(self, leaves: list[Any]) -> dict[str, int]:
        """The sizes of all symbols in a call with these leaves."""
        return {name: leaves[leaf].shape[axis] for name, (leaf, axis) in self.symbols.items()}

    def run(self, leaves: list[Any]) -> Any:
        """The result of the function for these leaves."""
        if self._is_straight:
            inputs = leaves
        else:
            inputs = [leaves[s] if type(s) is int else s.array for s in self._sources]
        if self._conversions:
            inputs = list(inputs)
            for position, convert in self._conversions:
                inputs[position] = convert(inputs[position])
        if self._shapes is None:
            outputs = [empty(shape) for empty, shape in self._empties]
        else:
            outputs = [empty(shape) for (empty, _), shape in zip(self._empties, self._shapes(leaves))]
        if outputs:
            self._launch(inputs, outputs)
        if self._finishes is not None:
            outputs = [finish(x) if finish else x for finish, x in zip(self._finishes, outputs)]
        if self._sizes is not None:
            outputs = list(outputs)
            for place, size in zip(self._size_places, self._sizes(leaves)[0]):
                outputs.insert(place, size)
        return self._build(outputs)

    def _launch(self, inputs: list[Any], outputs: list[Any]) -> None:
        """Runs in a context that no other call uses meanwhile."""
        contexts = self._contexts
        try:
            context = contexts.pop()
        except IndexError:
            context = self.executable.context()
        try:
            context.call(inputs, outputs, self._stream() if self._stream is not None else None)
        finally:
            contexts.append(context)


def _device_of(layouts: list[libraries.Layout]) -> sinter.Device:
    """The one device of all arrays; the host device if there are none."""
    devices = sorted({layout.device for layout in layouts})
    if len(devices) > 1:
        raise sinter.UserError(
            f"the arrays of this call are on several devices: {', '.join(devices)}; move them to one of them, or name "
            "the device of the function: @sinter.jit(device=sinter.cuda_device(0))"
        )
    if not devices or devices[0] == libraries.HOST:
        return sinter.host_device(0)
    return sinter.cuda_device(int(devices[0].split(":")[1]))


def _shape_function(symbols: dict[str, tuple[int, int]], shapes: list[tuple]) -> Callable[[list[Any]], tuple]:
    """Computes the shapes of results from the leaves of a call.

    The text form of an extent is an expression over its symbols that Python reads alike.
    """
    tuples = ", ".join("(" + "".join(f"{extent}, " for extent in shape) + ")" for shape in shapes)
    names = list(symbols)
    sizes = ", ".join(f"leaves[{leaf}].shape[{axis}]" for leaf, axis in symbols.values())
    text = f"lambda leaves: (lambda {', '.join(names)}: ({tuples}{',' if shapes else ''}))({sizes})"
    return eval(text, {"floor_div": lambda a, b: a // b, "__builtins__": {}})


def result_structure(result: Any, trace: recording.Trace) -> Any:
    """Makes the Tensors in a function's result outputs of its graph, and puts Slots in their places.

    Sizes of named axes become ints of each call.
    """
    from sinter.array_api import _operands

    def output(path: str, leaf: Any) -> Any:
        if isinstance(leaf, Scalar):
            leaf = leaf.at(leaf.default_dtype())
        elif libraries.is_array(leaf):
            leaf = _operands.tensor_of_array(leaf)
        if isinstance(leaf, sinter.Extent):
            return Size(leaf)
        if not isinstance(leaf, sinter.Tensor):
            if is_static(leaf) or isinstance(leaf, (int, float, complex)):
                return leaf
            raise sinter.UserError(
                f"{path} of the function is of the class {libraries.type_name(leaf)}; return arrays, numbers, and tuples, "
                "lists and dicts of them"
            )
        if leaf.graph is not trace.graph:
            raise sinter.UserError(
                f"{path} belongs to another recording; a function must not keep Tensors from one call to another"
            )
        trace.graph.output(trace.name(path), leaf)
        return Slot(leaf.dtype, tuple(leaf.shape))

    return tree.map_leaves(output, result, "result")
