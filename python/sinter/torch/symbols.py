"""Sizes of torch's shape environment as extents of a sinter Graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import CleanDiv, FloorDiv
from torch.utils._sympy.printers import PythonPrinter

Size = Any  # int or sympy.Expr
_print_python = PythonPrinter().doprint


def size_of(value: Any) -> Size:
    """An int, or the sympy expression of a SymInt. It adds no guard."""
    if isinstance(value, torch.SymInt):
        expression = value.node.expr
        return int(expression) if expression.is_number else expression
    return int(value)


def hint_of(value: Any, unknown: int = 64) -> int:
    """The size that a SymInt had when it was traced; `unknown` for unbacked ones."""
    if isinstance(value, torch.SymInt):
        if value.node.has_hint():
            return int(value.node.hint)
        return unknown
    return int(value)


def hint_of_expression(size: Any, shape_env: Any) -> int:
    """The value that an expression had when it was traced; 64 for unbacked symbols."""
    known = shape_env.backed_var_to_val if shape_env is not None else {}
    value = size.xreplace(known)
    return int(value) if value.is_number else 64


def element_count(value: torch.Tensor) -> int:
    """The number of elements of a fake tensor, at the sizes of the trace."""
    count = 1
    for size in value.shape:
        count *= hint_of(size)
    return count


def python_text(size: Size) -> str:
    """The Python expression that computes a size from variables with the names of its symbols."""
    return str(size) if isinstance(size, int) else f"int({_print_python(size)})"


def symbols_in(sizes: Iterable[Size]) -> set[sympy.Symbol]:
    """The free symbols of sizes."""
    found: set[sympy.Symbol] = set()
    for size in sizes:
        if not isinstance(size, int):
            found |= size.free_symbols
    return found


def _is_polynomial(size: Any) -> bool:
    """True if sinter can express it: sums, products and floored quotients by positive numbers."""
    if size.is_Integer or size.is_Symbol:
        return True
    if isinstance(size, (FloorDiv, CleanDiv)):
        return bool(_is_polynomial(size.args[0]) and size.args[1].is_Integer and size.args[1] > 0)
    if size.is_Pow:
        return bool(size.exp.is_Integer and size.exp > 0 and _is_polynomial(size.base))
    if size.is_Add or size.is_Mul:
        return all(_is_polynomial(part) for part in size.args)
    return False


class Extents:
    """The extents of one Graph. A part of an expression that sinter cannot express becomes a symbol
    of its own."""

    def __init__(self, make_extent: Callable[[str], Any]) -> None:
        self._make_extent = make_extent
        self._atoms: dict[Any, Any] = {}
        self._known: set[Any] = set()  # atoms that an input gives

    def extent(self, size: Size) -> Any:
        """An int, or the sinter Extent of a sympy expression."""
        if isinstance(size, int):
            return size
        if size.is_Integer:
            return int(size)
        if size.is_Add:
            return _fold(lambda a, b: a + b, [self.extent(part) for part in size.args])
        if size.is_Mul and all(_is_polynomial(part) for part in size.args):
            return _fold(lambda a, b: a * b, [self.extent(part) for part in size.args])
        if size.is_Pow and _is_polynomial(size):
            return _fold(lambda a, b: a * b, [self.extent(size.base)] * int(size.exp))
        if isinstance(size, (FloorDiv, CleanDiv)) and _is_polynomial(size):
            return self.extent(size.args[0]) // int(size.args[1])
        return self._atom(size)

    def _atom(self, size: Any) -> Any:
        if size not in self._atoms:
            name = str(size) if size.is_Symbol else f"size{len(self._atoms)}"
            self._atoms[size] = self._make_extent(name)
        return self._atoms[size]

    def give(self, size: Size) -> None:
        """Notes that an input has an axis of this size, from which sinter solves its symbol."""
        if isinstance(size, int):
            return
        unknown = self._atoms_of(size) - self._known
        if len(unknown) == 1 and _is_linear(size, next(iter(unknown))):
            self._known |= unknown

    def atoms(self) -> dict[Any, Any]:
        """The symbols of the Graph: extents by their expressions."""
        return dict(self._atoms)

    def missing(self) -> list[Any]:
        """The atoms that no input gives: symbols, or whole expressions."""
        return [atom for atom in self._atoms if atom not in self._known]

    def _atoms_of(self, size: Any) -> set[Any]:
        if size in self._atoms:
            return {size}
        found: set[Any] = set()
        for part in size.args:
            found |= self._atoms_of(part)
        return found


def _fold(combine: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    result = items[0]
    for item in items[1:]:
        result = combine(result, item)
    return result


def _is_linear(size: Any, atom: Any) -> bool:
    if size == atom:
        return True
    try:
        return sympy.Poly(size, atom).degree() == 1 if atom.is_Symbol else False
    except sympy.PolynomialError:
        return False
