"""sinter as a backend of torch.compile.

    import torch, sinter.torch

    model = torch.compile(model, backend="sinter")

After `pip install`, torch finds the backend by its name without this import.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from torch._dynamo.backends.registry import register_backend

from . import lowerings  # noqa: F401  (fills the table of lowerings)
from .backend import sinter
from .explain import Explanation, explain
from .telling import counters, reset_counters

__all__ = ["Explanation", "counters", "explain", "reset_counters", "sinter"]

if "sinter" not in entry_points(group="torch_dynamo_backends").names:
    register_backend(sinter, name="sinter")
