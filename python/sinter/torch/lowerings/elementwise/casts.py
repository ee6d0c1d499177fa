"""Conversions of dtypes, bits and devices."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import cast

aten = torch.ops.aten
prims = torch.ops.prims


def _keeps_device(node: torch.fx.Node) -> str | None:
    source = node.args[0].meta["val"].device
    target = node.meta["val"].device
    return None if source == target else f"copies from {source} to {target}"


@lowering(aten._to_copy.default, supports=_keeps_device)
def to_copy(region: Any, node: Any, x: sinter.Tensor, **options: Any) -> sinter.Tensor:
    dtype = options.get("dtype")
    return x if dtype is None else cast(x, dtype)


@lowering(prims.convert_element_type.default)
def convert_element_type(region: Any, node: Any, x: sinter.Tensor, dtype: torch.dtype
                         ) -> sinter.Tensor:
    return cast(x, dtype)


def _has_same_size(node: torch.fx.Node) -> str | None:
    source, target = node.args[0].meta["val"].dtype, node.args[1]
    if source.itemsize != target.itemsize:
        return f"views {source} as {target} of another size"
    if torch.bool in (source, target) and source != target:
        return "views the bits of bool"
    return None


@lowering(aten.view.dtype, supports=_has_same_size)
def view_dtype(region: Any, node: Any, x: sinter.Tensor, dtype: torch.dtype) -> sinter.Tensor:
    target = sinter.dtype(dtype)
    return x if x.dtype == target else sinter.bitcast(x, target)


@lowering(
    aten.alias.default,
    aten.clone.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.lift_fresh_copy.default,
    aten.lift_fresh.default,
    prims.view_of.default,
)
def identity(region: Any, node: Any, x: sinter.Tensor, **options: Any) -> sinter.Tensor:
    return x


@lowering(aten.copy.default)
def copy(region: Any, node: Any, x: sinter.Tensor, source: sinter.Tensor, non_blocking: bool = False
         ) -> sinter.Tensor:
    """source in x's dtype and shape."""
    return sinter.broadcast_to(sinter.cast(source, x.dtype), list(x.shape))
