"""Lowerings of ops over windows of the last axes: pooling and resampling."""

from . import adaptive_pooling, pooling, resampling  # noqa: F401
