"""Lowerings of ops that compute each element alone."""

from . import (  # noqa: F401
    activations,
    arithmetic,
    casts,
    comparisons,
    fused_products,
    integer_functions,
    lists,
    special,
    unary,
)
