"""Batches: many samples as one function, traced by AOTAutograd and compiled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from .eager import Results, run_batch
from .samples import Sample


@dataclass
class Coverage:
    """The ATen ops behind one sample: those in regions, and those that stay with torch."""

    lowered: set[str] = field(default_factory=set)
    stayed: dict[str, str] = field(default_factory=dict)
    is_random: bool = False


@dataclass
class Compilers:
    """The parts of the backend after Dynamo."""

    aot: Callable[..., Callable[..., Any]]  # (function, on_graph) -> function
    reason: Callable[[torch.fx.Node], str | None]  # why a node stays with torch; None if it does not


_FREE = {"output", "placeholder", "get_attr"}


def coverage_of(graph: torch.fx.Graph, output: Any, reason: Callable[[torch.fx.Node], str | None],
                into: Coverage) -> None:
    """Adds the ops on which an output of a graph depends."""
    seen: set[torch.fx.Node] = set()
    pending = [output] if isinstance(output, torch.fx.Node) else []
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        pending.extend(node.all_input_nodes)
        if node.op in _FREE or "getitem" in str(node.target) or "sym_size" in str(node.target):
            continue
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            into.is_random = True
        why = reason(node)
        if why is None:
            into.lowered.add(str(node.target))
        else:
            into.stayed[str(node.target)] = why


def run_compiled(samples: list[Sample], compilers: Compilers
                 ) -> tuple[list[Results], list[Coverage]]:
    """The results of the samples through the backend, and their ops."""
    counts: list[int] = []
    slots = [len(sample.tensors) for sample in samples]

    def function(*flat: torch.Tensor) -> list[torch.Tensor]:
        counts.clear()
        outputs: list[torch.Tensor] = []
        at = 0
        for sample, slot in zip(samples, slots):
            own = sample.call(list(flat[at : at + slot]))
            at += slot
            counts.append(len(own))
            # A copy, because AOTAutograd computes views of inputs outside of the graph.
            outputs.extend(output.clone() for output in own)
        return outputs

    graphs: list[tuple[torch.fx.Graph, bool]] = []
    compiled = compilers.aot(function, lambda graph, back: graphs.append((graph, back)))

    def run(*flat: torch.Tensor) -> tuple[list[torch.Tensor], list[int]]:
        outputs = list(compiled(*flat))
        return outputs, list(counts)

    results = run_batch(run, samples)
    coverages = [Coverage() for _ in samples]
    for graph, is_backward in graphs:
        outputs = list(graph.output_node().args[0])
        sizes = slots if is_backward else counts
        at = 0
        for coverage, size in zip(coverages, sizes):
            for output in outputs[at : at + size]:
                coverage_of(graph, output, compilers.reason, coverage)
            at += size
    return results, coverages
