"""Builds the FX graph that runs: calls of regions, torch ops and views, in a valid order."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx.graph import _BoxedCodeGen

from .classify import Kind, values_of
from .launch import Launcher
from .levels import is_ordered
from .partition import Partition, RegionPlan

Node = torch.fx.Node
aten = torch.ops.aten


def draw_seed(device: torch.device) -> torch.Tensor:
    """A new seed of random numbers, from torch's generator for the device."""
    return torch.randint(-(2**63), 2**63 - 1, (), dtype=torch.int64, device=device)


class Assembler:
    """Emits nodes in the order of the original graph; regions right before their first use."""

    def __init__(
        self,
        gm: torch.fx.GraphModule,
        partition: Partition,
        launchers: list[Launcher],
    ) -> None:
        self._gm = gm
        self._partition = partition
        self._launchers = launchers
        self._graph = torch.fx.Graph()
        self._graph.set_codegen(_BoxedCodeGen())
        self._new: dict[Node, Node] = {}
        self._calls: dict[int, Node] = {}
        self._updated = {u.copy: r for r in partition.regions for u in r.updates}
        self._seeds: dict[torch.device, Node] = {}
        self._symbols = _symbol_sources(gm.graph)
        self._symbol_nodes: dict[Any, Node] = {}
        self._before = _ordering(partition)

    def build(self) -> torch.fx.GraphModule:
        kinds = self._partition.classes.kinds
        writes = []
        output: Node | None = None
        for node in self._partition.graph.nodes:
            if node.op == "placeholder":
                self._new[node] = self._graph.node_copy(node, lambda n: self._new[n])
        for node in self._partition.graph.nodes:
            if node.op == "output":
                output = node
            elif node in self._updated:
                self._new[node] = self._new[node.args[0]]
            elif _is_write(node):
                writes.append(node)
            elif kinds[node] is Kind.TORCH and (node.users or node.is_impure()):
                self._emit(node)
        assert output is not None
        for node in [*writes, output]:
            for source in node.all_input_nodes:
                if not _is_write(source):
                    self._emit(source)
        for region in self._partition.regions:
            if region.index not in self._calls:
                self._emit_all(self._needs_of(region))
                self._call(region)
        for node in writes:
            self._copy(node)
        self._copy(output)
        calls = set(self._calls.values())
        self._graph.eliminate_dead_code(lambda node: node in calls or node.is_impure())
        self._graph.lint()
        return torch.fx.GraphModule(self._gm, self._graph, "SinterGraph")

    def _emit_all(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._emit(node)

    def _emit(self, node: Node) -> None:
        """Emits a node after all that it needs. Iterative, since graphs are deep."""
        work = [node]
        while work:
            node = work[-1]
            if node in self._new:
                work.pop()
                continue
            region = self._partition.region_of.get(node)
            missing = [n for n in self._needs(node, region) if n not in self._new]
            if missing:
                work.extend(missing)
                continue
            if region is not None:
                self._call(region)
            else:
                self._copy(node)
            work.pop()

    def _needs(self, node: Node, region: RegionPlan | None) -> list[Node]:
        if region is None:
            return [*node.all_input_nodes, *self._before.get(node, [])]
        return self._needs_of(region)

    def _needs_of(self, region: RegionPlan) -> list[Node]:
        launcher = self._launchers[region.index]
        sources = [self._symbols[symbol][0] for symbol in launcher.symbols]
        return [*launcher.parameters, *sources]

    def _copy(self, node: Node) -> None:
        self._new[node] = self._graph.node_copy(node, lambda n: self._new[n])

    def _call(self, region: RegionPlan) -> None:
        launcher = self._launchers[region.index]
        args = [self._new[node] for node in launcher.parameters]
        args += [self._symbol(symbol) for symbol in launcher.symbols]
        if launcher.uses_seed:
            args.append(self._seed(region.device))
        call = self._graph.call_function(launcher.function, tuple(args))
        call.name = self._graph._graph_namespace.create_name(region_name(region), None)
        self._calls[region.index] = call
        for i, node in enumerate(region.outputs):
            part = self._graph.call_function(operator.getitem, (call, i))
            part.meta = dict(node.meta)
            self._new[node] = part

    def _seed(self, device: torch.device) -> Node:
        if device not in self._seeds:
            self._seeds[device] = self._graph.call_function(draw_seed, (device,))
        return self._seeds[device]

    def _symbol(self, symbol: Any) -> Node:
        if symbol not in self._symbol_nodes:
            source, axis = self._symbols[symbol]
            self._symbol_nodes[symbol] = (
                self._new[source]
                if axis is None
                else self._graph.call_function(aten.sym_size.int, (self._new[source], axis))
            )
        return self._symbol_nodes[symbol]


def region_name(region: RegionPlan) -> str:
    return f"region_{region.index}"


def _is_write(node: Node) -> bool:
    """True for the epilogue with which AOTAutograd writes a mutated input back."""
    return node.target is aten.copy_.default


def _ordering(partition: Partition) -> dict[Node, list[Node]]:
    """For each impure torch op the one before it."""
    before: dict[Node, list[Node]] = {}
    last: Node | None = None
    for node in partition.graph.nodes:
        if partition.classes.kinds[node] is Kind.TORCH and not _is_write(node):
            if is_ordered(node):
                if last is not None:
                    before[node] = [last]
                last = node
    return before


def _symbol_sources(graph: torch.fx.Graph) -> dict[Any, tuple[Node, int | None]]:
    """For each symbol the node with its value, or a placeholder and the axis with this size."""
    found: dict[Any, tuple[Node, int | None]] = {}
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
            found.setdefault(value.node.expr, (node, None))
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        for value in values_of(node):
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    found.setdefault(size.node.expr, (node, axis))
    return found
