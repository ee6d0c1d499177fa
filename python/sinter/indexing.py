"""`tensor[…]` for recorded Tensors: basic indexing as in NumPy, and index Tensors along several axes."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Extent, Tensor


def getitem(tensor: Tensor, key: Any) -> Tensor:
    """NumPy's `tensor[key]` for ints, slices with positive or negative steps, None, Ellipsis and Tensors of integers.

    Masks (Tensors of bool) raise UserError: the shape of their result depends on values.
    """
    items = _expand(tensor, key if isinstance(key, tuple) else (key,))
    axis, indices, axes = 0, [], []
    for item in items:
        if item is None:
            tensor = _core.unsqueeze(tensor, axis)
            axis += 1
        elif isinstance(item, slice):
            tensor = _sliced(tensor, axis, item)
            axis += 1
        elif isinstance(item, Tensor):
            indices.append(_index_tensor(item))
            axes.append(axis)
            axis += 1
        else:
            tensor = _selected(tensor, axis, item)
    return _core.index(tensor, indices, axes) if indices else tensor


def _place() -> str:
    file, line = _core._current_location()
    return f"{file}:{line}"


def _expand(tensor: Tensor, items: tuple) -> list:
    """The items for every axis: an Ellipsis becomes full slices."""
    given = sum(item is not None and item is not Ellipsis for item in items)
    if sum(item is Ellipsis for item in items) > 1:
        raise _core.UserError(f"{_place()}: an index has several ...; use one")
    if given > tensor.rank:
        raise _core.UserError(
            f"{_place()}: an index of {given} items for {tensor!r} of rank {tensor.rank}; remove {given - tensor.rank}"
        )
    full = [slice(None)] * (tensor.rank - given)
    for i, item in enumerate(items):
        if item is Ellipsis:
            return [*items[:i], *full, *items[i + 1 :]]
    return [*items, *full]


def _sliced(tensor: Tensor, axis: int, item: slice) -> Tensor:
    extent = tensor.shape[axis]
    step = 1 if item.step is None else item.step
    if step < 0:
        return _reversed_slice(tensor, axis, item, step)
    if item.start is None and item.stop is None and step == 1:
        return tensor
    begin = 0 if item.start is None else item.start
    end = extent if item.stop is None else item.stop
    return _core.slice(tensor, axis, begin, end, step)


def _reversed_slice(tensor: Tensor, axis: int, item: slice, step: int) -> Tensor:
    extent = tensor.shape[axis]
    if isinstance(extent, Extent):
        if item.start is None and item.stop is None:
            return _sliced(_core.flip(tensor, axis), axis, slice(None, None, -step))
        raise _core.UserError(
            f"{_place()}: a negative step with bounds needs a number as the extent of axis {axis}, which is {extent}; "
            "use sinter.flip and a slice with a positive step"
        )
    begin, end, _ = item.indices(extent)
    count = len(range(begin, end, step))
    if count == 0:
        return _core.slice(tensor, axis, 0, 0)
    last = begin + (count - 1) * step
    return _core.flip(_core.slice(tensor, axis, last, begin + 1, -step), axis)


def _index_tensor(item: Tensor) -> Tensor:
    if item.dtype is _core.boolean:
        raise _core.UserError(
            f"{_place()}: the shape of the result of a mask depends on its values; use sinter.where, or pass indices"
        )
    return item


def _selected(tensor: Tensor, axis: int, item: Any) -> Tensor:
    if isinstance(item, Extent):
        return _core.select(tensor, axis, item)
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        raise _core.UserError(
            f"{_place()}: {item!r} is no index; pass ints, slices, None, ... or Tensors of integers"
        )
    extent, index = tensor.shape[axis], item.__index__()
    if isinstance(extent, int) and not -extent <= index < extent:
        raise _core.UserError(f"{_place()}: index {index} is out of range for axis {axis} of extent {extent}")
    return _core.select(tensor, axis, index)
