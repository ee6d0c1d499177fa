"""Arrays that a function refers to without getting them as arguments: where their names are bound.

Such an array is an input whose memory each call reads. Calls notice if its name gets another array.
They look at the variables of enclosing functions, the globals of the module, and the attributes of the
instance of a method. Arrays that are reached in other ways, for example in a list, are not looked up.
"""

from __future__ import annotations

import types
from typing import Any, Callable

from . import libraries

#: How far functions in the variables of functions are searched.
_DEPTH = 4


class Captured:
    """An array of outside that calls bind to an input."""

    def __init__(self, array: Any, layout: libraries.Layout):
        self.array = array
        self.layout = layout
        self.places: list[tuple[str, Callable[[], Any]]] = []

    def refresh(self) -> str | None:
        """Looks its names up. Returns the name that has an array of another kind now; None if it is up to date."""
        for name, read in self.places:
            value = read()
            if value is self.array:
                continue
            if len(self.places) > 1 or not libraries.is_array(value) or libraries.describe(value, name) != self.layout:
                return name
            self.array = value
        return None


def find_places(captured: list[Captured], function: Callable[..., Any], instance: Callable[[], Any] | None) -> None:
    """Finds the names under which `function`, and functions that it refers to, reach the arrays."""
    by_id = {id(one.array): one for one in captured}
    if not by_id:
        return
    for found in _functions_of(function):
        names = found.__code__.co_freevars
        for name, cell in zip(names, found.__closure__ or ()):
            _add(by_id, name, lambda cell=cell: _contents(cell))
    for scope in {id(f.__globals__): f.__globals__ for f in _functions_of(function)}.values():
        for name in list(scope):
            _add(by_id, name, lambda scope=scope, name=name: scope.get(name))
    if instance is not None and hasattr(instance(), "__dict__"):
        for name in list(vars(instance())):
            _add(by_id, f"self.{name}", lambda name=name: vars(instance()).get(name))


def _add(by_id: dict[int, Captured], name: str, read: Callable[[], Any]) -> None:
    one = by_id.get(id(read()))
    if one is not None:
        one.places.append((name, read))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet, or deleted
        return None


def _functions_of(function: Any, depth: int = _DEPTH) -> list[types.FunctionType]:
    """The Python functions behind `function`: wrapped ones, and those in its variables."""
    found: dict[int, types.FunctionType] = {}

    def visit(value: Any, remaining: int) -> None:
        value = getattr(value, "__func__", value)
        if id(value) in found or remaining == 0:
            return
        if isinstance(value, types.FunctionType):
            found[id(value)] = value
            globals_read = [value.__globals__.get(name) for name in value.__code__.co_names]
            for content in [*map(_contents, value.__closure__ or ()), *globals_read]:
                if isinstance(content, types.FunctionType) or hasattr(content, "__wrapped__"):
                    visit(content, remaining - 1)
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            visit(wrapped, remaining - 1)

    visit(function, depth)
    return list(found.values())
