"""Random numbers. They follow the distributions of PyTorch's functions, but not its sequences.

Each node has its own offset (`region.seed`), and PyTorch's generator gives a new seed for each run.
"""

from __future__ import annotations

import math
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import cast, result_shape, widen

aten = torch.ops.aten


def _uniform(region: Any, node: Any, dtype: torch.dtype | None = None) -> sinter.Tensor:
    target = sinter.dtype(dtype or node.meta["val"].dtype)
    seed, offset = region.seed(node)
    return sinter.random_uniform(seed, result_shape(region, node), target, offset)


def _normal(region: Any, node: Any) -> sinter.Tensor:
    target = sinter.dtype(node.meta["val"].dtype)
    seed, offset = region.seed(node)
    return sinter.random_normal(seed, result_shape(region, node), target, offset)


@lowering(aten.rand.default, aten.rand_like.default)
def rand(region: Any, node: Any, *arguments: Any, **options: Any) -> sinter.Tensor:
    return _uniform(region, node)


@lowering(aten.randn.default, aten.randn_like.default)
def randn(region: Any, node: Any, *arguments: Any, **options: Any) -> sinter.Tensor:
    return _normal(region, node)


def _has_no_generator(node: torch.fx.Node) -> str | None:
    return "has a generator of its own" if node.kwargs.get("generator") is not None else None


@lowering(aten.uniform.default, supports=_has_no_generator)
def uniform(region: Any, node: Any, x: sinter.Tensor, low: float = 0, high: float = 1, *,
            generator: Any = None) -> sinter.Tensor:
    drawn = widen(_uniform(region, node))
    return sinter.add(sinter.mul(drawn, float(high - low)), float(low))


@lowering(aten.normal_functional.default, supports=_has_no_generator)
def normal(region: Any, node: Any, x: sinter.Tensor, mean: float = 0, deviation: float = 1, *,
           generator: Any = None) -> sinter.Tensor:
    drawn = widen(_normal(region, node))
    return sinter.add(sinter.mul(drawn, float(deviation)), float(mean))


@lowering(aten.exponential.default, supports=_has_no_generator)
def exponential(region: Any, node: Any, x: sinter.Tensor, rate: float = 1, *,
                generator: Any = None) -> sinter.Tensor:
    drawn = widen(_uniform(region, node))
    return sinter.div(sinter.neg(sinter.log1p(sinter.neg(drawn))), float(rate))


@lowering(aten.log_normal.default, supports=_has_no_generator)
def log_normal(region: Any, node: Any, x: sinter.Tensor, mean: float = 1, deviation: float = 2, *,
               generator: Any = None) -> sinter.Tensor:
    return sinter.exp(normal(region, node, x, mean, deviation))


@lowering(aten.cauchy.default, supports=_has_no_generator)
def cauchy(region: Any, node: Any, x: sinter.Tensor, median: float = 0, scale: float = 1, *,
           generator: Any = None) -> sinter.Tensor:
    angle = sinter.mul(sinter.sub(widen(_uniform(region, node)), 0.5), math.pi)
    return sinter.add(sinter.mul(sinter.tan(angle), float(scale)), float(median))


@lowering(aten.geometric.default, supports=_has_no_generator)
def geometric(region: Any, node: Any, x: sinter.Tensor, probability: float, *,
              generator: Any = None) -> sinter.Tensor:
    """The number of the first success of trials with the given probability."""
    drawn = _uniform(region, node, torch.float32)
    trials = sinter.div(sinter.log1p(sinter.neg(drawn)), math.log1p(-probability))
    return sinter.maximum(sinter.ceil(trials), 1.0)


@lowering(aten.normal.Tensor_float, aten.normal.float_Tensor, aten.normal.Tensor_Tensor,
          supports=_has_no_generator)
def normal_of(region: Any, node: Any, mean: Any, deviation: Any = 1.0, *, generator: Any = None
              ) -> sinter.Tensor:
    scaled = sinter.mul(widen(_normal(region, node)), widen(deviation))
    return sinter.add(scaled, widen(mean))


@lowering(aten.bernoulli.p, supports=_has_no_generator)
def bernoulli(region: Any, node: Any, x: sinter.Tensor, probability: float = 0.5, *,
              generator: Any = None) -> sinter.Tensor:
    seed, offset = region.seed(node)
    return sinter.random_bernoulli(seed, result_shape(region, node), float(probability), offset)


@lowering(aten.bernoulli.default, supports=_has_no_generator)
def bernoulli_of(region: Any, node: Any, x: sinter.Tensor, *, generator: Any = None
                 ) -> sinter.Tensor:
    return sinter.lt(_uniform(region, node, torch.float32), widen(x))


@lowering(aten.native_dropout.default)
def native_dropout(region: Any, node: Any, x: sinter.Tensor, probability: float,
                   train: bool | None) -> tuple[sinter.Tensor, sinter.Tensor]:
    """(y, mask): the elements that the mask keeps are divided by 1 - probability."""
    shape = list(x.shape)
    if not train or probability == 0:
        return x, sinter.full(region.graph, shape, True, sinter.boolean)
    if probability == 1:
        zero = sinter.mul(x, 0.0)
        return zero, sinter.full(region.graph, shape, False, sinter.boolean)
    seed, offset = region.seed(node)
    mask = sinter.random_bernoulli(seed, shape, 1.0 - probability, offset)
    scaled = sinter.mul(widen(x), 1.0 / (1.0 - probability))
    return sinter.where(mask, scaled, 0.0), mask


def _has_narrow_range(node: torch.fx.Node) -> str | None:
    low, high = _range_of(node)
    if not (isinstance(low, int) and isinstance(high, int)):
        return "the range depends on a size"
    return "the range has more than 2^32 numbers" if high - low > 1 << 32 else None


def _range_of(node: torch.fx.Node) -> tuple[Any, Any]:
    first = 1 if "randint_like" in str(node.target) else 0
    has_low = "low" in node.target._overloadname
    return (node.args[first], node.args[first + 1]) if has_low else (0, node.args[first])


@lowering(
    aten.randint.default,
    aten.randint.low,
    aten.randint_like.default,
    aten.randint_like.low_dtype,
    supports=_has_narrow_range,
)
def randint(region: Any, node: Any, *arguments: Any, **options: Any) -> sinter.Tensor:
    """Integers in [low, high): 32 random bits modulo the number of integers."""
    low, high = _range_of(node)
    seed, offset = region.seed(node)
    bits = sinter.random_bits(seed, result_shape(region, node), offset)
    drawn = sinter.remainder(cast(bits, torch.int64), high - low)
    return sinter.add(drawn, low)
