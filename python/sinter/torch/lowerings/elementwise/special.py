"""Special functions with loops, as custom ops that compute in f64."""

from __future__ import annotations

import math
from typing import Any

import torch

import sinter

from ...registry import lowering
from ..operands import floating, is_tensor

aten = torch.ops.aten

# Euler-Maclaurin summation: 10 terms, the integral, and 12 Bernoulli terms.
_ZETA = """double hurwitz_zeta(double x, double q) {
  const double zero = 0.0;
  const double nan = zero / zero;
  const double infinity = 1.0 / zero;
  if (x == 1.0) return infinity;
  if (x < 1.0) return nan;
  if (q <= 0.0) {
    if (q == floor(q)) return infinity;
    if (x != floor(x)) return nan;
  }
  const double factors[12] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0,
      -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
      1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17,
      -7.1661652561756670113e18};
  double sum = pow(q, -x);
  double a = q;
  double term = 0.0;
  for (int i = 0; i < 9 || a <= 9.0; ++i) {
    a += 1.0;
    term = pow(a, -x);
    sum += term;
    if (fabs(term) < 1.1e-16 * fabs(sum)) return sum;
  }
  const double last = a;
  sum += term * last / (x - 1.0);
  sum -= 0.5 * term;
  double factor = 1.0;
  double k = 0.0;
  for (int i = 0; i < 12; ++i) {
    factor *= x + k;
    term /= last;
    const double part = factor * term / factors[i];
    sum += part;
    if (fabs(part / sum) < 1.1e-16) return sum;
    k += 1.0;
    factor *= x + k;
    term /= last;
    k += 1.0;
  }
  return sum;
}"""


def _wide(x: Any) -> Any:
    return sinter.cast(x, sinter.f64) if is_tensor(x) else float(x)


def zeta(x: Any, q: Any) -> sinter.Tensor:
    """Σ (k + q)^−x over k >= 0, in f64."""
    return sinter.custom_op("hurwitz_zeta", _ZETA, [_wide(x), _wide(q)])


@lowering(
    aten.special_zeta.default,
    aten.special_zeta.self_scalar,
    aten.special_zeta.other_scalar,
)
def special_zeta(region: Any, node: Any, x: Any, q: Any) -> sinter.Tensor:
    return zeta(x, q)


@lowering(aten.polygamma.default)
def polygamma(region: Any, node: Any, order: int, x: sinter.Tensor) -> sinter.Tensor:
    """The derivative of digamma of an order of at least 0."""
    if order == 0:
        return sinter.digamma(floating(x))
    if order == 1:
        return sinter.trigamma(floating(x))
    sign = 1.0 if order % 2 else -1.0
    return sinter.mul(zeta(float(order + 1), x), sign * math.gamma(order + 1.0))


# Orthogonal polynomials by their recurrences: the terms 0 and 1, and term k + 1 from a and b, the
# terms k and k - 1.
_POLYNOMIALS = {
    "chebyshev_polynomial_t": ("x", "2.0 * x * a - b"),
    "chebyshev_polynomial_u": ("2.0 * x", "2.0 * x * a - b"),
    "chebyshev_polynomial_v": ("2.0 * x - 1.0", "2.0 * x * a - b"),
    "chebyshev_polynomial_w": ("2.0 * x + 1.0", "2.0 * x * a - b"),
    "hermite_polynomial_h": ("2.0 * x", "2.0 * x * a - 2.0 * k * b"),
    "hermite_polynomial_he": ("x", "x * a - k * b"),
    "laguerre_polynomial_l": ("1.0 - x", "((2.0 * k + 1.0 - x) * a - k * b) / (k + 1.0)"),
    "legendre_polynomial_p": ("x", "((2.0 * k + 1.0) * x * a - k * b) / (k + 1.0)"),
}
_SHIFTED = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
            "chebyshev_polynomial_w")


def _source(name: str, argument: str, first: str, next_term: str) -> str:
    return f"""double {name}(double given, double degree) {{
  const double x = {argument};
  const long long n = (long long)degree;
  if (n < 0) return 0.0;
  if (n == 0) return 1.0;
  double b = 1.0;
  double a = {first};
  for (long long i = 1; i < n; ++i) {{
    const double k = (double)i;
    const double next = {next_term};
    b = a;
    a = next;
  }}
  return a;
}}"""


def _register_polynomial(name: str, source: str) -> None:
    packet = getattr(aten, f"special_{name}")

    @lowering(packet.default, packet.x_scalar, packet.n_scalar)
    def polynomial(region: Any, node: Any, x: Any, degree: Any) -> sinter.Tensor:
        return sinter.custom_op(name, source, [_wide(x), _wide(degree)])


for _name, (_term, _next) in _POLYNOMIALS.items():
    _register_polynomial(_name, _source(_name, "given", _term, _next))
for _name in _SHIFTED:
    _term, _next = _POLYNOMIALS[_name]
    _long = f"shifted_{_name}"
    _register_polynomial(_long, _source(_long, "2.0 * given - 1.0", _term, _next))
