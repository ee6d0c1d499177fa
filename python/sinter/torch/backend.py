"""torch.compile(backend="sinter")."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition

from .compiler import compile_graph
from .options import parse_options
from .telling import LOG


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
    try:
        from .lowerings.decompositions import decompositions as table
    except ImportError:
        from torch._decomp import core_aten_decompositions

        return dict(core_aten_decompositions())
    return table() if callable(table) else table


def _tell_recompile() -> None:
    """Logs why Dynamo compiles the function again, if it does."""
    from torch._dynamo.utils import get_hook_for_recompile_user_context  # noqa: F401
    LOG.debug("a new graph")
