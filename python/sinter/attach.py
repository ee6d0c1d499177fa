"""Makes Python functions methods of the classes of the core."""

from __future__ import annotations

from typing import Any, Callable


def _place(owner: type, name: str, function: Callable[..., Any]) -> None:
    """Gives a function the names of a method of `owner`, so that the type stubs of the core have it."""
    function.__module__, function.__name__, function.__qualname__ = owner.__module__, name, f"{owner.__name__}.{name}"


def attach(owner: type, **methods: Callable[..., Any]) -> None:
    """Sets methods of a class of the core. No function may be attached twice."""
    for name, method in methods.items():
        _place(owner, name, method)
        setattr(owner, name, method)


def attach_properties(owner: type, **getters: Callable[..., Any]) -> None:
    """Sets read-only properties of a class of the core."""
    for name, getter in getters.items():
        _place(owner, name, getter)
        setattr(owner, name, property(getter))
