"""The lowerings of ops on images: pooling, padding and resampling."""

from . import adaptive_pooling, padding, pooling, resampling  # noqa: F401
