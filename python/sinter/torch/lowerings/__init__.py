"""The lowerings of ATen ops, one idea per module. Importing this package registers all of them."""

from . import (  # noqa: F401
    activations,
    arithmetic,
    casts,
    comparisons,
    creation,
    indexing,
    integer_functions,
    joins,
    lists,
    norms,
    padding,
    pooling,
    random,
    reductions,
    scans,
    scatters,
    unary,
    views,
)
from .decompositions import decompositions

__all__ = ["decompositions"]
