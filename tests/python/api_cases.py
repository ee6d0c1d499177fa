"""Runs many cases of the array API in one jitted function, and the same cases with NumPy.

A case is a function of a namespace and arrays: `lambda xp, x: xp.sum(x, axis=0)`. One function with all
cases of a family is compiled once, so that compilers take little of the time of the tests. Each case is
still a test of its own: a case that raises fails alone.
"""

import functools

import numpy as np

import sinter
import sinter.array_api as sxp

OPTIONS = {"optimize_host": False, "tune": "off"}


def jit(function=None, **settings):
    """sinter.jit with options for short tests."""
    return sinter.jit(function, **OPTIONS, **settings)


def floats(*shape):
    """Random numbers that depend on the shape only."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class Family:
    """Cases over the same arrays."""

    def __init__(self, name, cases, arrays):
        self.name = name
        self.cases = cases
        self.arrays = arrays

    @functools.cached_property
    def results(self):
        """The result of each case, or the exception that it raised while it was recorded."""
        errors = {}

        def evaluate(arrays):
            found = {}
            for name, case in self.cases.items():
                try:
                    found[name] = case(sxp, *arrays)
                except Exception as error:  # noqa: BLE001: the test of the case raises it again
                    errors[name] = error
            return found

        evaluate.__name__ = self.name
        return {**sinter.jit(evaluate, **OPTIONS)(self.arrays), **errors}

    def result(self, name):
        found = self.results[name]
        if isinstance(found, Exception):
            raise found
        return found

    def expected(self, name):
        with np.errstate(all="ignore"):
            return self.cases[name](np, *self.arrays)


def same_kind(result, expected):
    """Compares structures, dtypes and shapes; returns pairs of arrays."""
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        return [pair for r, e in zip(result, expected) for pair in same_kind(r, e)]
    expected = np.asarray(expected)
    assert isinstance(result, np.ndarray), type(result)
    assert result.dtype == expected.dtype, f"dtype {result.dtype}, not {expected.dtype}"
    assert result.shape == expected.shape, f"shape {result.shape}, not {expected.shape}"
    return [(result, expected)]


def assert_close(result, expected, ulps=4, scale=None, zeros=True):
    """Equal up to `ulps` units in the last place of the expected values, or of `scale` if it is larger.

    NaN equals NaN, infinities must agree, and so must signs of zeros if `zeros`.
    """
    result, expected = np.asarray(result), np.asarray(expected)
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(result, expected)
        return
    kind = np.float64 if expected.dtype.itemsize < 8 else np.longdouble
    eps = float(2.0 ** -7) if expected.dtype.name == "bfloat16" else float(np.finfo(expected.dtype).eps)
    tiny = float(2.0 ** -133) if expected.dtype.name == "bfloat16" else float(np.finfo(expected.dtype).smallest_subnormal)
    r, e = result.astype(kind), expected.astype(kind)
    np.testing.assert_array_equal(np.isnan(r), np.isnan(e))
    infinite = np.isinf(e) | np.isinf(r)
    # One of two neighbours of the largest number may be infinite.
    exact = np.where(infinite & ~np.isnan(e), r == e, True)
    assert exact.all(), f"infinities differ: {result[~exact]} and {expected[~exact]}"
    with np.errstate(all="ignore"):
        bound = ulps * np.maximum(np.maximum(np.abs(e), 0 if scale is None else scale) * eps, tiny)
        wrong = ~(np.abs(r - e) <= bound) & ~np.isnan(e) & ~infinite
    assert not wrong.any(), f"differ: {result[wrong][:5]} and {expected[wrong][:5]}"
    both = (e == 0) & (r == 0) & zeros
    np.testing.assert_array_equal(np.signbit(r[both]), np.signbit(e[both]), "signs of zeros")
