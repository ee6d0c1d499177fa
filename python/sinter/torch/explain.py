"""sinter.torch.explain: the regions of a model, their kernels, and what stays with torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from . import compiler
from .backend import compile_dynamo_graph
from .classify import Kind
from .compiler import CompiledGraph
from .options import parse_options
from .program import kernel_count, moved_bytes
from .telling import op_name, place_text


@dataclass
class RegionRow:
    """One region: what a call of it costs. kernels and bytes are None if torch runs it."""

    graph: str
    region: int
    ops: int
    kernels: int | None
    bytes: int | None
    problem: str = ""


@dataclass
class TorchRow:
    """An op that stays with torch."""

    graph: str
    op: str
    place: str
    reason: str


@dataclass
class Explanation:
    """The rows of all graphs of a model. `str` gives a table."""

    regions: list[RegionRow] = field(default_factory=list)
    torch_ops: list[TorchRow] = field(default_factory=list)

    @property
    def kernels(self) -> int:
        """The kernels of a call of every graph."""
        return sum(row.kernels or 0 for row in self.regions)

    @property
    def bytes(self) -> int:
        """The predicted bytes that these kernels read and write."""
        return sum(row.bytes or 0 for row in self.regions)

    def __str__(self) -> str:
        lines = [
            f"{len(self.regions)} regions, {self.kernels} kernels, {self.bytes:,} bytes; "
            f"{len(self.torch_ops)} ops stay with torch",
            f"{'graph':<16}{'region':>7}{'ops':>6}{'kernels':>9}{'bytes':>16}",
        ]
        for row in self.regions:
            costs = row.problem or f"{row.kernels:>9}{row.bytes:>16,}"
            lines.append(f"{row.graph:<16}{row.region:>7}{row.ops:>6}{costs}")
        groups = Counter((row.graph, row.op, row.reason) for row in self.torch_ops)
        for (graph, op, reason), count in groups.items():
            places = [r.place for r in self.torch_ops if (r.graph, r.op, r.reason) == (graph, op, reason)]
            lines.append(f"{graph}: {count} x {op} ({places[0]}): {reason}")
        return "\n".join(lines)


def explain(
    model: Callable[..., Any],
    *inputs: Any,
    options: Mapping[str, Any] | None = None,
    backward: bool | None = None,
    **named_inputs: Any,
) -> Explanation:
    """Compiles and runs `model` once on these inputs, and tells how. `backward` also runs the
    backward pass of the sum of all floating results; by default, if one of them requires a
    gradient. The model's gradients are left as they were."""
    settings = parse_options(options)

    def backend(gm: torch.fx.GraphModule, example_inputs: Any) -> Any:  # equal to no other backend
        return compile_dynamo_graph(gm, example_inputs, settings)

    graphs: list[CompiledGraph] = []
    listener = graphs.append
    compiler._listeners.append(listener)
    try:
        with torch._dynamo.config.patch(recompile_limit=10**6, accumulated_recompile_limit=10**6):
            compiled = torch.compile(model, backend=backend)
            _run(compiled, inputs, named_inputs, backward)
    finally:
        compiler._listeners.remove(listener)
    return describe(graphs)


def _run(compiled: Any, inputs: Any, named_inputs: Any, backward: bool | None) -> None:
    results = torch.utils._pytree.tree_leaves(compiled(*inputs, **named_inputs))
    wanted = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if not wanted or backward is False:
        return
    torch.autograd.grad([r.sum() for r in wanted], _leaves(wanted), allow_unused=True)


def _leaves(results: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors whose gradients a backward pass from `results` would accumulate."""
    work, seen, found = [r.grad_fn for r in results], set(), []
    while work:
        function = work.pop()
        if function is None or function in seen:
            continue
        seen.add(function)
        if hasattr(function, "variable"):
            found.append(function.variable)
        work += [source for source, _ in function.next_functions]
    return found


def describe(graphs: list[CompiledGraph]) -> Explanation:
    """The rows of compiled graphs. Waits until their regions are compiled."""
    explanation = Explanation()
    for graph in graphs:
        classes = graph.partition.classes
        for plan, launcher in zip(graph.partition.regions, graph.launchers):
            row = RegionRow(graph.name, plan.index, plan.op_count(classes), None, None)
            try:
                executable = launcher.executable()
                row.kernels, row.bytes = kernel_count(executable), moved_bytes(executable)
            except Exception as error:  # reported as a row
                row.problem = f"  torch runs it: {type(error).__name__}: {error}"
            explanation.regions.append(row)
        for node, kind in classes.kinds.items():
            if kind is Kind.TORCH and node in classes.reasons:
                explanation.torch_ops.append(
                    TorchRow(graph.name, op_name(node), place_text(node), classes.reasons[node])
                )
    return explanation
