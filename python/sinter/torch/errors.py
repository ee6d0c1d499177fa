"""Errors of the torch backend."""

from __future__ import annotations

import torch

from .telling import op_name, place_text


class Unsupported(Exception):
    """A lowering cannot record a node. The node then stays with torch."""


class RecordingError(Exception):
    """A node of a region could not be recorded. It names the op and its place."""

    def __init__(self, node: torch.fx.Node, reason: str) -> None:
        super().__init__(f"{op_name(node)} at {place_text(node)}: {reason}")
        self.node = node
        self.reason = reason


class BackendError(RuntimeError):
    """sinter failed, and the option fallback=False forbids that torch takes over."""
