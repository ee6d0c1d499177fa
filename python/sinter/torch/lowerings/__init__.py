"""The lowerings of ATen ops, one idea per module. Importing this package registers all of them."""

from . import (  # noqa: F401
    activations,
    arithmetic,
    casts,
    comparisons,
    creation,
    functions,
    fused_products,
    images,
    indexing,
    joins,
    lists,
    losses,
    norms,
    random,
    reductions,
    scans,
    scatters,
    unary,
    views,
)
from .decompositions import decompositions

__all__ = ["decompositions"]
