"""Functions of integers with loops, as custom ops: powers, and greatest common divisors."""

from __future__ import annotations

from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import cast, is_tensor, promote

aten = torch.ops.aten

_POWER = """long long integer_power(long long base, long long exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  unsigned long long result = 1;
  unsigned long long factor = (unsigned long long)base;
  while (exponent > 0) {
    if (exponent % 2 == 1) result *= factor;
    factor *= factor;
    exponent /= 2;
  }
  return (long long)result;
}"""

_GCD = """long long greatest_common_divisor(long long a, long long b) {
  unsigned long long x = a < 0 ? 0ull - (unsigned long long)a : (unsigned long long)a;
  unsigned long long y = b < 0 ? 0ull - (unsigned long long)b : (unsigned long long)b;
  while (y != 0) {
    unsigned long long rest = x % y;
    x = y;
    y = rest;
  }
  return (long long)x;
}"""


def _wide(x: Any) -> Any:
    return cast(x, torch.int64) if is_tensor(x) else int(x)


def _unrolled_power(x: sinter.Tensor, exponent: int) -> sinter.Tensor:
    """x to a power of at least 1, by repeated squaring."""
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else sinter.mul(result, x)
        exponent >>= 1
        if exponent:
            x = sinter.mul(x, x)
    assert result is not None
    return result


def integer_power(a: Any, b: Any) -> sinter.Tensor:
    """a to the power b. Products wrap; a negative power is that of 1 or -1, else 0."""
    if not is_tensor(b) and 0 < b <= 64:
        return _unrolled_power(a, b)
    return sinter.custom_op("integer_power", _POWER, [_wide(a), _wide(b)])


@lowering(aten.gcd.default)
def gcd(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    return sinter.custom_op("greatest_common_divisor", _GCD, [_wide(a), _wide(b)])


@lowering(aten.lcm.default)
def lcm(region: Any, node: Any, a: Any, b: Any) -> sinter.Tensor:
    """|a / gcd(a, b) · b|, and 0 where both are 0."""
    a, b = promote(a, b)
    divisor = gcd(region, node, a, b)
    wide_a, wide_b = _wide(a), _wide(b)
    quotient = sinter.floordiv(wide_a, divisor)
    return sinter.abs(sinter.mul(quotient, wide_b))
