"""The lowerings of ATen ops. Importing this package registers all of them."""

from . import arrays, elementwise, reductions, windows  # noqa: F401
from .decompositions import decompositions

__all__ = ["decompositions"]
