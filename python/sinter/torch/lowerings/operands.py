"""Operands of lowerings: PyTorch's type promotion, numbers, wide dtypes, axes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import sinter

_TORCH_DTYPES = {
    "bool": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
_NARROW = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


def torch_dtype(x: sinter.Tensor) -> torch.dtype:
    """The PyTorch dtype of a sinter Tensor."""
    return _TORCH_DTYPES[x.dtype.name]


def is_tensor(value: Any) -> bool:
    return isinstance(value, sinter.Tensor)


def is_floating(x: sinter.Tensor) -> bool:
    return torch_dtype(x).is_floating_point


def cast(x: sinter.Tensor, dtype: torch.dtype) -> sinter.Tensor:
    """x in another dtype, as `Tensor.to` converts it: floats wrap to narrow integers."""
    source = torch_dtype(x)
    if source == dtype:
        return x
    wraps = source.is_floating_point and dtype in (torch.int8, torch.int16, torch.uint8)
    if wraps:
        x = sinter.cast(x, sinter.i64)
    return sinter.cast(x, sinter.dtype(dtype))


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which eager kernels compute elements of `dtype`."""
    return torch.float32 if dtype in _NARROW else dtype


def widen(x: Any) -> Any:
    """x in f32 if its dtype is a narrow float; numbers and other dtypes stay."""
    return cast(x, wide_dtype(torch_dtype(x))) if is_tensor(x) else x


def _dtype_of_number(value: Any) -> torch.dtype:
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, float):
        return torch.get_default_dtype()
    return torch.int64


def _combine(high: torch.dtype | None, low: torch.dtype | None) -> torch.dtype | None:
    """The dtype of operands of a higher and of a lower category."""
    if high is None or low is None:
        return high or low
    if high.is_floating_point:
        return high
    if high == torch.bool or low.is_floating_point:
        return torch.promote_types(high, low)
    return high


def result_type(*values: Any) -> torch.dtype:
    """The common dtype of operands, as `torch.result_type` defines it for any number of them."""
    categories: list[torch.dtype | None] = [None, None, None]
    for value in values:
        if is_tensor(value):
            category, dtype = (0 if value.rank > 0 else 1), torch_dtype(value)
        else:
            category, dtype = 2, _dtype_of_number(value)
        known = categories[category]
        categories[category] = torch.promote_types(known, dtype) if known else dtype
    dtype = _combine(categories[0], _combine(categories[1], categories[2]))
    if dtype is None:
        raise sinter.InternalError("result_type: there are no operands")
    return dtype


def number(value: Any, dtype: torch.dtype, rounds: bool = True) -> Any:
    """A Python number as a value of `dtype`. Integers wrap. Floats round if `rounds`."""
    if isinstance(value, sinter.Extent):
        return value
    if dtype == torch.bool:
        return bool(value)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return (int(value) - info.min) % (1 << info.bits) + info.min
    return torch.tensor(value, dtype=dtype).item() if rounds else float(value)


def operand(value: Any, dtype: torch.dtype, rounds: bool = True) -> Any:
    """A Tensor or number as an operand in `dtype`."""
    return cast(value, dtype) if is_tensor(value) else number(value, dtype, rounds)


def promote(*values: Any, to_float: bool = False, keep_bool: bool = False,
            rounds: bool = True) -> list[Any]:
    """The operands in their common dtype.

    With `to_float`, integers become the default dtype. Without `keep_bool`, bool becomes u8, since
    sinter has no arithmetic on bool; the region casts the result back.
    """
    dtype = result_type(*values)
    if to_float and not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    if dtype == torch.bool and not keep_bool:
        dtype = torch.uint8
    return [operand(value, dtype, rounds) for value in values]


def promote_wide(*values: Any, to_float: bool = False) -> list[Any]:
    """The operands in the dtype in which eager computes: f32 for f16 and bf16."""
    dtype = result_type(*values)
    if to_float and not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    if dtype == torch.bool:
        dtype = torch.uint8
    return [operand(value, wide_dtype(dtype), rounds=False) for value in values]


def floating(x: sinter.Tensor) -> sinter.Tensor:
    """x, with integers and bool in the default dtype."""
    return x if is_floating(x) else cast(x, torch.get_default_dtype())


def axis_of(axis: int, rank: int) -> int:
    """A non-negative axis; a Tensor of rank 0 counts as one of rank 1."""
    return axis % max(rank, 1)


def axes_of(axes: int | Sequence[int] | None, rank: int) -> list[int]:
    """Non-negative axes in ascending order; None or no axes means all."""
    if axes is None or (not isinstance(axes, int) and len(axes) == 0):
        return list(range(max(rank, 1)))
    if isinstance(axes, int):
        axes = [axes]
    return sorted(axis_of(axis, rank) for axis in axes)


def at_least_1d(x: sinter.Tensor) -> sinter.Tensor:
    """x, as a Tensor of shape [1] if its rank is 0."""
    return sinter.reshape(x, [1]) if x.rank == 0 else x


def shape_of(region: Any, value: torch.Tensor) -> list[Any]:
    """The shape of a fake tensor in ints and Extents."""
    return [region.extent(size) for size in value.shape]


def result_shape(region: Any, node: torch.fx.Node) -> list[Any]:
    return shape_of(region, node.meta["val"])


def positions(region: Any, shape: Sequence[Any], axis: int) -> sinter.Tensor:
    """0, 1, … along `axis`, in i64, with extent 1 along the other axes of `shape`."""
    line = sinter.iota(region.graph, shape[axis])
    return sinter.reshape(line, [shape[i] if i == axis else 1 for i in range(len(shape))])


def expand(x: sinter.Tensor, shape: Sequence[Any]) -> sinter.Tensor:
    return x if list(x.shape) == list(shape) else sinter.broadcast_to(x, list(shape))


def is_empty(value: torch.Tensor) -> bool:
    """True if a fake tensor is known to have no elements. Symbolic sizes are not compared."""
    return any(isinstance(size, int) and size == 0 for size in value.shape)


def is_static(*extents: Any) -> bool:
    """True if the extents are numbers that are known now."""
    return all(isinstance(extent, int) for extent in extents)


def product(extents: Sequence[Any]) -> Any:
    result: Any = 1
    for extent in extents:
        result = result * extent
    return result
