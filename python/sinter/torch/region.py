"""Records one region of an FX graph in a sinter Graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import sinter
import torch

from .arguments import convert
from .classify import is_number, values_of
from .errors import RecordingError, Unsupported
from .levels import is_size
from .partition import RegionPlan
from .registry import find
from .symbols import Extents, Size, hint_of_expression, size_of
from .telling import place

Node = torch.fx.Node


@dataclass(frozen=True)
class Argument:
    """An input of the sinter Graph: how a call computes it."""

    kind: str
    """- tensor: the value of `node`
    - item: the only element of that tensor
    - number: the value of the number `node`
    - size: the int `size`
    - carrier: an array of `size` elements, which gives an extent
    - seed: the seed of this call"""
    node: Node | None = None
    size: Size = 0


@dataclass(frozen=True)
class Result:
    """An output of the sinter Graph."""

    node: Node
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    dtype: torch.dtype


class Region:
    """A recorded region. Lowerings get it as `region`."""

    def __init__(self, plan: RegionPlan, name: str, offsets: dict[Node, int]) -> None:
        self.plan = plan
        self.name = name
        self.graph = sinter.Graph(name)
        self.arguments: list[Argument] = []
        self.results: list[Result] = []
        self._offsets = offsets
        self._extents = Extents(self.graph.extent)
        self._values: dict[Node, Any] = {}
        self._seed: Any = None
        self._scalars: dict[Any, Any] = {}
        self._record()

    # --- for lowerings ---------------------------------------------------------------------------

    def extent(self, size: Any) -> Any:
        """An int or a sinter.Extent for an int, a SymInt, or the Node of one."""
        if isinstance(size, Node):
            size = size.meta["val"]
        if isinstance(size, (int, torch.SymInt)):
            return self._extents.extent(size_of(size))
        return size

    def scalar(self, value: Any, dtype: Any = None) -> Any:
        """A rank-0 Tensor for a number, a SymInt, a SymFloat, or the Node of one."""
        if isinstance(value, (int, float)):
            kind = dtype or (sinter.i64 if isinstance(value, int) else sinter.f64)
            return sinter.full(self.graph, [], value, kind)
        tensor = self._number(value)
        return tensor.astype(dtype) if dtype else tensor

    def seed(self, node: Node) -> tuple[Any, int]:
        """The seed of this call, a rank-0 i64 Tensor, and an offset that differs for each node."""
        if self._seed is None:
            self._seed = self._input(Argument("seed"), sinter.i64, [])
        return self._seed, self._offsets[node]

    def value(self, node: Node) -> torch.Tensor:
        """The fake tensor of a node."""
        return node.meta["val"]

    # --- recording -------------------------------------------------------------------------------

    def _record(self) -> None:
        for node in self.plan.inputs:
            if not is_number(node):
                self._values[node] = self._read(node)
        for node in self.plan.nodes:
            known = place(node)
            try:
                if known:
                    with sinter.location(*known):
                        self._values[node] = self._lower(node)
                else:
                    self._values[node] = self._lower(node)
            except (sinter.Error, Unsupported, NotImplementedError, TypeError, ValueError) as error:
                raise RecordingError(node, f"{type(error).__name__}: {error}") from error
        for node in self.plan.outputs:
            self._write(node)
        for update in self.plan.updates:
            try:
                self.graph.update(self._values[update.target], self._values[update.value])
            except sinter.Error as error:
                raise RecordingError(update.value, str(error)) from error
        self._carry_missing_sizes()

    def _lower(self, node: Node) -> Any:
        if node.target is operator.getitem:
            source, index = node.args
            return self._values[source][index]  # type: ignore[index]
        args, kwargs = convert(node, self._values.__getitem__, self.extent, self._number)
        lowering = find(node.target)
        assert lowering is not None
        result = lowering.record(self, node, *args, **kwargs)
        expected = node.meta["val"]
        if not isinstance(expected, (tuple, list)):
            return self._fit(result, expected)
        return [
            self._fit(part, value) if isinstance(value, torch.Tensor) else part
            for part, value in zip(result, expected)
        ]

    def _fit(self, result: Any, expected: torch.Tensor) -> Any:
        """A result in the dtype that torch promises. Raises Unsupported for another shape."""
        shape = [self.extent(size) for size in expected.shape]
        if len(result.shape) != len(shape) or any(a != b for a, b in zip(result.shape, shape)):
            raise Unsupported(
                f"sinter's result has the shape {list(map(str, result.shape))}, and torch's "
                f"{list(map(str, shape))}"
            )
        dtype = sinter.dtype(expected.dtype)
        return result if result.dtype == dtype else result.astype(dtype)

    def _input(self, argument: Argument, dtype: Any, shape: list[Any], strides: Any = None) -> Any:
        tensor = self.graph.input(f"x{len(self.arguments)}", dtype, shape, strides=strides)
        self.arguments.append(argument)
        return tensor

    def _read(self, node: Node) -> Any:
        (value,) = values_of(node)
        dtype = sinter.dtype(value.dtype)
        if value.device != self.plan.device:
            return self._scalar(Argument("item", node), dtype)
        shape = [size_of(size) for size in value.shape]
        strides = [size_of(stride) for stride in value.stride()]
        for size in shape:
            self._extents.extent(size)
            self._extents.give(size)
        extents = [self._extents.extent(size) for size in shape]
        is_plain = _is_row_major(shape, strides)
        return self._input(
            Argument("tensor", node),
            dtype,
            extents,
            None if is_plain else [self._extents.extent(stride) for stride in strides],
        )

    def _scalar(self, argument: Argument, dtype: Any) -> Any:
        tensor = self.graph.scalar(f"x{len(self.arguments)}", dtype)
        self.arguments.append(argument)
        return tensor

    def _number(self, value: Any) -> Any:
        """The rank-0 Tensor of a SymInt or SymFloat, or of the Node of one."""
        node = value if isinstance(value, Node) else None
        meta = value.meta["val"] if node is not None else value
        is_symbolic_int = isinstance(meta, torch.SymInt)
        key = size_of(meta) if is_symbolic_int else node
        if isinstance(key, int):
            return key
        if key not in self._scalars:
            if is_symbolic_int and (node is None or is_size(node)):
                argument = Argument("size", size=key)
            elif node is None:
                raise Unsupported(f"{meta} is not a node of the graph")
            else:
                argument = Argument("number", node)
            dtype = sinter.i64 if isinstance(meta, (int, torch.SymInt)) else sinter.f64
            self._scalars[key] = self._scalar(argument, dtype)
        return self._scalars[key]

    def _write(self, node: Node) -> None:
        (value,) = values_of(node)
        shape = tuple(size_of(size) for size in value.shape)
        strides = tuple(size_of(stride) for stride in value.stride())
        is_plain = _is_row_major(shape, strides)
        try:
            self.graph.output(
                f"y{len(self.results)}",
                self._values[node],
                strides=None if is_plain else [self._extents.extent(s) for s in strides],
            )
        except sinter.Error as error:
            raise RecordingError(node, str(error)) from error
        self.results.append(Result(node, shape, strides, value.dtype))

    def _carry_missing_sizes(self) -> None:
        """Adds an array without memory for each extent that no input gives."""
        for size in self._extents.missing():
            self._input(Argument("carrier", size=size), sinter.u8, [self._extents.extent(size)], [0])

    def size_hints(self, shape_env: Any) -> dict[str, int]:
        """The sizes of the trace, by the names of the Graph's symbols."""
        return {
            str(extent): hint_of_expression(size, shape_env)
            for size, extent in self._extents.atoms().items()
        }


def _is_row_major(shape: Any, strides: Any) -> bool:
    """True if strides are those of a row-major array; axes of extent 1 may have any."""
    expected: Any = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected = expected * size
    return True
