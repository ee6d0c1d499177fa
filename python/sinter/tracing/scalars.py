"""Python numbers that may differ from call to call.

An argument such as `lr=0.1` of a recorded function is a Scalar while the function is recorded. As in
the array API, it takes the dtype of the Tensor that it meets: `lr * x` has the dtype of x. The graph
gets one run-time number for each dtype in which the Scalar is used.
"""

from __future__ import annotations

import operator
from typing import Any, Callable

import sinter

from . import recording

_KIND_OF_TYPE = {bool: "bool", int: "int", float: "float"}


class Scalar:
    """A number of a call, or a value computed from such numbers. It has no dtype of its own."""

    __sinter_weak__ = True
    __array_ufunc__ = None
    __array_priority__ = 2000
    __slots__ = ("kind", "name", "_declare", "_tensors", "_base")

    def __init__(self, kind: str, name: str, declare: Callable[[sinter.DType], sinter.Tensor] | None = None,
                 base: sinter.Tensor | None = None):
        self.kind = kind  # "bool", "int" or "float"
        self.name = name
        self._declare = declare
        self._base = base
        self._tensors: dict[str, sinter.Tensor] = {}

    shape = ()
    ndim = 0

    def dtype_beside(self, dtype: sinter.DType) -> sinter.DType:
        """The dtype of this number in an op with a Tensor of `dtype`."""
        if dtype.is_floating:
            return dtype
        if self.kind == "float":
            return sinter.f32
        return sinter.i64 if self.kind == "int" and not dtype.is_integer else dtype

    def default_dtype(self) -> sinter.DType:
        """The dtype of this number where no Tensor decides it."""
        if self.kind == "float":
            trace = recording.current()
            return trace.widest_float() if trace else sinter.f32
        return sinter.i64 if self.kind == "int" else sinter.boolean

    def wide(self) -> sinter.Tensor:
        """The number in the widest dtype of its kind, for arithmetic between numbers."""
        return self.at({"float": sinter.f64, "int": sinter.i64, "bool": sinter.boolean}[self.kind])

    def at(self, dtype: sinter.DType) -> sinter.Tensor:
        """The number as a Tensor of rank 0 with `dtype`."""
        tensor = self._tensors.get(dtype.name)
        if tensor is None:
            if self._base is not None:
                tensor = sinter.cast(self._base, dtype)
            else:
                assert self._declare is not None
                tensor = self._declare(dtype)
            self._tensors[dtype.name] = tensor
        return tensor

    def _unknown(self, what: str) -> sinter.UserError:
        return sinter.UserError(
            f"{what} needs the value of `{self.name}`, which is a number of each call and unknown while the "
            "function is recorded. Use xp.where instead of if, or make the argument part of the signature: "
            f"@sinter.jit(static_argnames=({self.name!r},))"
        )

    def __bool__(self) -> bool:
        raise self._unknown("if, while, and, or, not")

    def __int__(self) -> int:
        raise self._unknown("int()")

    def __index__(self) -> int:
        raise self._unknown("range, a shape or an index")

    def __float__(self) -> float:
        raise self._unknown("float()")

    def __repr__(self) -> str:
        return f"Scalar({self.name!r}, {self.kind})"

    __hash__ = object.__hash__


def wider_kind(*kinds: str) -> str:
    order = ("bool", "int", "float")
    return order[max(order.index(kind) for kind in kinds)]


def weak(tensor: sinter.Tensor, kind: str, name: str = "a computed number") -> Scalar | sinter.Tensor:
    """A Scalar of the result of arithmetic between numbers. Truth values stay Tensors."""
    return tensor if tensor.dtype == sinter.boolean else Scalar(kind, name, base=tensor)


def kind_of(value: Any) -> str | None:
    """The kind of a Scalar or Python number; None for other objects."""
    if type(value) is Scalar:
        return value.kind
    for python_type, kind in _KIND_OF_TYPE.items():
        if isinstance(value, python_type):
            return kind
    return None


def _tensor_beside(scalar: Scalar, other: Any) -> sinter.Tensor | None:
    """`other` as a Tensor of the graph, if it is one or an array from outside."""
    if isinstance(other, sinter.Tensor):
        return other
    from sinter.array_api import _operands

    return _operands.tensor_of_array(other)


def binary(record: Callable[[Any, Any], sinter.Tensor], a: Any, b: Any, true_quotient: bool = False) -> Any:
    """The result of `record` on two numbers of which at least one is a Scalar."""
    kinds = (kind_of(a), kind_of(b))
    kind = "float" if true_quotient else wider_kind(*[k for k in kinds if k])
    dtype = sinter.f64 if kind == "float" else sinter.i64
    operands = [x.at(dtype) if type(x) is Scalar else x for x in (a, b)]
    return weak(record(*operands), kind)


def _operator(name: str, record: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Scalar, Any], Any]:
    true_quotient = name == "truediv"

    def method(self: Scalar, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        if kind_of(other) is not None:
            return binary(record, *pair, true_quotient=true_quotient)
        tensor = _tensor_beside(self, other)
        if tensor is None:
            return NotImplemented
        here = self.at(self.dtype_beside(tensor.dtype))
        return record(tensor, here) if reflected else record(here, tensor)

    return method


def _unary(name: str, record: Callable[[Any], Any]) -> Callable[[Scalar], Any]:
    def method(self: Scalar) -> Any:
        return weak(record(self.wide()), self.kind)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _record = getattr(operator, _name + "_" if _name in ("and", "or") else _name)
    setattr(Scalar, f"__{_name}__", _operator(_name, _record, reflected=False))
    setattr(Scalar, f"__r{_name}__", _operator(_name, _record, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Scalar, f"__{_name}__", _operator(_name, getattr(operator, _name), reflected=False))
for _name in ("neg", "abs", "invert"):
    setattr(Scalar, f"__{_name}__", _unary(_name, getattr(operator, _name)))
