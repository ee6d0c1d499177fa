"""Log lines and counters of the backend.

`TORCH_LOGS="+sinter.torch"` shows regions and the ops that stay with torch, as does
`logging.getLogger("sinter.torch").setLevel(logging.INFO)`.
"""

from __future__ import annotations

import logging
import re
import threading
from functools import lru_cache

import torch

LOG = logging.getLogger("sinter.torch")


class Counts:
    """Counts of this process, for `counters`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        self.values: dict[str, float] = {
            "graphs": 0,
            "regions": 0,
            "compiled_regions": 0,
            "recompiles": 0,
            "fallbacks": 0,
            "copied_inputs": 0,
            "compile_seconds": 0.0,
        }

    def add(self, name: str, amount: float = 1) -> None:
        with self.lock:
            self.values[name] += amount


COUNTS = Counts()


def counters() -> dict[str, float]:
    """Counts since the process started or `reset_counters`:

    - graphs: the graphs after AOTAutograd
    - regions, and compiled_regions: those that no equal region had compiled before
    - recompiles: of functions, by Dynamo
    - fallbacks: regions that torch runs after a failure
    - copied_inputs: of calls whose strides differ from those of the trace
    - compile_seconds: of all threads together
    """
    return dict(COUNTS.values)


def reset_counters() -> None:
    """Sets all counts to 0."""
    COUNTS.clear()


@lru_cache(maxsize=4096)
def _last_frame(stack_trace: str) -> tuple[str, int] | None:
    frames = re.findall(r'File "([^"]+)", line (\d+)', stack_trace)
    return (frames[-1][0], int(frames[-1][1])) if frames else None


def place(node: torch.fx.Node) -> tuple[str, int] | None:
    """The user's file and line of a node, or None if torch does not know it."""
    trace = node.meta.get("stack_trace")
    return _last_frame(trace) if trace else None


def place_text(node: torch.fx.Node) -> str:
    """`model.py:41`, or the name of the node if its place is unknown."""
    known = place(node)
    return f"{known[0]}:{known[1]}" if known else f"node {node.name}"


def op_name(node: torch.fx.Node) -> str:
    """`aten.add.Tensor`"""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return getattr(target, "__name__", str(target))
