"""Cumulative ops along an axis."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import at_least_1d, axis_of, cast, is_floating, positions, promote, torch_dtype

aten = torch.ops.aten


def _along(x: sinter.Tensor, axis: int, scan: Any) -> sinter.Tensor:
    """scan(x, axis) for x of any rank, in x's shape."""
    result = scan(at_least_1d(x), axis_of(axis, x.rank))
    return sinter.reshape(result, list(x.shape)) if x.rank == 0 else result


def _register_sum(op: Any, overload: Any) -> None:
    @lowering(overload)
    def scan(region: Any, node: Any, x: sinter.Tensor, axis: int, *,
             dtype: torch.dtype | None = None) -> sinter.Tensor:
        x = cast(x, dtype) if dtype is not None else x
        if torch_dtype(x) == torch.bool:
            x = cast(x, torch.int64)
        return _along(x, axis, op)


_register_sum(sinter.cumsum, aten.cumsum.default)
_register_sum(sinter.cumprod, aten.cumprod.default)


def _register_extreme(op: Any, overload: Any) -> None:
    @lowering(overload)
    def scan(region: Any, node: Any, x: sinter.Tensor, axis: int
             ) -> tuple[sinter.Tensor, sinter.Tensor]:
        """The running extreme, and the last position that set it. Every NaN sets it."""
        (x,) = promote(x)
        value = _along(x, axis, op)

        def last_position(line: sinter.Tensor, axis: int) -> sinter.Tensor:
            sets = sinter.eq(line, at_least_1d(value))
            if is_floating(line):
                sets = sinter.logical_or(sets, sinter.isnan(line))
            at = positions(region, line.shape, axis)
            return sinter.cummax(sinter.where(sets, at, 0), axis)

        return value, _along(x, axis, last_position)


_register_extreme(sinter.cummax, aten.cummax.default)
_register_extreme(sinter.cummin, aten.cummin.default)
