"""Elementwise functions of sinter.array_api: values, special cases and result dtypes are those of NumPy."""

import ml_dtypes
import numpy as np
import pytest

import sinter
from api_cases import Family, assert_close, same_kind

FLOATS = [np.dtype(t) for t in ("float32", "float64", "float16")] + [np.dtype(ml_dtypes.bfloat16)]
SIGNED = [np.dtype(t) for t in ("int8", "int16", "int32", "int64")]
UNSIGNED = [np.dtype(t) for t in ("uint8", "uint16", "uint32", "uint64")]
BOOL = np.dtype("bool")

FLOAT_UNARY = """acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan
tanh""".split()
NUMBER_UNARY = "abs ceil floor negative positive round sign square trunc isfinite isinf isnan conj real".split()
FLOAT_BINARY = "atan2 copysign divide hypot logaddexp nextafter".split()
NUMBER_BINARY = """add subtract multiply floor_divide remainder maximum minimum equal not_equal less less_equal greater
greater_equal pow""".split()
INTEGER_BINARY = "bitwise_and bitwise_or bitwise_xor".split()
SHIFTS = "bitwise_left_shift bitwise_right_shift".split()

# Units in the last place that a result may differ from NumPy's, which has errors of its own.
ULPS = {"pow": 16, "tan": 8, "cosh": 8, "sinh": 8, "acosh": 8, "asinh": 8, "atanh": 8, "logaddexp": 8}
# Functions for which the standard leaves open whether a result of zero is +0 or -0.
ANY_ZERO = ("sign", "maximum", "minimum")


def special_values(dtype):
    """Values at which the standard lists special cases, and ordinary ones."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype in SIGNED or dtype in UNSIGNED:
        limits = np.iinfo(dtype)
        values = [limits.min, limits.min + 1, -7, -3, -2, -1, 0, 1, 2, 3, 5, 63, limits.max - 1, limits.max]
        return np.array([v for v in values if limits.min <= v <= limits.max], dtype)
    large = 1e4 if dtype.itemsize == 2 else 1e30
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, -3.0, 0.25, -0.75,
              7.25, -7.25, 1e-4, large, -large]
    return np.array(values).astype(dtype)


def unary_case(name):
    return lambda xp, x, a, b: getattr(xp, name)(x)


def binary_case(name):
    return lambda xp, x, a, b: getattr(xp, name)(a, b)


def names_for(dtype):
    if dtype == BOOL:
        return ["logical_not", "bitwise_invert"], ["logical_and", "logical_or", "logical_xor", "equal", "not_equal", *INTEGER_BINARY]
    if dtype in FLOATS:
        binary = [n for n in FLOAT_BINARY if n != "nextafter" or dtype.itemsize > 2]
        return [*FLOAT_UNARY, *NUMBER_UNARY, "signbit"], [*binary, *NUMBER_BINARY]
    return [*NUMBER_UNARY, "bitwise_invert"], [*NUMBER_BINARY, *INTEGER_BINARY, *SHIFTS]


def family_of(dtype):
    values = special_values(dtype)
    a, b = (x.reshape(-1) for x in np.meshgrid(values, values, indexing="ij"))
    unary, binary = names_for(dtype)
    cases = {n: unary_case(n) for n in unary} | {n: binary_case(n) for n in binary}
    return Family(f"elementwise_{dtype.name}", cases, (values, a.copy(), b.copy()))


DTYPES = [*FLOATS, *SIGNED, *UNSIGNED, BOOL]
FAMILIES = {dtype.name: family_of(dtype) for dtype in DTYPES}
ALL = [(dtype.name, name) for dtype in DTYPES for names in names_for(dtype) for name in names]


def in_doubles(family, name):
    """NumPy's result in float64, rounded once. NumPy's own functions of narrow floats round several times."""
    dtype = family.arrays[0].dtype
    wide = Family(family.name, family.cases, tuple(x.astype(np.float64) for x in family.arrays))
    expected = wide.expected(name)
    with np.errstate(all="ignore"):
        return expected if expected.dtype == BOOL else expected.astype(dtype)


@pytest.mark.parametrize("dtype, name", ALL)
def test_gives_numpys_values(dtype, name):
    family = FAMILIES[dtype]
    x, a, b = family.arrays
    is_wide = a.dtype in FLOATS and a.dtype != np.float64 and name != "nextafter"
    expected = in_doubles(family, name) if is_wide else family_expected(family, name)
    ((result, expected),) = same_kind(family.result(name), expected)
    defined = defined_cases(name, a, b) if len(expected) == len(a) and len(a) != len(x) else np.ones(len(expected), bool)
    assert_close(result[defined], expected[defined], ULPS.get(name, 4), zeros=name not in ANY_ZERO)


def family_expected(family, name):
    """NumPy's result; integer powers as products, which wrap."""
    _, a, b = family.arrays
    if name == "pow" and a.dtype.kind in "iu":
        return np.array([pow(int(p), max(int(q), 0), 2 ** 64) for p, q in zip(a, b)], np.uint64).astype(a.dtype)
    if name in SHIFTS:
        shift = np.where((b >= 0) & (b < 8 * b.dtype.itemsize), b, 0).astype(b.dtype)
        return getattr(np, name)(a, shift)
    return family.expected(name)


def defined_cases(name, a, b):
    """The operands for which the standard defines the result."""
    defined = np.ones(len(a), bool)
    if a.dtype.kind in "iu":
        if name in ("floor_divide", "remainder"):
            defined &= b != 0
            if a.dtype.kind == "i":
                defined &= ~((a == np.iinfo(a.dtype).min) & (b == -1))
        if name == "pow":
            small = np.array([int(q) >= 0 and abs(int(p)) ** min(int(q), 64) <= np.iinfo(a.dtype).max for p, q in zip(a, b)])
            defined &= small & ((np.abs(a.astype(np.float64)) <= 1) | (b < 64))
        if name in SHIFTS:
            defined &= (b >= 0) & (b < 8 * b.dtype.itemsize)
    elif name == "copysign":
        defined &= ~np.isnan(b)
    elif name in ("floor_divide", "remainder"):
        # The standard leaves open what quotients of infinities and by zero are.
        f = a.astype(np.float64)
        defined &= np.isfinite(f) & (b.astype(np.float64) != 0)
    return defined


NUMBER_CASES = {
    "float array, float": lambda xp, f, h, i, u, t: f * 0.1,
    "float array, int": lambda xp, f, h, i, u, t: f + 3,
    "half array, float": lambda xp, f, h, i, u, t: h * 0.1,
    "int array, int": lambda xp, f, h, i, u, t: i * 3 - 1,
    "unsigned array, int": lambda xp, f, h, i, u, t: u + 1,
    "int on the left": lambda xp, f, h, i, u, t: 2 - f,
    "bool, bool": lambda xp, f, h, i, u, t: t == True,  # noqa: E712
    "maximum of a number": lambda xp, f, h, i, u, t: xp.maximum(f, 0.5),
    "where with numbers": lambda xp, f, h, i, u, t: xp.where(t, f, 0.0),
    "where with numbers first": lambda xp, f, h, i, u, t: xp.where(t, 1, i),
    "clip from below": lambda xp, f, h, i, u, t: xp.clip(f, min=0.5),
    "clip to a range": lambda xp, f, h, i, u, t: xp.clip(f, min=-0.5, max=0.5),
    "clip integers": lambda xp, f, h, i, u, t: xp.clip(i, 0, 2),
    "clip to arrays": lambda xp, f, h, i, u, t: xp.clip(f, f * 0 + 1, f * 0 + 2),
    "power with an int": lambda xp, f, h, i, u, t: xp.pow(i, 3),
    "power 0": lambda xp, f, h, i, u, t: xp.pow(i, 0),
    "int8 with uint8": lambda xp, f, h, i, u, t: xp.add(xp.astype(i, xp.int8), u),
    "int32 with uint8": lambda xp, f, h, i, u, t: xp.multiply(i, u),
    "float16 with float32": lambda xp, f, h, i, u, t: xp.add(h, f),
    "float32 with float64": lambda xp, f, h, i, u, t: xp.add(f, xp.astype(f, xp.float64)),
    "uint8 with uint32": lambda xp, f, h, i, u, t: xp.add(u, xp.astype(u, xp.uint32)),
    "operators": lambda xp, f, h, i, u, t: (f + f, f - f, f * f, f / f, f // 2.0, f % 2.0, f ** 2, -f, abs(f), +f),
    "operators of integers": lambda xp, f, h, i, u, t: (i // 2, i % 2, i & 3, i | 3, i ^ 3, ~i, i << 1, i >> 1, -i, abs(i)),
    "powers of integers": lambda xp, f, h, i, u, t: (i ** 2, 2 ** abs(i), i ** abs(i), u ** 2, i @ i),
    "comparisons": lambda xp, f, h, i, u, t: (f < 0, f <= 0, f > 0, f >= 0, f == 0, f != 0, i < 1),
    "operators of bool": lambda xp, f, h, i, u, t: (t & t, t | t, t ^ t, ~t),
}


@pytest.fixture(scope="module")
def numbers():
    f = np.array([-1.5, -0.25, 0.5, 3.0], np.float32)
    arrays = (f, f.astype(np.float16), np.array([-1, 2, 3, 4], np.int32), np.array([0, 1, 200, 255], np.uint8),
              np.array([True, False, True, False]))
    return Family("numbers", NUMBER_CASES, arrays)


@pytest.mark.parametrize("name", NUMBER_CASES)
def test_numbers_and_promotion_are_those_of_numpy(numbers, name):
    for result, expected in same_kind(numbers.result(name), numbers.expected(name)):
        assert_close(result, expected)


SHAPES = [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((4,), (3, 4)), ((), (3,)), ((0,), (1,)), ((2, 0, 3), (3,)), ((1,), ()), ((2, 3, 1), (4,))]


@pytest.fixture(scope="module")
def broadcasts():
    rng = np.random.default_rng(0)
    arrays = tuple(rng.standard_normal(s).astype(np.float32) for pair in SHAPES for s in pair)
    cases = {}
    for k, pair in enumerate(SHAPES):
        for name in ("add", "maximum", "less"):
            cases[f"{name} {pair}"] = lambda xp, *x, k=k, name=name: getattr(xp, name)(x[2 * k], x[2 * k + 1])
        cases[f"where {pair}"] = lambda xp, *x, k=k: xp.where(x[2 * k] > 0, x[2 * k], x[2 * k + 1])
    return Family("broadcasts", cases, arrays)


@pytest.mark.parametrize("name", [f"{n} {p}" for p in SHAPES for n in ("add", "maximum", "less", "where")])
def test_operands_broadcast_as_in_numpy(broadcasts, name):
    ((result, expected),) = same_kind(broadcasts.result(name), broadcasts.expected(name))
    assert_close(result, expected, 0)


def test_shapes_that_do_not_broadcast_are_an_error():
    import sinter.array_api as xp

    with pytest.raises(sinter.UserError, match=r"\[3\].*\[4\]|3.*4"):
        sinter.jit(lambda x, y: xp.add(x, y))(np.zeros(3, np.float32), np.zeros(4, np.float32))


def test_functions_need_an_array():
    import sinter.array_api as xp

    with pytest.raises(TypeError, match="needs at least one array"):
        sinter.jit(lambda x: xp.add(1, 2) + x)(np.zeros(3))
