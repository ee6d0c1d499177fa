"""Batches: many samples as one function, traced by AOTAutograd and compiled once.

This is the path of torch.compile(backend="sinter") after Dynamo.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from functorch.compile import aot_function, min_cut_rematerialization_partition
from sinter.torch.backend import decompositions
from sinter.torch.classify import Classes, Kind
from sinter.torch.compiler import compile_graph
from sinter.torch.options import parse_options

from .eager import Results, run_batch
from .samples import Sample

# Errors of sinter are failures here. Kernels of so few elements need no optimisation.
OPTIONS = {"fallback": False, "tune": "off", "optimize_host": False}


@dataclass
class Coverage:
    """The ATen ops behind one sample: those in regions, and those that stay with torch."""

    lowered: set[str] = field(default_factory=set)
    stayed: dict[str, str] = field(default_factory=dict)
    is_random: bool = False

    def add(self, graph: torch.fx.Graph, output: Any, classes: Classes) -> None:
        """Adds the ops on which an output of a graph depends, without a copy at its end."""
        seen: set[torch.fx.Node] = set()
        pending = [output] if isinstance(output, torch.fx.Node) else []
        if pending and output.target is torch.ops.aten.clone.default:
            pending = list(output.all_input_nodes)
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            pending.extend(node.all_input_nodes)
            self._add_node(node, classes)

    def _add_node(self, node: torch.fx.Node, classes: Classes) -> None:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            self.is_random = True
        kind = classes.kinds.get(node)
        if not isinstance(node.target, torch._ops.OpOverload):
            return
        if kind in (Kind.FUSED, Kind.VIEW):
            self.lowered.add(str(node.target))
        elif kind is Kind.TORCH:
            self.stayed[str(node.target)] = classes.reasons.get(node, "it has no lowering")


@dataclass
class _Graph:
    """A graph that AOTAutograd gave to the backend."""

    graph: torch.fx.Graph
    is_backward: bool
    classes: Classes


def _compiler(graphs: list[_Graph], is_backward: bool, options: dict[str, Any]
              ) -> Callable[..., Any]:
    settings = parse_options(options)

    def compile_one(gm: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        graph = gm.graph
        run = compile_graph(gm, inputs, settings, "backward" if is_backward else "forward")
        graphs.append(_Graph(graph, is_backward, run.sinter_graph.partition.classes))
        return run

    return compile_one


@functools.cache
def _table() -> dict[Any, Any]:
    return decompositions()


def compile_batch(function: Callable[..., Any], graphs: list[_Graph]) -> Callable[..., Any]:
    return aot_function(
        function,
        fw_compiler=_compiler(graphs, False, OPTIONS),
        bw_compiler=_compiler(graphs, True, OPTIONS),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=_table(),
    )


def run_compiled(samples: list[Sample]) -> tuple[list[Results], list[Coverage]]:
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

    graphs: list[_Graph] = []
    compiled = compile_batch(function, graphs)

    def run(*flat: torch.Tensor) -> tuple[list[torch.Tensor], list[int]]:
        outputs = list(compiled(*flat))
        return outputs, list(counts)

    results = run_batch(run, samples)
    coverages = [Coverage() for _ in samples]
    for one in graphs:
        outputs = list(one.graph.output_node().args[0])
        at = 0
        for coverage, size in zip(coverages, slots if one.is_backward else counts):
            for output in outputs[at : at + size]:
                coverage.add(one.graph, output, one.classes)
            at += size
    return results, coverages
