"""Names of axes. A named axis has a symbol as its size, so other sizes need no new recording."""

from __future__ import annotations

from typing import Any

import sinter

from . import tree

Names = tuple  # one of str (a name), int (this size) or None (the size of the array) per axis; ... in front: any axes


def parse(spec: Any, path: str) -> Names:
    """The names in `"rows, _"` or `("rows", None)`."""
    if isinstance(spec, str):
        parts = [part.strip() for part in spec.split(",")] if spec.strip() else []
        spec = tuple(... if p == "..." else None if p == "_" else int(p) if p.isdigit() else p for p in parts)
    if not isinstance(spec, (tuple, list)):
        raise sinter.UserError(f"axes of {path}: {spec!r} is no list of names; write a tuple such as ('rows', None), or 'rows, _'")
    for i, name in enumerate(spec):
        if name is None or isinstance(name, int) or (name is ... and i == 0):
            continue
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise sinter.UserError(
                f"axes of {path}: {name!r} is no name of an axis; a name has letters, digits and _, None is the size "
                "of the array, and ... may come first"
            )
    return tuple(spec)


def aligned(names: Names, rank: int, path: str) -> Names:
    """One name per axis of an array of this rank."""
    if names and names[0] is ...:
        if rank >= len(names) - 1:
            return (None,) * (rank - len(names) + 1) + names[1:]
    elif len(names) == rank:
        return names
    raise sinter.UserError(f"axes of {path}: {spell(names)} names {len(names)} axes, and the array has {rank}")


def spell(names: Names) -> str:
    return "(" + ", ".join("..." if n is ... else "_" if n is None else str(n) for n in names) + ")"


def spec_of_part(spec: Any, container: Any, index: int, key: Any) -> Any:
    """The axes of a part of a container: from a container alike, or the same for all parts."""
    if isinstance(container, dict):
        return spec.get(key) if isinstance(spec, dict) else spec
    if isinstance(spec, (tuple, list)) and len(spec) == len(container) and any(
        isinstance(part, (tuple, list, dict)) or (isinstance(part, str) and ("," in part or part == "_")) for part in spec
    ):
        return spec[index]
    return spec


def check(spec: Any, path: str) -> None:
    """Raises UserError if the leaves of `spec` are no lists of names."""
    if isinstance(spec, dict):
        for key, part in spec.items():
            check(part, f"{path}[{key!r}]")
    elif isinstance(spec, (tuple, list)) and any(isinstance(part, (tuple, list, dict)) for part in spec):
        for at, part in tree.items(spec, path):
            if part is not None:
                check(part, at)
    elif spec is not None:
        parse(spec, path)


def mask(key: tuple, names: Names, path: str) -> tuple:
    """The key of an array without the sizes of its named axes."""
    shape = key[1]
    names = aligned(names, len(shape), path)
    for axis, name in enumerate(names):
        if type(name) is int and name != shape[axis]:
            raise sinter.UserError(f"{path} has the size {shape[axis]} along axis {axis}; axes={spell(names)} says {name}")
    masked = tuple(None if type(name) is str else size for name, size in zip(names, shape))
    return (key[0], masked, names, *key[2:])


def dense_order(shape: tuple, strides: tuple) -> tuple | None:
    """The axes from the slowest to the fastest if the array is a permuted row-major one, else None."""
    order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return tuple(order)


def strides_in_order(shape: tuple, order: tuple) -> tuple:
    """Strides of an array whose axes are dense in this order; sizes may be symbols."""
    strides: list[Any] = [1] * len(shape)
    step: Any = 1
    for axis in reversed(order):
        strides[axis] = step
        step = step * shape[axis]
    return tuple(strides)
