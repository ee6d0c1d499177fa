"""The table of lowerings: how each ATen op is recorded in a sinter Graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch._ops import OpOverload

Supports = Callable[[torch.fx.Node], "str | None"]


class Recorder(Protocol):
    """The region that a lowering records in, as the lowering sees it."""

    graph: Any
    """The sinter.Graph of the region."""

    def extent(self, size: Any) -> Any:
        """The extent for a size: an int stays an int; a SymInt, or the Node of one, becomes an int
        or a sinter.Extent."""

    def scalar(self, value: Any, dtype: Any = None) -> Any:
        """A rank-0 Tensor for a number that may change from call to call: a SymInt, a SymFloat, or
        the Node of one. Plain numbers become constants. Without dtype: i64 or f64."""

    def seed(self, node: torch.fx.Node) -> tuple[Any, int]:
        """The seed of this call, a rank-0 i64 Tensor, and an offset that differs for each node."""

    def value(self, node: torch.fx.Node) -> torch.Tensor:
        """The fake tensor of a node: its dtype, shape and strides."""


@dataclass(frozen=True)
class Lowering:
    """The lowering of one op overload."""

    op: OpOverload | str
    record: Callable[..., Any]
    """record(region, node, *args, **kwargs): a Tensor, or a tuple of them for several results.
    Tensor operands are sinter Tensors, sizes are ints or sinter Extents, numbers are numbers or
    rank-0 Tensors, and dtypes are torch's. The region casts each result to the dtype of the node
    and checks its shape."""
    supports: Supports | None = None
    """supports(node): why this node has to stay with torch, or None if it need not."""

    def why_not(self, node: torch.fx.Node) -> str | None:
        """The reason why this node has to stay with torch, or None."""
        return self.supports(node) if self.supports else None


LOWERINGS: dict[OpOverload | str, Lowering] = {}


def find(op: Any) -> Lowering | None:
    """The lowering of an overload, or None."""
    if not isinstance(op, OpOverload):
        return None
    return LOWERINGS.get(op) or LOWERINGS.get(str(op))


def lowering(
    *ops: OpOverload | str, supports: Supports | None = None
) -> Callable[[Any], Any]:
    """Registers the decorated function as the lowering of these overloads. Ops that torch defines
    later are given by name. Raises ValueError for an overload that has a lowering already."""

    def register(record: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            if op in LOWERINGS:
                raise ValueError(f"{op} has two lowerings: {LOWERINGS[op].record} and {record}")
            LOWERINGS[op] = Lowering(op, record, supports)
        return record

    return register
