#!/usr/bin/env python3
"""Prints the coefficients of the polynomials and ratios in this folder. Needs NumPy and mpmath.

Lawson's iteration finds the minimax polynomial: a least-squares fit whose weights are multiplied by the errors until
all extreme errors are equal. Then the coefficients are rounded to f32 one after another, and the remaining ones are
fitted again. Lawson, "Contributions to the theory of linear least maximum approximation" (1961). A ratio is fitted as
the polynomial above less the function times the polynomial below, with the last polynomial below in the weight."""

import mpmath as mp
import numpy as np

mp.mp.dps = 40
LN2 = mp.log(2)


def fit(name, function, weight, low, high, terms, wide=False):
    """Minimises weight(x) * (function(x) - sum of c_i x^i) on [low, high]. `wide` coefficients are f64."""
    points = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    wanted = np.array([float(function(mp.mpf(x))) for x in points])
    weights = np.array([float(weight(mp.mpf(x))) for x in points])
    powers = points[:, None] ** np.arange(terms)
    coefficients = np.zeros(terms)
    for fixed in range(1 if wide else terms):
        rest = wanted - powers[:, :fixed] @ coefficients[:fixed]
        lawson = np.full(400, 1 / 400)
        for _ in range(400):
            scale = weights * np.sqrt(lawson)
            found = np.linalg.lstsq(powers[:, fixed:] * scale[:, None], rest * scale, rcond=None)[0]
            error = np.abs((rest - powers[:, fixed:] @ found) * weights)
            lawson = lawson * (error + 1e-3 * error.max())
            lawson /= lawson.sum()
        coefficients[fixed:] = found
        if not wide:
            coefficients[fixed] = np.float32(coefficients[fixed])
    worst = np.abs((wanted - powers @ coefficients) * weights).max()
    print(f"{name}: relative error 2^{np.log2(worst):.1f}\n  {', '.join(float(c).hex() for c in coefficients)}")


def fit_ratio(name, function, high, above, below):
    """Minimises the relative error of (1 + sum of a_i x^i) / (1 + sum of b_i x^i) on [0, high]."""
    points = high * ((1 - np.cos(np.pi * (np.arange(600) + 0.5) / 600)) / 2) ** 2
    wanted = np.array([float(function(mp.mpf(x))) for x in points])
    # The columns of a_1, b_1, a_2, b_2 ...: the coefficients are rounded in this order.
    order = sorted([(i, 0) for i in range(1, above + 1)] + [(i, 1) for i in range(1, below + 1)])
    columns = np.array([-wanted * points**i if is_below else points**i for i, is_below in order]).T
    coefficients = np.zeros(len(order))
    lawson = np.full(600, 1 / 600)
    divisor = np.ones(600)

    def side(is_below):
        return np.array([1.0] + [c for c, (_, other) in zip(coefficients, order) if other == is_below])

    for fixed in range(len(order)):
        rest = wanted - 1 - columns[:, :fixed] @ coefficients[:fixed]
        best = None
        for _ in range(300):
            scale = np.sqrt(lawson) / (wanted * divisor)
            scaled = columns[:, fixed:] * scale[:, None]
            sizes = np.abs(scaled).max(axis=0)
            coefficients[fixed:] = np.linalg.lstsq(scaled / sizes, rest * scale, rcond=None)[0] / sizes
            divisor = np.polyval(side(1)[::-1], points)
            error = np.abs(np.polyval(side(0)[::-1], points) / divisor / wanted - 1)
            divisor = np.where(divisor > 0, divisor, 1)
            if best is None or error.max() < best[0]:
                best = error.max(), coefficients.copy(), divisor, lawson
            lawson = lawson * (error + 1e-3 * error.max())
            lawson /= lawson.sum()
        _, coefficients, divisor, lawson = best
        coefficients[fixed] = np.float32(coefficients[fixed])
    worst = np.abs(np.polyval(side(0)[::-1], points) / np.polyval(side(1)[::-1], points) / wanted - 1).max()
    print(f"{name}: relative error 2^{np.log2(worst):.1f}")
    for is_below in 0, 1:
        print(f"  {', '.join(float(c).hex() for c in side(is_below))}")


def expm1_tail(r):
    return mp.mpf(1) / 2 + r / 6 if abs(r) < 1e-12 else (mp.expm1(r) - r) / r**2


def exp2_tail(r):
    return LN2 if abs(r) < 1e-12 else mp.expm1(r * LN2) / r


def fit_logarithm(name, base):
    """(log(1 + f) - f / ln base) / f^2 for 1 + f in [sqrt(1/2), sqrt(2)]."""
    scale = 1 / mp.log(base)

    def tail(f):
        near_zero = -scale / 2 + f * scale / 3 - f * f * scale / 4
        return near_zero if abs(f) < 1e-10 else (mp.log1p(f) - f) * scale / f**2

    fit(name, tail, lambda f: f**2 / mp.log1p(f) / scale, 2**-0.5 - 1 - 1e-6, 2**0.5 - 1 + 1e-6, 9)


def of_root(function):
    """A function of the square of its argument."""
    return lambda z: function(mp.sqrt(z))


def main():
    half = float(LN2 / 2) * 1.0005
    fit("expm1_near_zero", expm1_tail, lambda r: r * r / mp.expm1(r) if r else 0, -half, half, 5)
    fit("exp2f", exp2_tail, lambda r: r / mp.power(2, r), -0.5003, 0.5003, 6)
    fit("exp2_less_one", exp2_tail, lambda r: r / mp.power(2, r), -0.5003, 0.5003, 8, wide=True)
    for name, base in ("natural_tail", mp.e), ("log2f", 2), ("log10f", 10):
        fit_logarithm(name, base)
    s = float((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1))
    wide_log2 = of_root(lambda s: 2 * mp.atanh(s) / LN2 / s)
    fit("wide_log2", wide_log2, lambda z: 1 / wide_log2(z), 1e-9, s * s * 1.001, 6, wide=True)
    fit("erff, small", of_root(lambda x: mp.erf(x) / x - 1), of_root(lambda x: x / mp.erf(x)), 1e-9, 0.92**2 * 1.01, 7)
    fit("erff, large", lambda t: mp.log(mp.erfc(t)), lambda t: mp.erfc(t) / mp.erf(t), 0.915, 3.95, 7)
    atan = of_root(lambda z: mp.atan(z) / z)
    fit("atan_below_one", atan, lambda z: 1 / atan(z), 1e-9, 1.0, 11, wide=True)
    fit("erfcf, e^-r", lambda r: mp.exp(-r), mp.exp, -half, half, 7)
    fit_ratio("erfcf", lambda x: mp.exp(x * x) * mp.erfc(x), 10.06, 4, 5)
    quarter = float((mp.pi / 4) ** 2) * 1.001
    fit("sine", of_root(lambda r: (mp.sin(r) - r) / r**3), of_root(lambda r: r**3 / mp.sin(r)), 1e-6, quarter, 3)
    fit("cosine", of_root(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4), of_root(lambda r: r**4 / mp.cos(r)), 1e-6,
        quarter, 3)


if __name__ == "__main__":
    main()
