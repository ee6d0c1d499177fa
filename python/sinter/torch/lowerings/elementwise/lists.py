"""`_foreach` ops: one lowering for each element of a list of Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import sinter

from ...registry import lowering
from . import arithmetic, unary
from ..operands import cast, promote, torch_dtype

aten = torch.ops.aten


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _register(scalar_lowering: Callable[..., Any], overloads: list[Any]) -> None:
    @lowering(*overloads)
    def each(region: Any, node: Any, values: Any, *arguments: Any, **options: Any
             ) -> list[sinter.Tensor]:
        """Lists give one item per Tensor. Numbers and Tensors count for all of them."""
        results = []
        for at, value in enumerate(values):
            own = [item[at] if _is_list(item) else item for item in arguments]
            result = scalar_lowering(region, node, value, *own, **options)
            results.append(cast(result, torch_dtype(value)))
        return results


def _unary(op: Any, name: str) -> None:
    def apply(region: Any, node: Any, x: sinter.Tensor) -> sinter.Tensor:
        return op(*promote(x))

    _register(apply, [getattr(aten, name).default])


def _with_value(lowered: Callable[..., Any]) -> Callable[..., Any]:
    """addcmul and addcdiv take their factor as the last argument."""

    def apply(region: Any, node: Any, x: Any, a: Any, b: Any, value: Any = 1) -> sinter.Tensor:
        return lowered(region, node, x, a, b, value=value)

    return apply


def _overloads(name: str, *wanted: str) -> list[Any]:
    packet = getattr(aten, name)
    return [getattr(packet, overload) for overload in wanted if overload in packet.overloads()]


_BINARY = ("List", "Scalar", "ScalarList", "Tensor")
_register(arithmetic.add, _overloads("_foreach_add", *_BINARY))
_register(arithmetic.sub, _overloads("_foreach_sub", *_BINARY))
_register(arithmetic.mul, _overloads("_foreach_mul", *_BINARY))
_register(arithmetic.div, _overloads("_foreach_div", *_BINARY))
_register(arithmetic.clamp_min, _overloads("_foreach_maximum", *_BINARY))
_register(arithmetic.clamp_max, _overloads("_foreach_minimum", *_BINARY))
_register(arithmetic.clamp_min, _overloads("_foreach_clamp_min", *_BINARY))
_register(arithmetic.clamp_max, _overloads("_foreach_clamp_max", *_BINARY))
_register(arithmetic.power, _overloads("_foreach_pow", "List", "Scalar", "ScalarList"))
_register(arithmetic.lerp, _overloads("_foreach_lerp", "List", "Scalar", "ScalarList"))
_TERNARY = ("Scalar", "ScalarList", "Tensor")
_register(_with_value(arithmetic.addcmul), _overloads("_foreach_addcmul", *_TERNARY))
_register(_with_value(arithmetic.addcdiv), _overloads("_foreach_addcdiv", *_TERNARY))
_register(arithmetic.reciprocal, [aten._foreach_reciprocal.default])
_register(unary.sign, [aten._foreach_sign.default])

for _op, _name in {
    sinter.neg: "_foreach_neg",
    sinter.abs: "_foreach_abs",
    sinter.sqrt: "_foreach_sqrt",
    sinter.exp: "_foreach_exp",
    sinter.log: "_foreach_log",
    sinter.rsqrt: "_foreach_rsqrt",
}.items():
    _unary(_op, _name)


@lowering(aten._foreach_copy.default)
def foreach_copy(region: Any, node: Any, values: Any, sources: Any, non_blocking: bool = False
                 ) -> list[sinter.Tensor]:
    return [
        sinter.broadcast_to(sinter.cast(source, x.dtype), list(x.shape))
        for x, source in zip(values, sources)
    ]
