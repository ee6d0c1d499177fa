"""Names of axes. A named axis has a symbol as its size, so other sizes need no new recording."""

from __future__ import annotations

from typing import Any

import sinter

from . import libraries



class Names(tuple):
    """One name per axis: a str (a symbol), an int (this size), or None (the size of the array of the call).

    `...` in front means any number of axes without names.
    """

    def __init__(self, *_: Any):
        self._by_rank: dict[int, tuple[tuple, list[int], list[int]]] = {}

    def __repr__(self) -> str:
        return "(" + ", ".join("..." if n is ... else "_" if n is None else str(n) for n in self) + ")"

    def of_rank(self, rank: int, path: str) -> tuple[tuple, list[int], list[int]]:
        """The names for an array of this rank, the axes with symbols, and the axes with given sizes."""
        found = self._by_rank.get(rank)
        if found is None:
            names = self._aligned(rank, path)
            found = (names, [i for i, n in enumerate(names) if type(n) is str], [i for i, n in enumerate(names) if type(n) is int])
            self._by_rank[rank] = found
        return found

    def _aligned(self, rank: int, path: str) -> tuple:
        if self and self[0] is ...:
            if rank >= len(self) - 1:
                return (None,) * (rank - len(self) + 1) + tuple(self[1:])
        elif len(self) == rank:
            return tuple(self)
        raise sinter.UserError(f"axes of {path}: {self} names {len(self)} axes, and the array has {rank}")


def normalize(spec: Any, path: str) -> Any:
    """The axes of a parameter with Names as leaves: of its array, or of parts of its container.

    A tuple or list of names is one array's. With tuples, lists, dicts, or texts such as "rows, _" in
    it, it is a container's. Raises UserError for anything else.
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        parts = [part.strip() for part in spec.split(",")] if spec.strip() else []
        return _names([... if p == "..." else None if p == "_" else int(p) if p.isdigit() else p for p in parts], path)
    if isinstance(spec, dict):
        return {key: normalize(part, f"{path}[{key!r}]") for key, part in spec.items()}
    if not isinstance(spec, (tuple, list)):
        raise sinter.UserError(f"axes of {path}: {spec!r} is no list of names; write a tuple such as ('rows', None), or 'rows, _'")
    if any(isinstance(part, (tuple, list, dict)) or (isinstance(part, str) and ("," in part or part == "_")) for part in spec):
        return [normalize(part, f"{path}[{i}]") for i, part in enumerate(spec)]
    return _names(spec, path)


def _names(spec: Any, path: str) -> Names:
    for i, name in enumerate(spec):
        if name is None or isinstance(name, int) or (name is ... and i == 0):
            continue
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise sinter.UserError(
                f"axes of {path}: {name!r} is no name of an axis; a name has letters, digits and _, None is the size "
                "of the array, and ... may come first"
            )
    return Names(spec)


def parts_of(spec: Any, container: Any, path: str) -> list[Any]:
    """The axes of each part of a container. Names apply to all parts."""
    if isinstance(spec, Names):
        return [spec] * len(container)
    if isinstance(container, dict) and isinstance(spec, dict):
        unknown = [key for key in spec if key not in container]
        if unknown:
            raise sinter.UserError(f"axes of {path}: {unknown[0]!r} is no key of the dict; its keys are {', '.join(map(repr, container))}")
        return [spec.get(key) for key in container]
    if isinstance(spec, list) and not isinstance(container, dict) and len(spec) == len(container):
        return spec
    raise sinter.UserError(f"axes of {path}: {spec!r} does not have the structure of the argument, a {type(container).__name__} of {len(container)}")


def mask(key: tuple, names: Any, path: str, value: Any) -> tuple:
    """The key of an array without the sizes of its named axes."""
    if not isinstance(names, Names):
        raise sinter.UserError(f"axes of {path}: {names!r} is for a container, and the argument is an array")
    shape = key[1]
    aligned, symbols, given = names.of_rank(len(shape), path)
    for axis in given:
        if aligned[axis] != shape[axis]:
            raise sinter.UserError(f"{path} has the size {shape[axis]} along axis {axis}; axes={names} says {aligned[axis]}")
    masked = list(shape)
    for axis in symbols:
        masked[axis] = None
    if type(key[-1]) is tuple and len(key) > 2:  # not row-major
        layout = libraries.describe(value, path)
        order = dense_order(layout.shape, layout.strides) if layout.strides else None
        if order is not None:
            return (key[0], tuple(masked), *key[2:-1], ("order", order))
    return (key[0], tuple(masked), *key[2:])


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
