"""The lowerings of special functions, and of powers and divisions of integers."""

from . import integer_functions, special  # noqa: F401
