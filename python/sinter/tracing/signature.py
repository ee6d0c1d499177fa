"""Keys of calls: equal keys run the same recorded graph."""

from __future__ import annotations

import enum
from typing import Any, Callable

import sinter

from . import axes as axis_names
from . import libraries, tree

#: Values of these types are part of the signature.
_STATIC = (bool, type(None), str, bytes, enum.Enum, sinter.DType, type, slice)

_EXACT_STATIC = frozenset((bool, type(None), str))

#: The function that makes the key of a leaf, for each class that was seen.
_makers: dict[type, Callable[[Any], Any]] = {int: lambda _: int, float: lambda _: float}


def flatten(values: Any, parts: list[Any], leaves: list[Any], static: frozenset[int] = frozenset()) -> None:
    """Appends the key of each value to `parts`, and the leaves that a run reads to `leaves`."""
    for position, value in enumerate(values):
        kind = type(value)
        make = _makers.get(kind)
        if position in static:
            parts.append(static_key(value))
        elif make is not None:
            parts.append(make(value))
            leaves.append(value)
        elif kind is dict:
            parts.append((dict, tuple(value)))
            flatten(value.values(), parts, leaves)
        elif kind in _EXACT_STATIC:
            parts.append((kind, value))
        else:
            _flatten_other(value, kind, parts, leaves)


def _flatten_other(value: Any, kind: type, parts: list[Any], leaves: list[Any]) -> None:
    if isinstance(value, (tuple, list)):
        parts.append((kind, len(value)))
        flatten(value, parts, leaves)
    elif isinstance(value, dict):
        parts.append((kind, tuple(value)))
        flatten(value.values(), parts, leaves)
    elif is_static(value):
        parts.append(static_key(value))
    else:
        make = _maker(value, kind)
        _makers[kind] = make
        parts.append(make(value))
        leaves.append(value)


def is_static(value: Any) -> bool:
    """True for values that are part of the signature wherever they are."""
    return isinstance(value, _STATIC) or libraries.is_dtype(value)


def static_key(value: Any) -> tuple:
    """The key of a static value. Raises UserError if it cannot be hashed."""
    try:
        hash(value)
    except TypeError:
        raise sinter.UserError(
            f"a static argument must be hashable, and {libraries.type_name(value)} is not; pass a tuple instead of a list"
        ) from None
    return (type(value), value)


class TensorArgument(Exception):
    """A recorded function was called with a Tensor: it records into the graph of that Tensor."""

    def __init__(self, tensor: sinter.Tensor):
        super().__init__("a Tensor is no array")
        self.tensor = tensor


def _maker(value: Any, kind: type) -> Callable[[Any], Any]:
    if isinstance(value, sinter.Tensor):
        raise TensorArgument(value)
    make = libraries.key_function(kind)
    if make is not None:
        return make
    if libraries.is_numpy_number(value):
        return lambda number: ("number", number.dtype)
    if issubclass(kind, (int, float)):
        base = int if issubclass(kind, int) else float
        return lambda _: base
    raise sinter.UserError(
        f"an argument of the class {libraries.type_name(value)} is neither an array nor a number; pass its arrays "
        "in a tuple, list or dict, or name the argument in static_argnames if it is hashable"
    )


def flatten_named(values: Any, specs: list[Any], paths: list[str], parts: list[Any], leaves: list[Any],
                  static: frozenset[int] = frozenset()) -> None:
    """As flatten, with the names of axes for each value."""
    for position, (value, spec, path) in enumerate(zip(values, specs, paths)):
        if position in static:
            parts.append(static_key(value))
        elif spec is None:
            flatten((value,), parts, leaves)
        elif tree.is_container(value):
            is_dict = isinstance(value, dict)
            parts.append((type(value), tuple(value) if is_dict else len(value)))
            inner = list(value.values()) if is_dict else list(value)
            below = [at for at, _ in tree.items(value, path)]
            flatten_named(inner, axis_names.parts_of(spec, value, path), below, parts, leaves)
        else:
            flatten((value,), parts, leaves)
            if libraries.is_array(value):
                parts[-1] = axis_names.mask(parts[-1], spec, path, value)


def is_leaf(value: Any) -> bool:
    """True if a run reads this value: an array or a number that is not static."""
    return not is_static(value) and not tree.is_container(value)
