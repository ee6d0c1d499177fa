"""Arguments of lowerings: FX arguments, with sinter Tensors, extents and numbers for nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

Node = torch.fx.Node


@lru_cache(maxsize=None)
def _size_parameters(op: torch._ops.OpOverload) -> tuple[tuple[bool, ...], frozenset[str]]:
    """Which parameters of an op are sizes: by position, and by name."""
    sizes = ["int" in str(a.real_type) for a in op._schema.arguments]
    names = frozenset(a.name for a, is_size in zip(op._schema.arguments, sizes) if is_size)
    return tuple(sizes), names


def convert(
    node: Node, value: Callable[[Node], Any], extent: Callable[[Any], Any], number: Callable[[Any], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a node. `value` gives the Tensor of a node. `extent` gives the extent of a
    SymInt where the op wants a size, and `number` its rank-0 Tensor elsewhere."""
    by_position, by_name = _size_parameters(node.target)

    def one(item: Any, is_size: bool) -> Any:
        if isinstance(item, (list, tuple)):
            return [one(part, is_size) for part in item]
        if isinstance(item, Node):
            meta = item.meta.get("val")
            if isinstance(meta, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float)):
                return extent(meta) if is_size else number(item)
            return value(item)
        if isinstance(item, (torch.SymInt, torch.SymFloat)):
            return extent(item) if is_size else number(item)
        return item

    args = [one(item, by_position[i]) for i, item in enumerate(node.args)]
    kwargs = {name: one(item, name in by_name) for name, item in node.kwargs.items()}
    return args, kwargs
