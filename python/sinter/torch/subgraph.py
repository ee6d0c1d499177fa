"""A region as a function of torch, for regions that sinter cannot run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.node import map_arg

from .partition import RegionPlan

Node = torch.fx.Node


def torch_function(
    plan: RegionPlan, parameters: Sequence[Node]
) -> Callable[[Sequence[Any], dict[Any, int]], list[Any]]:
    """A function of the values of `parameters` and of symbols. It runs the ops of the region one by
    one, and returns the outputs and then the values of updates."""

    def run(values: Sequence[Any], symbols: dict[Any, int]) -> list[Any]:
        known: dict[Node, Any] = dict(zip(parameters, values))

        def value(node: Node) -> Any:
            if node not in known:  # a size, which follows from the symbols
                meta = node.meta["val"]
                known[node] = int(meta.node.expr.xreplace(symbols))
            return known[node]

        for node in plan.nodes:
            args, kwargs = map_arg(node.args, value), map_arg(node.kwargs, value)
            known[node] = node.target(*args, **kwargs)  # type: ignore[operator]
        return [known[n] for n in (*plan.outputs, *(u.value for u in plan.updates))]

    return run
