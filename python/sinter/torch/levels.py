"""Levels: the order of regions and torch ops, with the fewest regions.

All fused nodes of a level become one region. Region k runs after the torch ops of level k - 1 and
before those of level k. The number of regions is thus the largest number of times that a path of
the graph enters fused nodes, which is the fewest possible.
"""

from __future__ import annotations

import operator

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from .classify import Classes, Kind, device_of, values_of
from .symbols import element_count, hint_of

Node = torch.fx.Node


class Levels:
    """The level of each node: of fused nodes the index of the region, before they are sunk to later
    regions by `sink`."""

    def __init__(self, graph: torch.fx.Graph, classes: Classes) -> None:
        self.kinds = classes.kinds
        self.nodes = list(graph.nodes)
        self.level: dict[Node, int] = {}
        for node in self.nodes:
            self.level[node] = self._earliest(node)
        self._order_impure()
        self._sink()

    def _step(self, source: Node, node: Node) -> int:
        """The lowest level of `node`, given that of its operand."""
        level = self.level[source]
        if self.kinds[node] is Kind.FUSED:
            if self.kinds[source] is Kind.FUSED:
                return level + (device_of(source) != device_of(node))
            return level + 1
        return level

    def _earliest(self, node: Node) -> int:
        is_fused = self.kinds[node] is Kind.FUSED
        levels = [self._step(source, node) for source in self.sources(node)]
        return max(levels, default=0 if is_fused else -1)

    def sources(self, node: Node) -> list[Node]:
        """The nodes whose values a node needs: views give their base; sizes that come from the
        shapes of inputs count as nothing."""
        found: dict[Node, None] = {}
        work = list(node.all_input_nodes)
        while work:
            source = work.pop()
            if is_size(source):
                continue
            if self.kinds[source] is Kind.VIEW:
                work.extend(source.all_input_nodes)
            else:
                found[source] = None
        return list(found)

    def _order_impure(self) -> None:
        """Impure torch ops keep their order, so their levels must not fall."""
        highest = -1
        raised = False
        for node in self.nodes:
            if raised:
                self.level[node] = max(self.level[node], self._earliest(node))
            if self.kinds[node] is Kind.TORCH and is_ordered(node):
                raised |= highest > self.level[node]
                highest = self.level[node] = max(highest, self.level[node])

    def _sink(self) -> None:
        """Moves fused nodes to later regions if fewer bytes cross between regions thereby."""
        for node in reversed(self.nodes):
            if self.kinds[node] is not Kind.FUSED or is_part(node):
                continue
            latest = self._first_use(node)
            if latest <= self.level[node] or not self._sinking_saves(node, latest):
                continue
            self.level[node] = latest
            for user in node.users:
                if is_part(user):
                    self.level[user] = latest

    def uses(self, node: Node) -> list[Node]:
        """The fused nodes, torch ops and outputs that read a node, also through views and parts."""
        found, work = [], list(node.users)
        while work:
            user = work.pop()
            if self.kinds[user] is Kind.VIEW or (is_part(user) and self.kinds[user] is Kind.FUSED):
                work.extend(user.users)
            else:
                found.append(user)
        return found

    def _first_use(self, node: Node) -> int:
        """The lowest level of the nodes that read a node; -1 if it has to stay."""
        latest = None
        for user in self.uses(node):
            kind = self.kinds[user]
            if kind is Kind.OUTPUT or (kind is Kind.TORCH and not self._feeds_only(node)):
                return -1
            other_device = kind is Kind.FUSED and device_of(user) != device_of(node)
            level = self.level[user] - other_device
            latest = level if latest is None else min(level, latest)
        return -1 if latest is None else latest

    def _feeds_only(self, node: Node) -> bool:
        """True if the operands of a node are in memory anyway, or are read by nothing else."""
        return all(
            self.kinds[source] is not Kind.FUSED or self.uses(source) == [node]
            for source in self.sources(node)
        )

    def _sinking_saves(self, node: Node, latest: int) -> bool:
        if is_reduction(node):
            return False
        read = 0
        for source in self.sources(node):
            is_read_there = any(
                self.level[user] == latest and self.kinds[user] is Kind.FUSED
                for user in self.uses(source)
            )
            read += 0 if is_read_there else bytes_of(source)
        return read <= bytes_of(node)


def is_size(node: Node) -> bool:
    """True for a SymInt that follows from the shapes of inputs."""
    value = node.meta.get("val")
    return isinstance(value, torch.SymInt) and not free_unbacked_symbols(value)


def is_part(node: Node) -> bool:
    """True for one result of an op with several."""
    return node.target is operator.getitem


def is_random(node: Node) -> bool:
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and torch.Tag.nondeterministic_seeded in node.target.tags
    )


def is_reduction(node: Node) -> bool:
    """True if a node has fewer elements than an operand has."""
    own = max((element_count(v) for v in values_of(node)), default=0)
    return any(element_count(v) > own for s in node.all_input_nodes for v in values_of(s))


def is_ordered(node: Node) -> bool:
    """True for torch ops that keep their order: they write, assert, or draw random numbers."""
    if is_part(node):
        return False
    if isinstance(node.target, torch._ops.OpOverload) and is_random(node):
        return True
    return bool(node.is_impure())


def bytes_of(node: Node) -> int:
    """The bytes of a node's results, with repeated elements counted once."""
    total = 0
    for value in values_of(node):
        count = element_count(value)
        for size, stride in zip(value.shape, value.stride()):
            if isinstance(stride, int) and stride == 0:
                count //= max(hint_of(size), 1)
        total += count * value.element_size()
    return total
