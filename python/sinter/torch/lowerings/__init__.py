"""The lowerings of ATen ops, one idea per module. Importing this package registers all of them."""

from . import (  # noqa: F401
    activations,
    adaptive_pooling,
    arithmetic,
    casts,
    comparisons,
    creation,
    fused_products,
    indexing,
    integer_functions,
    joins,
    lists,
    losses,
    norms,
    padding,
    pooling,
    random,
    reductions,
    resampling,
    scans,
    scatters,
    special,
    unary,
    views,
)
from .decompositions import decompositions

__all__ = ["decompositions"]
