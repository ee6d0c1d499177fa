"""Which nodes of an FX graph sinter records, which stay with torch, and why."""

from __future__ import annotations

import enum
import operator
from dataclasses import dataclass, field

import torch

from .options import BackendOptions
from .registry import find
from .telling import op_name

aten = torch.ops.aten
Node = torch.fx.Node

DTYPES = {
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn,
    torch.float8_e5m2, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
    torch.uint16, torch.uint32, torch.uint64, torch.bool,
}  # fmt: skip
MAX_RANK = 16
VIEWS_WITHOUT_ALIAS = {aten._unsafe_view.default, aten.alias.default, aten.detach.default}


class Kind(enum.Enum):
    """The part that a node plays."""

    INPUT = "input"  # placeholders and constants
    TORCH = "torch"
    FUSED = "fused"
    VIEW = "view"  # recorded in each region that reads it, and a torch view elsewhere
    NUMBER = "number"  # arithmetic of sizes, in Python
    OUTPUT = "output"


@dataclass
class Classes:
    """The kind of each node, and why TORCH nodes are not FUSED."""

    kinds: dict[Node, Kind] = field(default_factory=dict)
    reasons: dict[Node, str] = field(default_factory=dict)


def values_of(node: Node) -> list[torch.Tensor]:
    """The fake tensors of a node: one, several for a tuple, none for a number."""
    value = node.meta.get("val")
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return [part for part in parts if isinstance(part, torch.Tensor)]


def device_of(node: Node) -> torch.device | None:
    """The device of a node's first tensor."""
    values = values_of(node)
    return values[0].device if values else None


def is_number(node: Node) -> bool:
    """True for nodes whose value is a number or a SymInt."""
    return isinstance(
        node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)
    )


def classify(
    graph: torch.fx.Graph, options: BackendOptions, refused: dict[Node, str]
) -> Classes:
    """The kind of every node. `refused` has nodes that could not be recorded, with the reason."""
    classes = Classes()
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            classes.kinds[node] = Kind.INPUT
        elif node.op == "output":
            classes.kinds[node] = Kind.OUTPUT
        elif node.target is operator.getitem and isinstance(node.args[0], Node):
            source = classes.kinds[node.args[0]]
            classes.kinds[node] = source if source is not Kind.INPUT else Kind.TORCH
        elif is_number(node) and not any(values_of(i) for i in node.all_input_nodes):
            classes.kinds[node] = Kind.NUMBER
        else:
            reason = refused.get(node) or _why_torch(node, options)
            if reason:
                classes.kinds[node] = Kind.TORCH
                if not is_number(node):
                    classes.reasons[node] = reason
            else:
                classes.kinds[node] = Kind.VIEW if is_view(node) else Kind.FUSED
    return classes


def is_view(node: Node) -> bool:
    """True if torch's result shares the memory of the first operand."""
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and (
        target in VIEWS_WITHOUT_ALIAS or target.is_view
    )


def _why_torch(node: Node, options: BackendOptions) -> str | None:
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return f"{op_name(node)} is not an ATen op"
    entry = find(target)
    if entry is None:
        return f"{target} has no lowering"
    if str(target) in options.keep or str(target.overloadpacket) in options.keep:
        return f"{target} is in the option keep"
    if options.fallback_random and torch.Tag.nondeterministic_seeded in target.tags:
        return "the option fallback_random keeps random ops in torch"
    return _why_operands(node) or entry.why_not(node)


def _why_operands(node: Node) -> str | None:
    device = device_of(node)
    if device is None:
        return "it has no tensor as result"
    if device.type not in ("cpu", "cuda"):
        return f"its device is {device}"
    if not is_view(node) and torch.Tag.data_dependent_output in node.target.tags:
        return "its result depends on data"
    for source in node.all_input_nodes:
        if not values_of(source) and not is_number(source):
            return f"the operand {source.name} is neither a tensor nor a number"
    for value in [v for n in (node, *node.all_input_nodes) for v in values_of(n)]:
        if value.dtype not in DTYPES:
            return f"sinter has no dtype {value.dtype}"
        if value.layout is not torch.strided:
            return f"a layout is {value.layout}"
        if value.dim() > MAX_RANK:
            return f"the rank {value.dim()} is above {MAX_RANK}"
        if type(value) is not torch._subclasses.FakeTensor and type(value) not in (
            torch.Tensor,
            torch.nn.Parameter,
        ):
            return f"an operand is of the class {type(value).__name__}"
        if value.device != device and value.dim() > 0:
            return f"operands are on {value.device} and {device}"
    return None
