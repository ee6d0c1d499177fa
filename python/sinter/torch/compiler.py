"""Compiles one FX graph after AOTAutograd: partition, record, compile, assemble."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import detect_fake_mode

from .assemble import Assembler
from .errors import BackendError, RecordingError
from .launch import Launcher
from .levels import is_random
from .options import BackendOptions
from .partition import Partition, partition
from .program import compile_region
from .region import Region
from .telling import COUNTS, LOG, op_name, place_text

Node = torch.fx.Node
_graph_numbers = itertools.count()
MAX_REFUSALS = 200


@dataclass
class CompiledGraph:
    """A graph and its regions, for `explain` and tests."""

    name: str
    partition: Partition
    launchers: list[Launcher]
    module: torch.fx.GraphModule


_graphs: list[weakref.ref[CompiledGraph]] = []
_listeners: list[Callable[[CompiledGraph], None]] = []


def compile_graph(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: BackendOptions, kind: str
) -> Callable[[list[Any]], Any]:
    """The function that runs a graph. It takes the list of inputs, which it clears. `kind` is
    forward, backward or inference."""
    start = time.perf_counter()
    name = f"{kind}_{next(_graph_numbers)}"
    fake_mode = detect_fake_mode(list(example_inputs))
    shape_env = fake_mode.shape_env if fake_mode is not None else None
    parts, regions = _record(gm, options, name)
    launchers = [Launcher(r, _compiler(r, options, shape_env), options) for r in regions]
    module = Assembler(gm, parts, launchers).build()
    compiled = CompiledGraph(name, parts, launchers, module)
    COUNTS.add("graphs")
    COUNTS.add("regions", len(regions))
    _tell(compiled, time.perf_counter() - start)
    for listener in _listeners:
        listener(compiled)
    run = module.forward

    def call(args: list[Any]) -> Any:
        return run(args)

    call._boxed_call = True  # type: ignore[attr-defined]
    call.sinter_graph = compiled  # type: ignore[attr-defined]
    return call


def _record(
    gm: torch.fx.GraphModule, options: BackendOptions, name: str
) -> tuple[Partition, list[Region]]:
    """Partitions and records. A node that cannot be recorded stays with torch in the next try."""
    refused: dict[Node, str] = {}
    offsets = {node: i for i, node in enumerate(filter(is_random, gm.graph.nodes))}
    while True:
        parts = partition(gm, options, refused)
        try:
            return parts, [Region(r, f"{name}_region_{r.index}", offsets) for r in parts.regions]
        except RecordingError as error:
            if not options.fallback:
                raise BackendError(f"sinter cannot record {error}") from error
            LOG.warning("%s stays with torch: %s", op_name(error.node), error)
            refused[error.node] = error.reason
            if len(refused) > MAX_REFUSALS:
                refused.update((n, "too many ops failed") for n in gm.graph.nodes)


def _compiler(region: Region, options: BackendOptions, shape_env: Any) -> Callable[[], Future]:
    if not options.lazy:
        future = compile_region(region, options, shape_env)
        return lambda: future
    return lambda: compile_region(region, options, shape_env)


def _tell(compiled: CompiledGraph, seconds: float) -> None:
    classes = compiled.partition.classes
    for region in compiled.partition.regions:
        LOG.info(
            "%s: region %d records %d ops, reads %d and writes %d values",
            compiled.name, region.index, region.op_count(classes), len(region.inputs),
            len(region.outputs),
        )  # fmt: skip
    for node, reason in classes.reasons.items():
        LOG.info("%s: %s of %s stays with torch: %s", compiled.name, op_name(node),
                 place_text(node), reason)  # fmt: skip
    LOG.info("%s: %d regions, recorded in %.2f s", compiled.name, len(compiled.launchers), seconds)
    LOG.debug("%s:\n%s", compiled.name, compiled.module.graph)
