"""Products and sums with one rounding."""

from __future__ import annotations

from typing import Any

import sinter

from ...registry import lowering


@lowering("prims.fma.default")
def fma(region: Any, node: Any, a: Any, b: Any, c: Any) -> sinter.Tensor:
    return sinter.fma(a, b, c)
