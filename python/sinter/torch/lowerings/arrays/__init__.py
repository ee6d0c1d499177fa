"""Lowerings of ops that move, index or create elements."""

from . import (  # noqa: F401
    creation,
    indexing,
    joins,
    padding,
    random,
    scatters,
    views,
)
