"""Tuples, lists, dicts and named tuples of arrays: their leaves, and the same structure again."""

from __future__ import annotations

from typing import Any, Callable

CONTAINERS = (tuple, list, dict)


def is_container(value: Any) -> bool:
    return isinstance(value, CONTAINERS)


def items(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """The parts of a container, each with its path: `params['w']`, `pair[0]`, `state.mean`."""
    if isinstance(value, dict):
        return [(f"{path}[{key!r}]", part) for key, part in value.items()]
    if hasattr(value, "_fields"):
        return [(f"{path}.{field}", part) for field, part in zip(value._fields, value)]
    return [(f"{path}[{i}]", part) for i, part in enumerate(value)]


def rebuild(value: Any, parts: list[Any]) -> Any:
    """A container like `value` with other parts."""
    if isinstance(value, dict):
        return type(value)(zip(value.keys(), parts)) if type(value) is dict else _dict_like(value, parts)
    if hasattr(value, "_fields"):
        return type(value)(*parts)
    return type(value)(parts)


def _dict_like(value: dict, parts: list[Any]) -> dict:
    result = value.copy()
    for key, part in zip(value.keys(), parts):
        result[key] = part
    return result


def map_leaves(function: Callable[[str, Any], Any], value: Any, path: str = "") -> Any:
    """`value` with each leaf replaced by function(path, leaf)."""
    if is_container(value):
        return rebuild(value, [map_leaves(function, part, at) for at, part in items(value, path)])
    return function(path, value)


def leaves(value: Any) -> list[Any]:
    """All leaves, in order."""
    found: list[Any] = []
    map_leaves(lambda _, leaf: found.append(leaf), value)
    return found


def builder(structure: Any, is_slot: Callable[[Any], bool]) -> Callable[[list[Any]], Any]:
    """A function that builds `structure` with its slots replaced, in order, by the items of a list.

    Leaves that are no slots stay as they are. The usual structures, one slot and a tuple of slots,
    take a short way.
    """
    if not is_container(structure):
        return (lambda values: values[0]) if is_slot(structure) else (lambda values: structure)
    if type(structure) in (tuple, list) and all(not is_container(x) and is_slot(x) for x in structure):
        return type(structure)

    def build(values: list[Any]) -> Any:
        remaining = iter(values)
        return map_leaves(lambda _, leaf: next(remaining) if is_slot(leaf) else leaf, structure)

    return build
