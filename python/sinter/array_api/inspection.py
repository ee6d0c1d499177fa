"""The array API standard's inspection of this namespace."""

from __future__ import annotations

from typing import Any

import sinter

from . import data_types


class NamespaceInfo:
    """Answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """Shapes do not depend on values, so there are no boolean masks as indices."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 16}

    def default_device(self) -> None:
        """None: the arrays of a call decide where it runs."""
        return None

    def devices(self) -> list[Any]:
        return list(sinter.devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, sinter.DType]:
        """The dtypes of functions that get none."""
        return {"real floating": sinter.f32, "integral": sinter.i64, "indexing": sinter.i64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, sinter.DType]:
        """The dtypes by their names in the standard, of all kinds or of some."""
        names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
        found = {name: getattr(data_types, name) for name in names}
        return found if kind is None else {n: d for n, d in found.items() if data_types.isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """Capabilities, devices and dtypes of this namespace."""
    return NamespaceInfo()
