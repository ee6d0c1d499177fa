"""Gradients of interpolation. The forward ops are decomposed, and their backward ops record the
forward op again and take its vjp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import is_empty, widen

aten = torch.ops.aten

Taps = list[tuple[sinter.Tensor, Any]]


def _source_scale(size: int, target: int, align: bool, factor: float | None) -> float:
    """The distance of source positions of adjacent results."""
    if align:
        return (size - 1) / (target - 1) if target > 1 else 0.0
    return 1.0 / factor if factor else size / target


def _line(region: Any, target: int, dtype: Any) -> sinter.Tensor:
    return sinter.cast(sinter.iota(region.graph, target), dtype)


def _linear(region: Any, size: int, target: int, align: bool, factor: float | None, dtype: Any
            ) -> Taps:
    scale = _source_scale(size, target, align, factor)
    line = _line(region, target, dtype)
    source = sinter.mul(line, scale)
    if not align:
        source = sinter.maximum(sinter.sub(sinter.mul(sinter.add(line, 0.5), scale), 0.5), 0.0)
    low = sinter.floor(source)
    weight = sinter.sub(source, low)
    first = sinter.minimum(sinter.cast(low, sinter.i64), size - 1)
    second = sinter.minimum(sinter.add(first, 1), size - 1)
    return [(first, sinter.sub(1.0, weight)), (second, weight)]


_CUBIC = -0.75


def _cubic_near(t: sinter.Tensor) -> sinter.Tensor:
    inner = sinter.sub(sinter.mul(t, _CUBIC + 2.0), _CUBIC + 3.0)
    return sinter.add(sinter.mul(sinter.mul(inner, t), t), 1.0)


def _cubic_far(t: sinter.Tensor) -> sinter.Tensor:
    inner = sinter.add(sinter.mul(sinter.sub(sinter.mul(t, _CUBIC), 5.0 * _CUBIC), t), 8.0 * _CUBIC)
    return sinter.sub(sinter.mul(inner, t), 4.0 * _CUBIC)


def _cubic(region: Any, size: int, target: int, align: bool, factor: float | None, dtype: Any
           ) -> Taps:
    scale = _source_scale(size, target, align, factor)
    line = _line(region, target, dtype)
    source = sinter.mul(line, scale)
    if not align:
        source = sinter.sub(sinter.mul(sinter.add(line, 0.5), scale), 0.5)
    low = sinter.floor(source)
    t = sinter.sub(source, low)
    rest = sinter.sub(1.0, t)
    weights = [
        _cubic_far(sinter.add(t, 1.0)),
        _cubic_near(t),
        _cubic_near(rest),
        _cubic_far(sinter.add(rest, 1.0)),
    ]
    first = sinter.cast(low, sinter.i64)

    def clamped(offset: int) -> sinter.Tensor:
        return sinter.maximum(sinter.minimum(sinter.add(first, offset), size - 1), 0)

    return [(clamped(at - 1), weight) for at, weight in enumerate(weights)]


def _nearest(shift: float) -> Callable[..., Taps]:
    def taps(region: Any, size: int, target: int, align: bool, factor: float | None, dtype: Any
             ) -> Taps:
        scale = _source_scale(size, target, False, factor)
        source = sinter.mul(sinter.add(_line(region, target, sinter.f32), shift), scale)
        index = sinter.cast(sinter.floor(source), sinter.i64)
        return [(sinter.minimum(index, size - 1), None)]

    return taps


def resample(x: sinter.Tensor, axis: int, taps: Taps) -> sinter.Tensor:
    """The weighted sum of the elements at the taps of each position along `axis`."""
    result = None
    for index, weight in taps:
        part = sinter.take(x, index, axis)
        if weight is not None:
            shape = [1] * x.rank
            shape[axis] = weight.shape[0]
            part = sinter.mul(part, sinter.reshape(weight, shape))
        result = part if result is None else sinter.add(result, part)
    assert result is not None
    return result


def _has_known_sizes(node: torch.fx.Node) -> str | None:
    sizes = [*node.args[1], *node.args[2][2:]]
    if is_empty(node.args[0].meta["val"]):
        return "resamples an empty tensor"
    if any(not isinstance(size, int) for size in sizes):
        return "a resampled axis has a size that is not known"
    return None


def _register(overload: Any, taps_of: Callable[..., Taps], count: int, has_align: bool) -> None:
    @lowering(overload, supports=_has_known_sizes)
    def backward(region: Any, node: Any, g: sinter.Tensor, targets: Sequence[int],
                 sizes: Sequence[int], *options: Any) -> sinter.Tensor:
        align = bool(options[0]) if has_align else False
        factors = list(options[1:] if has_align else options)
        factors += [None] * (count - len(factors))
        g = widen(g)
        x = sinter.full(region.graph, list(sizes), 0.0, g.dtype)
        y = x
        for at in range(count):
            taps = taps_of(region, sizes[2 + at], targets[at], align, factors[at], g.dtype)
            y = resample(y, 2 + at, taps)
        return sinter.gradient(y, [x], g)[0]


_register(aten.upsample_linear1d_backward.default, _linear, 1, True)
_register(aten.upsample_bilinear2d_backward.default, _linear, 2, True)
_register(aten.upsample_trilinear3d_backward.default, _linear, 3, True)
_register(aten.upsample_bicubic2d_backward.default, _cubic, 2, True)
_register(aten.upsample_nearest1d_backward.default, _nearest(0.0), 1, False)
_register(aten.upsample_nearest2d_backward.default, _nearest(0.0), 2, False)
_register(aten.upsample_nearest3d_backward.default, _nearest(0.0), 3, False)
_register(aten._upsample_nearest_exact1d_backward.default, _nearest(0.5), 1, False)
_register(aten._upsample_nearest_exact2d_backward.default, _nearest(0.5), 2, False)
_register(aten._upsample_nearest_exact3d_backward.default, _nearest(0.5), 3, False)
