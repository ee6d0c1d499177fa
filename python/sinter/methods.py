"""Methods of the classes of the core that are written in Python."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Context, Executable, Explanation, Outputs, Profile, Tensor
from .attach import attach, attach_properties
from .indexing import getitem

# The height of an explanation in a notebook, in pixels.
_NOTEBOOK_HEIGHT = 640


def _reshape(self: Tensor, *shape: Any) -> Tensor:
    """The elements in row-major order with another shape. One extent may be -1: it is inferred."""
    return _core.reshape(self, shape[0] if len(shape) == 1 else shape)


def _permute(self: Tensor, *axes: Any) -> Tensor:
    """The Tensor with reordered axes: axis i of the result is axis axes[i] of it."""
    return _core.permute(self, axes[0] if len(axes) == 1 else axes)


def _astype(self: Tensor, dtype: Any) -> Tensor:
    """The Tensor in another dtype."""
    return _core.cast(self, dtype)


def _transposed(self: Tensor) -> Tensor:
    """The Tensor with its last two axes swapped."""
    return _core.transpose(self, -2, -1)


def _matrix_transposed(self: Tensor) -> Tensor:
    """The Tensor with its last two axes swapped."""
    return _core.transpose(self, -2, -1)


def _iter(self: Tensor) -> Any:
    extent = self.shape[0] if self.rank else None
    if not isinstance(extent, int):
        raise TypeError(f"{self!r} cannot be iterated over; its first extent is {extent}")
    return (getitem(self, i) for i in range(extent))


def _len(self: Tensor) -> int:
    if not self.rank or not isinstance(self.shape[0], int):
        raise TypeError(f"{self!r} has no length; use shape[0], which may be a symbol")
    return self.shape[0]


def _namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The array API's namespace, sinter.array_api."""
    from . import array_api

    return array_api


# Functions of one Tensor and axes that are methods, too. They also have NumPy's names of the parameters.
_REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin")


def _reduction(name: str) -> Any:
    function = getattr(_core, name)

    def method(
        self: Tensor, axes: Any = None, keep: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Tensor:
        return function(self, axis if axes is None else axes, keep or keepdims)

    method.__name__, method.__doc__ = name, function.__doc__
    return method


def _call(self: Executable, **inputs: Any) -> Outputs:
    """Runs the program on arrays of any library and numbers, in a context of its own, and returns new arrays."""
    # A context serves one run at a time, so concurrent calls take others. list.pop and append are atomic.
    try:
        idle = self._idle_contexts
    except AttributeError:
        idle = self.__dict__.setdefault("_idle_contexts", [])
    try:
        context: Context = idle.pop()
    except IndexError:
        context = self.context()
    try:
        return context.run(inputs)
    finally:
        idle.append(context)


def _repr_html(self: Explanation) -> str:
    import html

    page = html.escape(self.html(), quote=True)
    return f'<iframe srcdoc="{page}" style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0"></iframe>'


def install() -> None:
    """Adds the methods to the classes of the core."""
    attach(Tensor, __getitem__=getitem, __iter__=_iter, __len__=_len, __array_namespace__=_namespace, reshape=_reshape,
           permute=_permute, astype=_astype, **{name: _reduction(name) for name in _REDUCTIONS})
    attach_properties(Tensor, T=_transposed, mT=_matrix_transposed)
    attach(Executable, __call__=_call)
    attach(Explanation, _repr_html_=_repr_html)
    Profile.__str__ = Profile.table
