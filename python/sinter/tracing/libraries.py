"""Arrays of NumPy, PyTorch, JAX, CuPy and sinter: their keys, layouts, and new ones for results.

The key of an array is `(dtype, shape, …)`. Arrays with equal keys have equal layouts, so a call whose
arguments have known keys needs nothing else. Making a key must be quick; describing an array need not.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

import sinter

Key = tuple
_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
HOST = "host"


@dataclass(frozen=True)
class Layout:
    """Where and how the elements of an array are stored."""

    dtype: sinter.DType
    shape: tuple
    strides: tuple | None = None  # in elements; None: row-major
    device: str = HOST  # or "cuda:0"
    library: str = "sinter"
    convert: Callable[[Any], Any] | None = field(default=None, compare=False)  # to what can be bound


def type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def row_major(shape: tuple) -> tuple:
    """Strides in elements of a row-major array."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _numpy_key(x: Any) -> Key:
    return (x.dtype, x.shape) if x.flags.c_contiguous else (x.dtype, x.shape, x.strides)


def _extended(x: Any) -> Any:
    """An Array in the memory of a NumPy array of ml_dtypes, which NumPy does not export."""
    dtype = sinter.dtype(x.dtype.name)
    bits = x.view("u2" if x.itemsize == 2 else "u1")
    return sinter.from_dlpack(bits).view(0, dtype, x.shape, tuple(stride // x.itemsize for stride in x.strides))


def _numpy_layout(x: Any) -> Layout:
    import numpy

    dtype = sinter.dtype(x.dtype.name)
    if hasattr(x, "mask"):
        raise sinter.UserError("it is a masked array; pass x.filled(value), or the data and the mask")
    if x.dtype.name in _ML_DTYPES:
        if x.flags.c_contiguous:
            return Layout(dtype, x.shape, library="numpy", convert=_extended)
        return Layout(dtype, x.shape, library="numpy", convert=lambda a: _extended(numpy.ascontiguousarray(a)))
    if not x.dtype.isnative:
        raise sinter.UserError("its bytes are in the order of another machine; convert it with x.astype(x.dtype.newbyteorder('='))")
    if x.flags.c_contiguous:
        return Layout(dtype, x.shape, library="numpy")
    size = x.itemsize
    if any(stride < 0 or stride % size for stride in x.strides):
        return Layout(dtype, x.shape, library="numpy", convert=numpy.ascontiguousarray)
    return Layout(dtype, x.shape, tuple(stride // size for stride in x.strides), library="numpy")


def _torch_key(x: Any) -> Key:
    torch = sys.modules["torch"]
    grad = x.requires_grad and torch.is_grad_enabled()
    if x.is_contiguous():
        return (x.dtype, x.shape, x.device, grad)
    return (x.dtype, x.shape, x.device, grad, x.stride())


def _torch_layout(x: Any) -> Layout:
    import torch

    if x.layout is not torch.strided:
        raise sinter.UserError(f"it has the layout {x.layout}; convert it with x.to_dense()")
    if x.requires_grad and torch.is_grad_enabled():
        raise sinter.UserError(
            "it requires gradients, and PyTorch's gradients do not flow through sinter.jit; pass x.detach(), call "
            "under torch.no_grad(), or use torch.compile(backend='sinter')"
        )
    if x.device.type not in ("cpu", "cuda"):
        raise sinter.UserError(f"it is on the device {x.device}; move it with x.cpu()")
    device = HOST if x.device.type == "cpu" else f"cuda:{x.device.index}"
    strides = None if x.is_contiguous() else tuple(x.stride())
    convert = torch.Tensor.detach if x.requires_grad else None
    if x.is_conj() or x.is_neg():
        convert = lambda t: t.detach().resolve_conj().resolve_neg()  # noqa: E731
    return Layout(sinter.dtype(str(x.dtype)), tuple(x.shape), strides, device, "torch", convert)


def _cupy_key(x: Any) -> Key:
    return (x.dtype, x.shape, x.device.id) if x.flags.c_contiguous else (x.dtype, x.shape, x.device.id, x.strides)


def _cupy_layout(x: Any) -> Layout:
    strides = None if x.flags.c_contiguous else tuple(stride // x.itemsize for stride in x.strides)
    if strides and any(stride < 0 for stride in strides):
        import cupy

        return Layout(sinter.dtype(x.dtype.name), x.shape, None, f"cuda:{x.device.id}", "cupy", cupy.ascontiguousarray)
    return Layout(sinter.dtype(x.dtype.name), x.shape, strides, f"cuda:{x.device.id}", "cupy")


def _jax_key(x: Any) -> Key:
    return (x.dtype, x.shape, x.device)


def _jax_layout(x: Any) -> Layout:
    device = x.device
    platform = getattr(device, "platform", None)
    if platform is None:
        raise sinter.UserError("it is spread over several devices")
    if platform not in ("cpu", "gpu", "cuda"):
        raise sinter.UserError(f"it is on the device {device}")
    return Layout(sinter.dtype(x.dtype.name), tuple(x.shape), None, HOST if platform == "cpu" else f"cuda:{device.id}", "jax")


def _sinter_key(x: Any) -> Key:
    shape, strides = x.shape, x.strides
    if strides == row_major(shape):
        return (x.dtype, shape, x.device)
    return (x.dtype, shape, x.device, strides)


def _sinter_layout(x: Any) -> Layout:
    shape, strides = tuple(x.shape), tuple(x.strides)
    device = HOST if x.device.is_host else f"cuda:{x.device.ordinal}"
    return Layout(x.dtype, shape, None if strides == row_major(shape) else strides, device)


def _dlpack_key(x: Any) -> Key:
    return _sinter_key(sinter.from_dlpack(x))


def _dlpack_layout(x: Any) -> Layout:
    return _sinter_layout(sinter.from_dlpack(x))


@functools.lru_cache(maxsize=None)
def _functions(kind: type) -> tuple[Callable[[Any], Key], Callable[[Any], Layout]] | None:
    """How arrays of a class are keyed and described; None if it is no class of arrays."""
    names = {f"{base.__module__.split('.')[0]}.{base.__name__}" for base in kind.__mro__}
    if "numpy.ndarray" in names:
        return _numpy_key, _numpy_layout
    if "torch.Tensor" in names:
        return _torch_key, _torch_layout
    if "cupy.ndarray" in names:
        return _cupy_key, _cupy_layout
    if kind.__module__.startswith(("jax", "jaxlib")) and hasattr(kind, "__dlpack__"):
        return _jax_key, _jax_layout
    if issubclass(kind, sinter.Array):
        return _sinter_key, _sinter_layout
    if hasattr(kind, "__dlpack__") or hasattr(kind, "__cuda_array_interface__"):
        return _dlpack_key, _dlpack_layout
    return None


def is_array(value: Any) -> bool:
    return not isinstance(value, sinter.Tensor) and _functions(type(value)) is not None


def key_function(kind: type) -> Callable[[Any], Key] | None:
    """The function that makes keys of arrays of this class; None if it is no class of arrays."""
    functions = _functions(kind)
    return functions[0] if functions else None


def describe(value: Any, what: str) -> Layout:
    """The layout of an array, called `what` in errors."""
    functions = _functions(type(value))
    if functions is None:
        raise sinter.UserError(f"{what} is no array: {type_name(value)}")
    try:
        return functions[1](value)
    except sinter.UserError as error:
        raise sinter.UserError(f"{what}: {error}") from None
    except (TypeError, ValueError) as error:
        raise sinter.UserError(f"{what}: sinter has no dtype for {getattr(value, 'dtype', type_name(value))}") from error


def is_numpy_number(value: Any) -> bool:
    """True for NumPy's scalars, such as np.float32(1)."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def is_dtype(value: Any) -> bool:
    """True for dtypes of NumPy and PyTorch."""
    libraries = (sys.modules.get(name) for name in ("numpy", "torch"))
    return any(library is not None and isinstance(value, library.dtype) for library in libraries)
