"""Functions that change shapes and move elements, by the names of the array API standard."""

from __future__ import annotations

from typing import Any, Sequence

import sinter

from . import _operands


def _same_dtype(arrays: Sequence[Any], what: str) -> list[sinter.Tensor]:
    tensors = [_operands.array(x, what) for x in arrays]
    if not tensors:
        raise ValueError(f"{what} needs at least one array")
    dtype = _operands.common_dtype(tensors)
    return [t if t.dtype == dtype else sinter.cast(t, dtype) for t in tensors]


def broadcast_shape(*shapes: tuple) -> tuple:
    """The shape to which all of these broadcast."""
    rank = max(len(shape) for shape in shapes)
    result: list[Any] = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = extent
            elif extent != 1 and extent != result[axis]:
                texts = ", ".join("(" + ", ".join(map(str, s)) + ")" for s in shapes)
                raise sinter.UserError(f"the shapes {texts} do not broadcast: {result[axis]} and {extent} differ")
    return tuple(result)


def broadcast_to(x: Any, /, shape: Any) -> sinter.Tensor:
    """x with axes of size 1 repeated to fill the shape; new axes come first."""
    return sinter.broadcast_to(_operands.array(x, "broadcast_to"), tuple(shape))


def broadcast_arrays(*arrays: Any) -> list[sinter.Tensor]:
    """The arrays in their common shape."""
    tensors = [_operands.array(x, "broadcast_arrays") for x in arrays]
    shape = broadcast_shape(*[tuple(t.shape) for t in tensors])
    return [sinter.broadcast_to(t, shape) for t in tensors]


def concat(arrays: Any, /, *, axis: int | None = 0) -> sinter.Tensor:
    """The arrays one after another along an axis; `axis=None` flattens them first."""
    tensors = _same_dtype(arrays, "concat")
    if axis is None:
        tensors, axis = [sinter.reshape(t, (-1,)) for t in tensors], 0
    return tensors[0] if len(tensors) == 1 else sinter.concat(tensors, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> sinter.Tensor:
    """The arrays along a new axis."""
    return sinter.stack(_same_dtype(arrays, "stack"), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[sinter.Tensor, ...]:
    """The slices of an axis, whose size must be known."""
    x = _operands.array(x, "unstack")
    (axis,) = _operands.axes_of(axis, x.rank, "unstack")
    if not isinstance(x.shape[axis], int):
        raise sinter.UserError(f"unstack: axis {axis} has the size {x.shape[axis]}, which is known at each call only")
    return tuple(sinter.select(x, axis, i) for i in range(x.shape[axis]))


def expand_dims(x: Any, /, axis: Any) -> sinter.Tensor:
    """x with a new axis of size 1 at a position, or at several."""
    x = _operands.array(x, "expand_dims")
    given = _operands.ints(axis)
    for one in sorted(_operands.axes_of(given, x.rank + len(given), "expand_dims")):
        x = sinter.unsqueeze(x, one)
    return x


def squeeze(x: Any, /, axis: Any) -> sinter.Tensor:
    """x without axes of size 1."""
    x = _operands.array(x, "squeeze")
    for one in sorted(_operands.axes_of(axis, x.rank, "squeeze"), reverse=True):
        x = sinter.squeeze(x, one)
    return x


def flip(x: Any, /, *, axis: Any = None) -> sinter.Tensor:
    """x with the elements along axes in reverse order; all axes by default."""
    x = _operands.array(x, "flip")
    axes = tuple(range(x.rank)) if axis is None else _operands.axes_of(axis, x.rank, "flip")
    return sinter.flip(x, axes) if axes else x


def moveaxis(x: Any, source: Any, destination: Any, /) -> sinter.Tensor:
    """x with axes moved to other positions; the others keep their order."""
    x = _operands.array(x, "moveaxis")
    sources = _operands.axes_of(source, x.rank, "moveaxis")
    targets = _operands.axes_of(destination, x.rank, "moveaxis")
    if len(sources) != len(targets):
        raise ValueError(f"moveaxis: {len(sources)} axes to {len(targets)} positions")
    order = [axis for axis in range(x.rank) if axis not in sources]
    for target, axis in sorted(zip(targets, sources)):
        order.insert(target, axis)
    return sinter.permute(x, tuple(order))


def permute_dims(x: Any, /, axes: Any) -> sinter.Tensor:
    """x with axis i from axis axes[i]."""
    x = _operands.array(x, "permute_dims")
    return sinter.permute(x, tuple(axes)) if x.rank else x


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> sinter.Tensor:
    """The elements in row-major order with another shape; one size may be -1."""
    return sinter.reshape(_operands.array(x, "reshape"), (shape,) if isinstance(shape, int) else tuple(shape))


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> sinter.Tensor:
    """x with elements moved by `shift` along axes, from the end to the start; without an axis, of the flat array."""
    x = _operands.array(x, "roll")
    if axis is None:
        return sinter.reshape(sinter.roll(sinter.reshape(x, (-1,)), int(shift), 0), tuple(x.shape))
    axes, shifts = _operands.ints(axis), _operands.ints(shift)
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(axes) != len(shifts):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for one, by in zip(axes, shifts):
        x = sinter.roll(x, by, one)
    return x


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> sinter.Tensor:
    """Each element `repeats` times in succession along an axis, or of the flat array. `repeats` is an int."""
    x = _operands.array(x, "repeat")
    if not hasattr(repeats, "__index__") or isinstance(repeats, sinter.Tensor) or hasattr(repeats, "shape"):
        raise sinter.UserError("repeat: an array of repeats makes a shape that depends on values; pass an int")
    if axis is None:
        x, axis = sinter.reshape(x, (-1,)), 0
    return sinter.repeat(x, repeats, axis)


def tile(x: Any, repetitions: Any, /) -> sinter.Tensor:
    """The whole array repetitions[i] times along axis i."""
    x = _operands.array(x, "tile")
    counts = _operands.ints(repetitions)
    counts = (1,) * (x.rank - len(counts)) + counts
    return sinter.tile(x, counts) if counts else x


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> sinter.Tensor:
    """The slices of x along an axis at the indices."""
    x = _operands.array(x, "take")
    if axis is None:
        if x.rank != 1:
            raise ValueError(f"take from an array of rank {x.rank} needs an axis")
        axis = 0
    return sinter.take(x, _operands.array(indices, "take"), axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> sinter.Tensor:
    """The elements of x at the indices along an axis. The other axes broadcast."""
    x, indices = _operands.array(x, "take_along_axis"), _operands.array(indices, "take_along_axis")
    if x.rank != indices.rank:
        raise ValueError(f"take_along_axis: x has rank {x.rank}, and the indices {indices.rank}")
    (axis,) = _operands.axes_of(axis, x.rank, "take_along_axis")
    others = [tuple(t.shape[:axis]) + (1,) + tuple(t.shape[axis + 1:]) for t in (x, indices)]
    common = broadcast_shape(*others)
    x, indices = (
        sinter.broadcast_to(t, common[:axis] + (t.shape[axis],) + common[axis + 1:]) for t in (x, indices)
    )
    return sinter.take_along_axis(x, indices, axis)
