"""jit: a Python function that is recorded once per signature, compiled, and run on arrays."""

from __future__ import annotations

import functools
import inspect
import itertools
import logging
import threading
import weakref
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import sinter

from . import axes as axis_names
from . import recording, signature
from .parameters import Parameters, graph_name, name_of
from .record import record
from .recorded import Recorded

_logger = logging.getLogger("sinter")
_stack = recording._stack


class SignatureReport(NamedTuple):
    """The signature of recorded kernels, and what became of them."""

    signature: str
    report: Any


class Jit:
    """A function with its recorded signatures. `sinter.jit` makes it."""

    def __init__(self, function: Callable[..., Any], static_argnames: Sequence[str] = (),
                 axes: Mapping[str, Any] | None = None, device: sinter.Device | None = None,
                 max_signatures: int = 256, **options: Any):
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._name = name_of(function)
        self._settings = dict(static_argnames=static_argnames, axes=axes, device=device, max_signatures=max_signatures, **options)
        self._parameters = Parameters(function, static_argnames)
        self.__signature__ = self._parameters.signature
        self._count = len(self._parameters.names) if self._parameters.is_plain else -1
        self._static = self._parameters.static
        self._specs = self._check_axes(axes or {})
        self._has_axes = bool(axes)
        self._device = device
        self._max_signatures = max_signatures
        self._options = options
        self._recorded: dict[tuple, Recorded] = {}
        self._clock = itertools.count(1)
        self._lock = threading.RLock()
        self._bound: dict[int, tuple[Any, Jit]] = {}

    def _check_axes(self, axes: Mapping[str, Any]) -> list[Any]:
        for name, spec in axes.items():
            if name not in self._parameters.names:
                raise sinter.UserError(f"axes: {name!r} is no parameter of {self._name}{self._parameters.signature}")
        return [axis_names.normalize(axes.get(name), name) for name in self._parameters.names]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _stack.traces:
            return self._function(*args, **kwargs)
        values = args if not kwargs and len(args) == self._count else self._parameters.bind(args, kwargs)
        try:
            recorded, leaves = self._find(values)
        except signature.TensorArgument as argument:
            with recording.recording(argument.tensor.graph):
                return self._function(*args, **kwargs)
        return recorded.run(leaves)

    def _find(self, values: Sequence[Any]) -> tuple[Recorded, list[Any]]:
        """The recorded signature for these values, and their leaves. Records it if it is new."""
        parts: list[Any] = []
        leaves: list[Any] = []
        if self._has_axes:
            signature.flatten_named(values, self._specs, self._parameters.names, parts, leaves, self._static)
        else:
            signature.flatten(values, parts, leaves, self._static)
        key = tuple(parts)
        recorded = self._recorded.get(key)
        if recorded is None:
            recorded = self._record(key, values)
        elif recorded.captured:
            changed = recorded.changed_name()
            if changed is not None:
                recorded = self._record_again(key, values, recorded, changed)
        recorded.used = next(self._clock)
        return recorded, leaves

    def _record(self, key: tuple, values: Sequence[Any]) -> Recorded:
        with self._lock:
            recorded = self._recorded.get(key)
            if recorded is not None:
                return recorded
            recorded = record(self._function, graph_name(self._function), self._parameters, values, self._specs,
                              self._device, self._options)
            self._tell(recorded)
            kept = dict(self._recorded)
            while len(kept) >= self._max_signatures:
                oldest = min(kept, key=lambda k: kept[k].used)
                _logger.info("%s: drops the signature (%s), the least recently used of %d", self._name,
                             _text(kept[oldest]), len(kept))
                del kept[oldest]
            kept[key] = recorded
            self._recorded = kept
            return recorded

    def _record_again(self, key: tuple, values: Sequence[Any], stale: Recorded, name: str) -> Recorded:
        """Replaces a signature whose array from outside `name` is another one now."""
        with self._lock:
            if self._recorded.get(key) is stale:
                _logger.info("%s: records (%s) again: %s from outside has changed its dtype, shape or strides, or has "
                             "several names", self._name, _text(stale), name)
                self._recorded = {k: r for k, r in self._recorded.items() if k != key}
            return self._record(key, values)

    def _tell(self, recorded: Recorded) -> None:
        """Logs why this signature is recorded: the difference to the most similar one."""
        if not _logger.isEnabledFor(logging.INFO):
            return
        known = list(self._recorded.values())
        if not known:
            _logger.info("%s: records its first signature (%s)", self._name, _text(recorded))
            return
        nearest = min(known, key=lambda other: len(_differences(recorded, other)))
        changes = "; ".join(f"{path} is {now}, was {before}" for path, now, before in _differences(recorded, nearest))
        _logger.info("%s: records signature %d: %s", self._name, len(known) + 1, changes or "the structure differs")

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method: signatures of its own for each instance."""
        if instance is None:
            return self
        known = self._bound.get(id(instance))
        if known is None:
            key = id(instance)
            try:
                keep: Any = weakref.ref(instance, lambda _: self._bound.pop(key, None))
            except TypeError:
                keep = functools.partial(lambda held: held, instance)  # lives as long as its kernels
            known = self._bound[key] = (keep, Jit(_Method(self._function, keep), **self._settings))
        return _BoundJit(known[1], instance)

    def _recorded_for(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Recorded, dict[str, int]]:
        if not args and not kwargs and len(self._recorded) == 1 and self._count != 0:
            (recorded,) = self._recorded.values()
            if not recorded.symbols:
                return recorded, {}
        recorded, leaves = self._find(self._parameters.bind(args, kwargs))
        return recorded, recorded.sizes(leaves)

    def graph(self, *args: Any, **kwargs: Any) -> sinter.Graph:
        """The graph that is recorded for these arguments."""
        return self._recorded_for(args, kwargs)[0].graph

    def executable(self, *args: Any, **kwargs: Any) -> sinter.Executable:
        """The compiled graph for these arguments."""
        return self._recorded_for(args, kwargs)[0].executable

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """The kernels for these arguments, with reasons and predicted costs (sinter.explain)."""
        recorded, sizes = self._recorded_for(args, kwargs)
        return sinter.explain(recorded.graph, sizes=sizes, device=recorded.device, **self._options)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The source of the kernels for these arguments."""
        recorded, sizes = self._recorded_for(args, kwargs)
        recorded.executable.prepare(sizes)
        return recorded.executable.source()

    def report(self) -> list[SignatureReport]:
        """A report of each signature that ran."""
        return [SignatureReport(_text(r), r.executable.report()) for r in self._recorded.values() if r._executable]

    def signatures(self) -> list[str]:
        """The recorded signatures: `x: f32[rows, 8], lr: a Python float`."""
        return [_text(recorded) for recorded in self._recorded.values()]

    def clear_cache(self) -> None:
        """Forgets all signatures, also those of methods."""
        with self._lock:
            self._recorded = {}
            self._bound.clear()

    def __reduce__(self) -> str:
        """Pickled by name, as functions are."""
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<sinter.jit of {self._name}{self._parameters.signature}, {len(self._recorded)} signatures>"


class _Method:
    """A method of an instance that may be released between calls."""

    def __init__(self, function: Callable[..., Any], instance: Callable[[], Any]):
        functools.update_wrapper(self, function)
        signature = inspect.signature(function)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
        self._call = function
        self._instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._instance(), *args, **kwargs)


class _BoundJit:
    """A jitted method with its instance."""

    __slots__ = ("_jit", "_held")

    def __init__(self, function: Jit, instance: Any):
        self._jit = function
        self._held = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._jit(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jit, name)

    def __repr__(self) -> str:
        return repr(self._jit)


def _text(recorded: Recorded) -> str:
    return ", ".join(f"{path}: {text}" for path, text in recorded.arguments)


def _differences(a: Recorded, b: Recorded) -> list[tuple[str, str, str]]:
    now, before = dict(a.arguments), dict(b.arguments)
    return [(path, now.get(path, "absent"), before.get(path, "absent")) for path in now | before
            if now.get(path) != before.get(path)]


def jit(function: Callable[..., Any] | None = None, *, static_argnames: Sequence[str] = (),
        axes: Mapping[str, Any] | None = None, device: sinter.Device | None = None, max_signatures: int = 256,
        **options: Any) -> Any:
    """Makes a function of arrays run as fused kernels. Also a decorator, with or without arguments.

    The function is called once per signature, with Tensors in place of arrays, and its ops are
    recorded. It may use operators, `sinter.*` functions and `sinter.array_api`. Results are arrays of
    the caller's library. Tuples, lists and dicts of arrays may be arguments and results.

    A signature has the dtypes, shapes and strides of all arrays, and the types of numbers. It also has the
    values of texts, bools, None and arguments in `static_argnames`. Other ints and floats may differ from
    call to call. Arrays that the function refers to without getting them as arguments are inputs, which
    each call reads. It looks up their names in enclosing functions, in the module, and in the
    instance of a method. Arrays in containers outside are read, but not looked up again. Numbers from
    outside are constants.

    axes            names of axes by parameter: {"x": ("rows", None)} or {"x": "rows, _"}. Sizes of
                    named axes may differ from call to call. Axes with one name have one size.
    device          where to run; by default where the arrays are. Arrays elsewhere are copied.
    max_signatures  beyond it, the least recently used signature is dropped.
    options         of sinter.compile.

    Raises UserError for arguments that are neither arrays nor numbers. Raises it, too, if the function
    needs the value of a Tensor, for example as a condition of `if`.
    """
    if function is None:
        return lambda f: jit(f, static_argnames=static_argnames, axes=axes, device=device,
                             max_signatures=max_signatures, **options)
    if not callable(function):
        raise sinter.UserError(f"jit takes a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise sinter.UserError(f"jit takes a function that returns its results, and {name_of(function)} is a generator or a coroutine")
    if max_signatures < 1:
        raise sinter.UserError(f"max_signatures must be at least 1, not {max_signatures}")
    return Jit(function, static_argnames, axes, device, max_signatures, **options)
