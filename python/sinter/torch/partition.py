"""Cuts an FX graph into regions, and finds what each region reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .classify import Classes, Kind, classify, device_of, values_of
from .levels import Levels, bytes_of, is_part, is_random, is_reduction, is_size
from .options import BackendOptions
from .symbols import size_of

Node = torch.fx.Node
Key = tuple[int, torch.device]  # the level and device of a region


@dataclass(frozen=True)
class Update:
    """A value that a region writes into an input, in place of the copy that AOTAutograd asks for."""

    target: Node
    value: Node
    copy: Node


@dataclass
class RegionPlan:
    """One region: nodes in the order of the graph, and the values that cross its border."""

    index: int
    device: torch.device
    nodes: list[Node]  # with views and repeated nodes
    inputs: list[Node]  # tensors and numbers from outside
    outputs: list[Node]
    updates: list[Update]

    def op_count(self, classes: Classes) -> int:
        """The number of recorded ops, views aside."""
        return sum(classes.kinds[n] is Kind.FUSED and not is_part(n) for n in self.nodes)


@dataclass
class Partition:
    """The regions of a graph. `region_of` has the nodes whose values a region writes."""

    graph: torch.fx.Graph
    classes: Classes
    regions: list[RegionPlan]
    region_of: dict[Node, RegionPlan]


def partition(
    gm: torch.fx.GraphModule, options: BackendOptions, refused: dict[Node, str]
) -> Partition:
    """Cuts a graph into the fewest regions. Nodes in `refused` stay with torch."""
    while True:
        result = _Partitioner(gm.graph, classify(gm.graph, options, refused)).partition()
        small = [r for r in result.regions if r.op_count(result.classes) < options.min_ops]
        if not small:
            return result
        for region in small:
            for node in region.nodes:
                if result.classes.kinds[node] is Kind.FUSED:
                    refused.setdefault(node, f"its region has fewer ops than {options.min_ops}")


class _Partitioner:
    def __init__(self, graph: torch.fx.Graph, classes: Classes) -> None:
        self.graph = graph
        self.classes = classes
        self.kinds = classes.kinds
        self.levels = Levels(graph, classes)
        self.order = {node: i for i, node in enumerate(graph.nodes)}

    def partition(self) -> Partition:
        members: dict[Key, list[Node]] = {}
        for node in self.graph.nodes:
            if self.kinds[node] is Kind.FUSED:
                members.setdefault(self._key(node), []).append(node)
        updates = self._updates()
        wanted = self._wanted({update.copy for update in updates.values()})
        regions: list[RegionPlan] = []
        region_of: dict[Node, RegionPlan] = {}
        for key in sorted(members, key=lambda k: (k[0], str(k[1]))):
            outputs = sorted((n for n in wanted if wanted[n] == key), key=self.order.__getitem__)
            own = [u for u in updates.values() if self._key(self._base(u.value)[0]) == key]
            if not outputs and not own:
                continue
            nodes, inputs = self._close(key, [*outputs, *(u.value for u in own)])
            inputs += [u.target for u in own if u.target not in inputs]
            region = RegionPlan(len(regions), key[1], nodes, inputs, outputs, own)
            regions.append(region)
            region_of.update(dict.fromkeys(region.outputs, region))
        for update in updates.values():
            self.classes.reasons.pop(update.copy, None)
        return Partition(self.graph, self.classes, regions, region_of)

    def _key(self, node: Node) -> Key:
        device = device_of(node)
        assert device is not None
        return self.levels.level[node], device

    def _records(self, key: Key, node: Node) -> bool:
        """True if the region `key` records a node that it reads, instead of reading its value."""
        kind = self.kinds[node]
        if kind is Kind.VIEW:
            return device_of(node) == key[1]
        return kind is Kind.FUSED and (self._key(node) == key or self._is_repeated(key, node))

    def _is_repeated(self, key: Key, node: Node) -> bool:
        """True for a node of an earlier region that is cheaper to compute again than to read."""
        if device_of(node) != key[1] or is_part(node) or is_random(node) or is_reduction(node):
            return False
        sources = self.levels.sources(node)
        if not sources:
            return True
        tags = getattr(node.target, "tags", ())
        read = sum(bytes_of(source) for source in sources)
        return torch.Tag.pointwise in tags and 2 * read <= bytes_of(node)

    def _close(
        self, key: Key, nodes: list[Node]
    ) -> tuple[list[Node], list[Node]]:
        """The nodes that the region records for the results `nodes`, and those that it reads."""
        recorded: dict[Node, None] = {}
        read: dict[Node, None] = {}
        work = list(nodes)
        while work:
            node = work.pop()
            if node in recorded:
                continue
            recorded[node] = None
            for source in node.all_input_nodes:
                if is_size(source):
                    continue
                if self._records(key, source):
                    work.append(source)
                else:
                    read[source] = None
        return sorted(recorded, key=self.order.__getitem__), sorted(read, key=self.order.__getitem__)

    def _updates(self) -> dict[Node, Update]:
        """The copies into inputs that regions can write themselves, by input: the region of the value
        is the only reader of the old one."""
        found: dict[Node, Update] = {}
        for node in self.graph.nodes:
            if node.target is not torch.ops.aten.copy_.default or len(node.args) != 2:
                continue
            target, value = node.args
            base = self._base(value)[0]
            is_possible = (
                target.op == "placeholder"
                and target not in found
                and self.kinds[base] is Kind.FUSED
                and _is_same_type(target, value)
                and _can_be_written(target)
            )
            if is_possible and all(
                user is node
                or (self.kinds[user] is Kind.FUSED and self._key(user) == self._key(base))
                for user in self.levels.uses(target)
            ):
                found[target] = Update(target, value, node)
        return found

    def _wanted(self, updates: set[Node]) -> dict[Node, Key]:
        """The values that regions have to write, with the key of their region. `updates` has copies
        that are no torch ops."""
        requests: dict[Node, dict[Node, None]] = {}
        work: list[tuple[Node, Key | None]] = []  # with the region that records the node

        def request(node: Node) -> None:
            """A value that is needed in memory, outside of its region."""
            base, others = self._base(node)
            is_fused = self.kinds[base] is Kind.FUSED
            if is_fused:
                requests.setdefault(base, {})[node] = None
            work.append((base, self._key(base) if is_fused else None))
            for other in others:
                request(other)

        for node in self.graph.nodes:
            if node in updates:
                base = self._base(node.args[1])[0]
                work += [(node.args[1], self._key(base)), (base, self._key(base))]
            elif _is_root(node, self.kinds[node]):
                work.append((node, None))
        seen: set[tuple[Node, Key | None]] = set()
        while work:
            node, key = item = work.pop()
            if item in seen:
                continue
            seen.add(item)
            for source in node.all_input_nodes:
                if source in updates:
                    continue
                if key is None:
                    request(source)
                elif not is_size(source):
                    if self._records(key, source):
                        work.append((source, key))
                    else:
                        request(source)
        wanted = {}
        for base, nodes in requests.items():
            only = next(iter(nodes))
            value = only if len(nodes) == 1 and _can_be_written(only) else base
            wanted[value] = self._key(base)
        return wanted

    def _base(self, node: Node) -> tuple[Node, list[Node]]:
        others: list[Node] = []
        while self.kinds[node] is Kind.VIEW:
            base, *rest = node.all_input_nodes
            others += rest
            node = base
        return node, others


def _is_root(node: Node, kind: Kind) -> bool:
    return kind is Kind.OUTPUT or (kind is Kind.TORCH and bool(node.is_impure()))


def _is_same_type(a: Node, b: Node) -> bool:
    """True if two tensors have the same dtype, shape and device."""
    (x,), (y,) = values_of(a), values_of(b)
    return (
        x.dtype == y.dtype
        and x.device == y.device
        and [size_of(s) for s in x.shape] == [size_of(s) for s in y.shape]
    )


def _can_be_written(node: Node) -> bool:
    """True for one tensor no two elements of which share memory, as far as its strides tell."""
    values = values_of(node)
    if len(values) != 1 or isinstance(node.meta.get("val"), (tuple, list)):
        return False
    axes = [(size_of(st), size_of(s)) for s, st in zip(values[0].shape, values[0].stride())]
    axes = [(stride, size) for stride, size in axes if size != 1]
    if not all(isinstance(part, int) for axis in axes for part in axis):
        return all(stride != 0 for stride, _ in axes)
    reach = 0
    for stride, size in sorted(axes):
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True
