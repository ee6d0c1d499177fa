"""The parameters of a function: positions for keyword arguments and defaults."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

import sinter

_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """Turns the arguments of a call into one value per parameter, in order, and back.

    The value of `*args` is a tuple, and that of `**kwargs` a dict sorted by name.
    """

    def __init__(self, function: Callable[..., Any], static_argnames: Sequence[str]):
        self.signature = inspect.signature(function)
        parameters = list(self.signature.parameters.values())
        self.names = [p.name for p in parameters]
        self.is_plain = all(p.kind in _PLAIN for p in parameters)
        self._parameters = parameters
        names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        for name in names:
            if name not in self.names:
                raise sinter.UserError(f"static_argnames: {name!r} is no parameter of {name_of(function)}{self.signature}")
        self.static = frozenset(self.names.index(name) for name in names)

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """One value per parameter. Raises TypeError as a call of the function does."""
        if self.is_plain and len(args) <= len(self._parameters):
            values = list(args)
            used = 0
            for parameter in self._parameters[len(args):]:
                if parameter.name in kwargs and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
                    values.append(kwargs[parameter.name])
                    used += 1
                elif parameter.default is not inspect.Parameter.empty:
                    values.append(parameter.default)
                else:
                    break
            if used == len(kwargs) and len(values) == len(self._parameters):
                return tuple(values)
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = []
        for parameter in self._parameters:
            value = bound.arguments[parameter.name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                value = dict(sorted(value.items()))
            values.append(value)
        return tuple(values)

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Calls the function with one value per parameter."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter, value in zip(self._parameters, values):
            if parameter.kind in _PLAIN:
                args.append(value)
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(value)
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                kwargs.update(value)
        return function(*args, **kwargs)


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "").replace("<lambda>", "function")


def graph_name(function: Callable[..., Any]) -> str:
    """The function's name as that of a graph, which kernels are named after."""
    name = getattr(function, "__name__", "")
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_") or "function"
