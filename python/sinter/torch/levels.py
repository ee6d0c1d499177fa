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
MOST_IN_GROUP = 100  # nodes that move together


class Levels:
    """The level of each node: of fused nodes the index of the region, before they are sunk to later
    regions by `sink`."""

    def __init__(self, graph: torch.fx.Graph, classes: Classes) -> None:
        self.kinds = classes.kinds
        self.nodes = list(graph.nodes)
        self.level: dict[Node, int] = {}
        self._uses: dict[Node, list[Node]] = {}
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
        """Moves fused nodes to later regions if fewer bytes cross between regions thereby. A node
        moves together with the nodes that only it needs."""
        for node in reversed(self.nodes):
            if self.kinds[node] is not Kind.FUSED or is_part(node) or is_reduction(node):
                continue
            latest = self._first_use(node)
            if latest <= self.level[node]:
                continue
            group = self._exclusive(node)
            if self._sinking_saves(node, group, latest):
                for member in group:
                    self.level[member] = latest
                    for part in filter(is_part, member.users):
                        self.level[part] = latest

    def uses(self, node: Node) -> list[Node]:
        """The fused nodes, torch ops and outputs that read a node, also through views and parts."""
        found = self._uses.get(node)
        if found is None:
            found, work = [], list(node.users)
            while work:
                user = work.pop()
                if self.kinds[user] is Kind.VIEW or self._is_own_part(user):
                    work.extend(user.users)
                else:
                    found.append(user)
            self._uses[node] = found
        return found

    def _is_own_part(self, node: Node) -> bool:
        return is_part(node) and self.kinds[node] is Kind.FUSED

    def _first_use(self, node: Node) -> int:
        """The lowest level of the nodes that read a node; -1 for values of the graph's output."""
        latest = None
        for user in self.uses(node):
            if self.kinds[user] is Kind.OUTPUT:
                return -1
            other_device = self.kinds[user] is Kind.FUSED and device_of(user) != device_of(node)
            level = self.level[user] - other_device
            latest = level if latest is None else min(level, latest)
        return -1 if latest is None else latest

    def _exclusive(self, node: Node) -> dict[Node, None]:
        """The node and the nodes of its region that nothing else needs."""
        group: dict[Node, None] = {node: None}
        work = [node]
        while work and len(group) < MOST_IN_GROUP:
            for source in map(self._whole, self.sources(work.pop())):
                is_near = self._is_near(source, node)
                if is_near and source not in group and all(u in group for u in self.uses(source)):
                    group[source] = None
                    work.append(source)
        return group

    def _whole(self, node: Node) -> Node:
        """The op of which a node is one result, or the node itself."""
        return node.args[0] if self._is_own_part(node) else node  # type: ignore[return-value]

    def _is_near(self, source: Node, node: Node) -> bool:
        """True if both are computed in one region."""
        return (
            self.kinds[source] is Kind.FUSED
            and self.level[source] == self.level[node]
            and device_of(source) == device_of(node)
        )

    def _is_stored(self, source: Node, node: Node) -> bool:
        """True if an operand is in memory, wherever `node` is computed."""
        return not self._is_near(source, node) or any(
            self.kinds[user] is not Kind.FUSED or self.level[user] != self.level[source]
            for user in self.uses(source)
            if user is not node
        )

    def _sinking_saves(self, node: Node, group: dict[Node, None], latest: int) -> bool:
        """Compares the bytes that both regions read and write."""
        is_stored = any(self.kinds[user] is not Kind.FUSED for user in self.uses(node))
        saved = 0 if is_stored else 2 * bytes_of(node)
        spent = 0
        sources = {s for member in group for s in map(self._whole, self.sources(member))}
        for source in sources - group.keys():
            readers = [u for u in self.uses(source) if self.kinds[u] is Kind.FUSED]
            if self._is_stored(source, node):
                if not any(self.level[u] == self.level[node] and u not in group for u in readers):
                    saved += bytes_of(source)
            else:
                spent += bytes_of(source)
            if not any(self.level[user] == latest for user in readers):
                spent += bytes_of(source)
        return spent <= saved


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
