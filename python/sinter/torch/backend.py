"""torch.compile(backend="sinter")."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import get_metrics_context
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import CompileContext

from . import lowerings
from .compiler import compile_graph
from .options import BackendOptions, parse_options
from .telling import COUNTS, LOG


def sinter(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    **ignored: Any,
) -> Callable[..., Any]:
    """The backend: compiles a graph of Dynamo, forward and backward.

    Raises ValueError for an unknown option or mode. BackendError, if the option fallback is False
    and sinter cannot run a part of the graph."""
    settings = parse_options(options, mode)
    _tell_recompile()
    return compile_dynamo_graph(gm, example_inputs, settings)


def compile_dynamo_graph(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], settings: BackendOptions
) -> Callable[..., Any]:
    """The backend, for options that were read."""
    compilers = {
        kind: functools.partial(_compile, options=settings, kind=kind)
        for kind in ("forward", "backward", "inference")
    }
    return aot_autograd(
        fw_compiler=compilers["forward"],
        bw_compiler=compilers["backward"],
        inference_compiler=compilers["inference"],
        partition_fn=min_cut_rematerialization_partition,
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
    )(gm, list(example_inputs))


def _compile(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Any, kind: str
) -> Callable[..., Any]:
    return compile_graph(gm, example_inputs, options, kind)


@functools.cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """The decompositions that AOTAutograd applies."""
    return lowerings.decompositions()


def _tell_recompile() -> None:
    """Logs why Dynamo compiles a function again, if it does."""
    compile_id = CompileContext.current_compile_id()
    if compile_id is None or not compile_id.frame_compile_id:
        return
    reason = get_metrics_context()._metrics.get("recompile_reason") or "its reason is unknown"
    COUNTS.add("recompiles")
    LOG.info("recompile %s: %s", compile_id, reason)
