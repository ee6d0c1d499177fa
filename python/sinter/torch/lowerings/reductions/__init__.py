"""Lowerings of reductions, scans, norms and losses."""

from . import losses, norms, reduce, scans  # noqa: F401
