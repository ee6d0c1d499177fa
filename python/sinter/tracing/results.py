"""Arrays for results, in the library of the caller."""

from __future__ import annotations

import importlib.util
from typing import Any, Callable

import sinter

_NUMPY = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64",
}
_ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}

#: If arguments are of several libraries, the first of these is that of the results.
PRIORITY = ("torch", "cupy", "jax", "sinter", "numpy")

Empty = Callable[[tuple], Any]


class Results:
    """Makes arrays for results, and the objects that a caller gets for them."""

    def __init__(self, library: str, device: sinter.Device):
        self.library = library
        self.device = device

    def empty(self, dtype: sinter.DType) -> Empty:
        """A function that makes an array of a given shape, to be bound to a result."""
        make = getattr(self, "_empty_" + self.library, None)
        found = make(dtype) if make else None
        device = self.device
        return found or (lambda shape: device.empty(dtype, shape))

    def finish(self, dtype: sinter.DType) -> Callable[[Any], Any] | None:
        """The function that turns a bound array into the caller's object; None if it is that object."""
        if self.library == "jax":
            import jax.dlpack

            return jax.dlpack.from_dlpack
        if self.library == "cupy":
            import cupy

            return cupy.from_dlpack
        if self.library == "numpy" and (not self.device.is_host or dtype.name not in _NUMPY):
            return sinter.Array.numpy if _numpy_has(dtype) else None
        return None

    def stream(self) -> Callable[[], int | None] | None:
        """The caller's current stream; None for the default stream and on the host."""
        if self.device.is_host:
            return None
        index = self.device.ordinal
        if self.library == "torch":
            import torch

            return lambda: torch.cuda.current_stream(index).cuda_stream
        if self.library == "cupy":
            import cupy

            return lambda: cupy.cuda.get_current_stream().ptr
        return None

    def _empty_numpy(self, dtype: sinter.DType) -> Empty | None:
        if not self.device.is_host or dtype.name not in _NUMPY:
            return None
        import numpy

        empty, numpy_dtype = numpy.empty, numpy.dtype(_NUMPY[dtype.name])
        return lambda shape: empty(shape, numpy_dtype)

    def _empty_torch(self, dtype: sinter.DType) -> Empty | None:
        import torch

        name = _NUMPY.get(dtype.name) or _ML_DTYPES[dtype.name]
        torch_dtype = getattr(torch, name, None)
        if torch_dtype is None:
            return None
        empty = torch.empty
        device = torch.device("cpu") if self.device.is_host else torch.device("cuda", self.device.ordinal)
        return lambda shape: empty(shape, dtype=torch_dtype, device=device)


def _numpy_has(dtype: sinter.DType) -> bool:
    """True if NumPy has this dtype, perhaps from the package ml_dtypes."""
    return dtype.name in _NUMPY or importlib.util.find_spec("ml_dtypes") is not None


def library_of(libraries: set[str]) -> str:
    """The library of results for arguments of these libraries; without any, NumPy if it is installed."""
    for library in PRIORITY:
        if library in libraries:
            return library
    try:
        import numpy  # noqa: F401
    except ImportError:
        return "sinter"
    return "numpy"
