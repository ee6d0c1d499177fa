#!/usr/bin/env python3
"""Prints the coefficients of the polynomials in this folder. Needs NumPy and mpmath.

Lawson's iteration finds the minimax polynomial: a least-squares fit whose weights are multiplied by the errors until
all extreme errors are equal. Then the coefficients are rounded to f32 one after another, and the remaining ones are
fitted again. Lawson, "Contributions to the theory of linear least maximum approximation" (1961)."""

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


def expm1_tail(r):
    return mp.mpf(1) / 2 + r / 6 if abs(r) < 1e-12 else (mp.expm1(r) - r) / r**2


def exp2_tail(r):
    return LN2 if abs(r) < 1e-12 else mp.expm1(r * LN2) / r


def log_tail(f):
    return mp.mpf(1) / 3 - f / 4 if abs(f) < 1e-12 else (mp.log1p(f) - f + f * f / 2) / f**3


def of_root(function):
    """A function of the square of its argument."""
    return lambda z: function(mp.sqrt(z))


def scaled_erfc(t):
    """(a + 1/2) e^(a^2) erfc(a) for t = (a - 2) / (a + 2)."""
    a = 2 * (1 + t) / (1 - t)
    return (a + mp.mpf(1) / 2) * mp.exp(a * a) * mp.erfc(a)


def main():
    half = float(LN2 / 2) * 1.0005
    fit("expm1_near_zero", expm1_tail, lambda r: r * r / mp.expm1(r) if r else 0, -half, half, 5)
    fit("exp2f", exp2_tail, lambda r: r / mp.power(2, r), -0.5003, 0.5003, 6)
    fit("exp2_less_one", exp2_tail, lambda r: r / mp.power(2, r), -0.5003, 0.5003, 8, wide=True)
    fit("BinaryLogarithm::tail", log_tail, lambda f: f**3 / mp.log1p(f), 2**-0.5 - 1 - 1e-6, 2**0.5 - 1 + 1e-6, 9)
    s = float((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1))
    wide_log2 = of_root(lambda s: 2 * mp.atanh(s) / LN2 / s)
    fit("wide_log2", wide_log2, lambda z: 1 / wide_log2(z), 1e-9, s * s * 1.001, 6, wide=True)
    fit("erff, small", of_root(lambda x: mp.erf(x) / x - 1), of_root(lambda x: x / mp.erf(x)), 1e-9, 0.92**2 * 1.01, 7)
    fit("erff, large", lambda t: mp.log(mp.erfc(t)), lambda t: mp.erfc(t) / mp.erf(t), 0.915, 3.95, 7)
    atan = of_root(lambda z: mp.atan(z) / z)
    fit("atan_below_one", atan, lambda z: 1 / atan(z), 1e-9, 1.0, 11, wide=True)
    fit("erfcf", scaled_erfc, lambda t: 1 / scaled_erfc(t), -1, 8.2 / 12.2, 10)
    quarter = float((mp.pi / 4) ** 2) * 1.001
    fit("sine", of_root(lambda r: (mp.sin(r) - r) / r**3), of_root(lambda r: r**3 / mp.sin(r)), 1e-6, quarter, 3)
    fit("cosine", of_root(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4), of_root(lambda r: r**4 / mp.cos(r)), 1e-6,
        quarter, 3)


if __name__ == "__main__":
    main()
