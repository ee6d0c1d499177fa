"""Operators of Tensors that the array API standard defines in another way than the ops of the same name.

`**` and `@` of integers are integers. `sinter.pow` computes them in f32, and `sinter.matmul` has no
integers except i8. NumPy's arrays leave operators with Tensors to the Tensors.
"""

from __future__ import annotations

from typing import Any

from ._core import Extent, Tensor
from .attach import attach, attach_properties

_core_power, _core_reflected_power, _core_product = Tensor.__pow__, Tensor.__rpow__, Tensor.__matmul__


def _is_integer(value: Any) -> bool:
    return value.dtype.is_integer if isinstance(value, Tensor) else isinstance(value, int) and not isinstance(value, bool)


def _power(self: Tensor, exponent: Any) -> Any:
    if _is_integer(self) and _is_integer(exponent):
        from . import array_api

        return array_api.pow(self, exponent)
    return _core_power(self, exponent)


def _reflected_power(self: Tensor, base: Any) -> Any:
    if _is_integer(self) and _is_integer(base):
        from . import array_api

        return array_api.pow(base, self)
    return _core_reflected_power(self, base)


def _product(self: Tensor, other: Any) -> Any:
    if isinstance(other, Tensor) and _is_integer(self) and _is_integer(other):
        from . import array_api

        return array_api.matmul(self, other)
    return _core_product(self, other)


def _reflected_product(self: Tensor, other: Any) -> Any:
    from .array_api import _operands

    tensor = _operands.tensor_of_array(other)
    return NotImplemented if tensor is None else tensor @ self


def _size(self: Tensor) -> int | Extent:
    """The number of elements."""
    size: Any = 1
    for extent in self.shape:
        size = size * extent
    return size


def _set_item(self: Tensor, key: Any, value: Any) -> None:
    raise TypeError(
        "a recorded Tensor cannot be changed in place; use sinter.where, sinter.index_put, sinter.slice_scatter or "
        "xp.concat to make a new one"
    )


def install() -> None:
    """Sets the operators and attributes of the standard that the core does not have."""
    attach(Tensor, __pow__=_power, __rpow__=_reflected_power, __matmul__=_product, __rmatmul__=_reflected_product,
           __setitem__=_set_item)
    attach_properties(Tensor, size=_size)
    Tensor.__array_ufunc__ = None
    Tensor.__array_priority__ = 1000
