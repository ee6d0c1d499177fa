"""Functions of whole arrays in sinter.array_api: reductions, movement, creation, indexing and products."""

import inspect
import math
import pathlib
import warnings

import ml_dtypes
import numpy as np
import pytest

import sinter
import sinter.array_api as sxp
from api_cases import OPTIONS, Family, assert_close, same_kind

RNG = np.random.default_rng(1)
F32 = RNG.standard_normal((3, 4, 5)).astype(np.float32)
WITH_NAN = np.where(np.arange(60).reshape(3, 4, 5) % 17 == 3, np.nan, F32).astype(np.float32)
EMPTY = np.zeros((3, 0), np.float32)
SCALAR = np.float32(1.25) * np.ones(())
INTS = RNG.integers(-9, 9, (3, 4, 5)).astype(np.int32)

REDUCTIONS = {}
for _axis in (None, 0, -1, (0, 2), ()):
    for _keep in (False, True):
        for _name in ("sum", "mean", "var", "std", "max", "min", "prod"):
            REDUCTIONS[f"{_name} {_axis} {_keep}"] = (
                lambda xp, x, nan, empty, one, a=_axis, k=_keep, n=_name: getattr(xp, n)(x, axis=a, keepdims=k))
        for _name in ("all", "any"):
            REDUCTIONS[f"{_name} {_axis} {_keep}"] = (
                lambda xp, x, nan, empty, one, a=_axis, k=_keep, n=_name: getattr(xp, n)(x > -1, axis=a, keepdims=k))
        if not isinstance(_axis, tuple):
            for _name in ("argmax", "argmin"):
                REDUCTIONS[f"{_name} {_axis} {_keep}"] = (
                    lambda xp, x, nan, empty, one, a=_axis, k=_keep, n=_name: getattr(xp, n)(x, axis=a, keepdims=k))
REDUCTIONS |= {
    "sum with dtype": lambda xp, x, nan, empty, one: xp.sum(x, dtype=xp.float64),
    "prod with dtype": lambda xp, x, nan, empty, one: xp.prod(x, axis=0, dtype=xp.float64),
    "var with correction": lambda xp, x, nan, empty, one: xp.var(x, axis=1, correction=1),
    "var with a real correction": lambda xp, x, nan, empty, one: xp.var(x, axis=1, correction=0.5),
    "std with correction": lambda xp, x, nan, empty, one: xp.std(x, correction=1),
    "max of NaN": lambda xp, x, nan, empty, one: xp.max(nan, axis=1),
    "min of NaN": lambda xp, x, nan, empty, one: xp.min(nan, axis=1),
    "sum of NaN": lambda xp, x, nan, empty, one: xp.sum(nan, axis=1),
    "argmax of NaN": lambda xp, x, nan, empty, one: xp.argmax(nan, axis=1),
    "sum of nothing": lambda xp, x, nan, empty, one: xp.sum(empty, axis=1),
    "prod of nothing": lambda xp, x, nan, empty, one: xp.prod(empty, axis=1),
    "mean of nothing": lambda xp, x, nan, empty, one: xp.mean(empty, axis=1),
    "all of nothing": lambda xp, x, nan, empty, one: xp.all(empty > 0, axis=1),
    "any of nothing": lambda xp, x, nan, empty, one: xp.any(empty > 0, axis=1),
    "sum along another axis of nothing": lambda xp, x, nan, empty, one: xp.sum(empty, axis=0),
    "sum of rank 0": lambda xp, x, nan, empty, one: xp.sum(one),
    "max of rank 0": lambda xp, x, nan, empty, one: xp.max(one, keepdims=True),
    "cumulative sum": lambda xp, x, nan, empty, one: xp.cumulative_sum(x, axis=1),
    "cumulative sum with 0": lambda xp, x, nan, empty, one: xp.cumulative_sum(x, axis=-1, include_initial=True),
    "cumulative product": lambda xp, x, nan, empty, one: xp.cumulative_prod(x, axis=0),
    "diff": lambda xp, x, nan, empty, one: xp.diff(x),
    "diff twice": lambda xp, x, nan, empty, one: xp.diff(x, axis=1, n=2),
    "diff with ends": lambda xp, x, nan, empty, one: xp.diff(x, axis=1, prepend=x[:, :1], append=x[:, :2]),
    "count of values that are not 0": lambda xp, x, nan, empty, one: xp.count_nonzero(x * (x > 0), axis=1),
}
REDUCED = Family("reductions", REDUCTIONS, (F32, WITH_NAN, EMPTY, SCALAR))
#: Some functions sum in another order than NumPy.
TERMS = 60


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_and_scans_are_those_of_numpy(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = REDUCED.expected(name)
    ((result, expected),) = same_kind(REDUCED.result(name), expected)
    assert_close(result, expected, 8, scale=None if name.startswith(("max", "min", "prod")) else TERMS / 8)


FLOATS = [np.dtype(t) for t in ("float64", "float16")] + [np.dtype(ml_dtypes.bfloat16)]
FLOAT_REDUCTIONS = {
    "sum": lambda xp, x: xp.sum(x, axis=1),
    "prod": lambda xp, x: xp.prod(x, axis=1),
    "mean": lambda xp, x: xp.mean(x),
    "var": lambda xp, x: xp.var(x, axis=0),
    "std": lambda xp, x: xp.std(x, axis=1, keepdims=True),
    "max": lambda xp, x: xp.max(x, axis=0),
    "min": lambda xp, x: xp.min(x),
    "argmax": lambda xp, x: xp.argmax(x, axis=1),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=0),
    "diff": lambda xp, x: xp.diff(x),
    "any": lambda xp, x: xp.any(x > 0.5, axis=1),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x, axis=1),
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
    "clip": lambda xp, x: xp.clip(x, -0.5, 0.5),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1),
}
FLOAT_FAMILIES = {d.name: Family(f"floats_{d.name}", FLOAT_REDUCTIONS, (F32[0].astype(d),)) for d in FLOATS}


@pytest.mark.parametrize("dtype, name", [(d.name, n) for d in FLOATS for n in FLOAT_REDUCTIONS])
def test_functions_of_floats_keep_their_dtype(dtype, name):
    family = FLOAT_FAMILIES[dtype]
    (x,) = family.arrays
    expected = FLOAT_REDUCTIONS[name](np, x.astype(np.float64))
    assert_close_in(family.result(name), expected, x.dtype if expected.dtype.kind == "f" else expected.dtype)


def assert_close_in(result, expected, dtype):
    """Compares with a result of float64, whose rounding errors the narrower dtype may have at each step."""
    assert result.dtype == dtype
    assert_close(result, expected.astype(dtype), 4, scale=4)


INTEGERS = [np.dtype(t) for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
SUMS = {
    "sum": lambda xp, x: xp.sum(x, axis=1),
    "sum of all": lambda xp, x: xp.sum(x),
    "prod": lambda xp, x: xp.prod(x[:, :3], axis=1),
    "sum in float64": lambda xp, x: xp.sum(x, dtype=xp.float64),
    "sum in int16": lambda xp, x: xp.sum(x, dtype=xp.int16),
    "max": lambda xp, x: xp.max(x, axis=0),
    "min": lambda xp, x: xp.min(x),
    "argmax": lambda xp, x: xp.argmax(x, axis=1),
    "argmin": lambda xp, x: xp.argmin(x),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x[:, :3], axis=1, include_initial=True),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x, axis=0, keepdims=True),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "any": lambda xp, x: xp.any(x, axis=1),
    "all": lambda xp, x: xp.all(x, axis=1),
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "matmul with a vector": lambda xp, x: xp.matmul(x, x[0, :]),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
}
SUMMED = {d.name: Family(f"sums_{d.name}", SUMS, ((np.arange(12) * 5 % 7).reshape(3, 4).astype(d),)) for d in INTEGERS}


@pytest.mark.parametrize("dtype, name", [(d.name, n) for d in INTEGERS for n in SUMS])
def test_reductions_of_integers_have_the_standards_dtypes(dtype, name):
    ((result, expected),) = same_kind(SUMMED[dtype].result(name), SUMMED[dtype].expected(name))
    np.testing.assert_array_equal(result, expected)


MOVEMENTS = {
    "concat": lambda xp, x, i, v: xp.concat([x, x * 2], axis=1),
    "concat of vectors": lambda xp, x, i, v: xp.concat((v, v, v)),
    "concat flat": lambda xp, x, i, v: xp.concat([x, v], axis=None),
    "concat of dtypes": lambda xp, x, i, v: xp.concat([i, xp.astype(i, xp.int64)]),
    "stack": lambda xp, x, i, v: xp.stack([x, x + 1], axis=1),
    "stack at the end": lambda xp, x, i, v: xp.stack([v, v], axis=-1),
    "unstack": lambda xp, x, i, v: xp.unstack(x, axis=1),
    "reshape": lambda xp, x, i, v: xp.reshape(x, (4, -1)),
    "reshape to a vector": lambda xp, x, i, v: xp.reshape(x, (-1,)),
    "permute_dims": lambda xp, x, i, v: xp.permute_dims(x, (2, 0, 1)),
    "matrix_transpose": lambda xp, x, i, v: xp.matrix_transpose(x),
    "moveaxis": lambda xp, x, i, v: xp.moveaxis(x, 0, -1),
    "moveaxis of several": lambda xp, x, i, v: xp.moveaxis(x, (0, 1), (2, 0)),
    "expand_dims": lambda xp, x, i, v: xp.expand_dims(x, axis=1),
    "expand_dims at the end": lambda xp, x, i, v: xp.expand_dims(x, axis=-1),
    "squeeze": lambda xp, x, i, v: xp.squeeze(xp.sum(x, axis=1, keepdims=True), axis=1),
    "flip": lambda xp, x, i, v: xp.flip(x),
    "flip an axis": lambda xp, x, i, v: xp.flip(x, axis=1),
    "roll": lambda xp, x, i, v: xp.roll(x, 2),
    "roll an axis": lambda xp, x, i, v: xp.roll(x, -1, axis=1),
    "roll axes": lambda xp, x, i, v: xp.roll(x, (1, 2), axis=(0, 2)),
    "broadcast_to": lambda xp, x, i, v: xp.broadcast_to(v, (2, 3, 5)),
    "broadcast_arrays": lambda xp, x, i, v: xp.broadcast_arrays(x, v),
    "tile": lambda xp, x, i, v: xp.tile(v, (2, 3)),
    "tile an axis": lambda xp, x, i, v: xp.tile(x, (2,)),
    "repeat": lambda xp, x, i, v: xp.repeat(x, 2, axis=1),
    "repeat flat": lambda xp, x, i, v: xp.repeat(v, 3),
    "take": lambda xp, x, i, v: xp.take(x, i[0, 0, :2] * 0 + 1, axis=1),
    "take from a vector": lambda xp, x, i, v: xp.take(v, xp.abs(i[0, :, 0]) % 5, axis=0),
    "take_along_axis": lambda xp, x, i, v: xp.take_along_axis(x, xp.argmax(x, axis=1, keepdims=True), axis=1),
    "index": lambda xp, x, i, v: x[1],
    "index from the end": lambda xp, x, i, v: x[..., -1],
    "slices": lambda xp, x, i, v: x[1:, ::2, :-1],
    "slice backwards": lambda xp, x, i, v: v[::-1],
    "new axes": lambda xp, x, i, v: v[None, :, None],
    "mixed": lambda xp, x, i, v: x[0, ..., 1:3],
    "tril": lambda xp, x, i, v: xp.tril(x, k=-1),
    "triu": lambda xp, x, i, v: xp.triu(x, k=1),
    "meshgrid": lambda xp, x, i, v: xp.meshgrid(v, v[:2]),
    "meshgrid ij": lambda xp, x, i, v: xp.meshgrid(v, v[:2], indexing="ij"),
    "searchsorted": lambda xp, x, i, v: xp.searchsorted(v * 0 + xp.cumulative_sum(v * 0 + 1), x),
    "searchsorted right": lambda xp, x, i, v: xp.searchsorted(xp.cumulative_sum(v * 0 + 1), v, side="right"),
    "astype": lambda xp, x, i, v: (xp.astype(x, xp.float64), xp.astype(x * 3, xp.int32), xp.astype(i, xp.bool)),
    "transpose attribute": lambda xp, x, i, v: (x[0].T, x.mT),
    "matmul": lambda xp, x, i, v: xp.matmul(x, xp.matrix_transpose(x)),
    "matmul operator": lambda xp, x, i, v: x @ v,
    "matmul of vectors": lambda xp, x, i, v: xp.matmul(v, v),
    "tensordot": lambda xp, x, i, v: xp.tensordot(x, v, axes=1),
    "tensordot of axes": lambda xp, x, i, v: xp.tensordot(x, x, axes=((0, 1), (0, 1))),
    "tensordot of nothing": lambda xp, x, i, v: xp.tensordot(v, v[:2], axes=0),
    "vecdot": lambda xp, x, i, v: xp.vecdot(x, v),
    "vecdot of an axis": lambda xp, x, i, v: xp.vecdot(x, x, axis=1),
    "outer": lambda xp, x, i, v: xp.linalg.outer(v, v[:3]),
    "cross": lambda xp, x, i, v: xp.linalg.cross(x[..., :3], x[..., 1:4]),
    "trace": lambda xp, x, i, v: xp.linalg.trace(x, offset=1),
    "diagonal": lambda xp, x, i, v: xp.linalg.diagonal(x, offset=-1),
    "vector_norm": lambda xp, x, i, v: xp.linalg.vector_norm(x, axis=(0, 2)),
    "vector_norm of orders": lambda xp, x, i, v: tuple(xp.linalg.vector_norm(v, ord=o) for o in (0, 1, 3, math.inf, -math.inf)),
    "matrix_power": lambda xp, x, i, v: tuple(xp.linalg.matrix_power(x[:, :, :4], n) for n in (0, 1, 2, 5)),
    "matrix_norm": lambda xp, x, i, v: tuple(xp.linalg.matrix_norm(x, ord=o) for o in ("fro", 1, -1, math.inf)),
}
MOVED = Family("movements", MOVEMENTS, (F32, INTS, F32[0, 0].copy()))


@pytest.mark.parametrize("name", MOVEMENTS)
def test_movement_indexing_and_products_are_those_of_numpy(name):
    for result, expected in same_kind(MOVED.result(name), MOVED.expected(name)):
        assert_close(result, expected, 8, scale=4)


CREATIONS = {
    "zeros": lambda xp, x: xp.zeros((2, 3), dtype=xp.float64),
    "ones": lambda xp, x: xp.ones(3, dtype=xp.int32),
    "full": lambda xp, x: xp.full((2, 2), 7, dtype=xp.int64),
    "full of bool": lambda xp, x: xp.full((2,), True),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "ones_like": lambda xp, x: xp.ones_like(x, dtype=xp.int32),
    "full_like": lambda xp, x: xp.full_like(x, 2.5),
    "arange": lambda xp, x: xp.arange(5),
    "arange between": lambda xp, x: xp.arange(2, 11, 3),
    "arange down": lambda xp, x: xp.arange(5, 0, -2),
    "arange of nothing": lambda xp, x: xp.arange(3, 3),
    "arange of floats": lambda xp, x: xp.arange(0.0, 1.0, 0.25, dtype=xp.float64),
    "linspace": lambda xp, x: xp.linspace(0.0, 1.0, 11, dtype=xp.float64),
    "linspace without the end": lambda xp, x: xp.linspace(-1.0, 2.0, 7, endpoint=False, dtype=xp.float64),
    "linspace of one": lambda xp, x: xp.linspace(3.0, 4.0, 1, dtype=xp.float64),
    "eye": lambda xp, x: xp.eye(3, dtype=xp.float32),
    "eye of a diagonal": lambda xp, x: xp.eye(3, 4, k=1, dtype=xp.int32),
    "asarray": lambda xp, x: xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float32),
    "asarray of ints": lambda xp, x: xp.asarray([1, 2, 3]),
    "constants": lambda xp, x: x * xp.pi + xp.e,
}
CREATED = Family("creations", CREATIONS, (F32[0],))


@pytest.mark.parametrize("name", CREATIONS)
def test_creation_functions_are_those_of_numpy(name):
    ((result, expected),) = same_kind(CREATED.result(name), CREATED.expected(name))
    assert_close(result, expected, 2)


def test_default_dtypes_are_float32_and_int64():
    found = sinter.jit(lambda x: (sxp.zeros(2), sxp.linspace(0, 1, 2), sxp.arange(2), sxp.arange(2.0), sxp.full(2, 1.5)), **OPTIONS)(F32)
    assert [a.dtype.name for a in found] == ["float32", "float32", "int64", "float32", "float32"]
    info = sxp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == sxp.float32
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}


def test_functions_of_dtypes_are_those_of_numpy():
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
    floats = names[9:]
    for name in floats:
        mine, theirs = sxp.finfo(getattr(sxp, name)), np.finfo(name)
        assert (mine.bits, mine.eps, mine.max, mine.min, mine.smallest_normal) == (
            theirs.bits, theirs.eps, theirs.max, theirs.min, theirs.smallest_normal)
    for name in names[1:9]:
        mine, theirs = sxp.iinfo(getattr(sxp, name)), np.iinfo(name)
        assert (mine.bits, mine.max, mine.min) == (theirs.bits, theirs.max, theirs.min)
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    for name in names:
        for kind in [*kinds, ("bool", "real floating")]:
            assert sxp.isdtype(getattr(sxp, name), kind) == np.isdtype(np.dtype(name), kind), (name, kind)
    for a in names:
        for b in names:
            kinds_of_pair = [next(k for k in ("bool", "integral", "real floating") if np.isdtype(np.dtype(n), k)) for n in (a, b)]
            if kinds_of_pair[0] != kinds_of_pair[1]:
                continue
            if "uint64" in (a, b) and any(n.startswith("int") for n in (a, b)):
                with pytest.raises(TypeError, match="no common dtype; convert"):
                    sxp.result_type(getattr(sxp, a), getattr(sxp, b))
                continue
            assert sxp.result_type(getattr(sxp, a), getattr(sxp, b)) == sinter.dtype(np.result_type(a, b).name), (a, b)
    assert sxp.result_type(sxp.float32, 1.5) == sxp.float32
    assert sxp.result_type(sxp.int8, 3) == sxp.int8
    assert sxp.result_type(sxp.int64, sxp.float32) == sxp.float32
    assert sxp.can_cast(sxp.int8, sxp.int32) and not sxp.can_cast(sxp.float64, sxp.float32)


def test_functions_that_cannot_exist_say_why():
    with pytest.raises(AttributeError, match="its shape depends on values"):
        sxp.unique_values
    with pytest.raises(AttributeError, match="no op that sorts"):
        sxp.sort
    with pytest.raises(AttributeError, match="no decompositions"):
        sxp.linalg.svd


def test_creation_outside_of_a_recording_says_what_to_do():
    with pytest.raises(sinter.UserError, match=r"zeros records into a graph.*@sinter.jit.*sinter.recording"):
        sxp.zeros(3)


def test_recording_names_the_graph_of_creation_functions():
    graph = sinter.Graph("g")
    with sinter.recording(graph):
        graph.output("y", sxp.eye(3) + sxp.ones((3, 3)))
    np.testing.assert_array_equal(np.asarray(sinter.compile(graph, sinter.host_device(), **OPTIONS)()["y"]), np.eye(3) + 1)


def test_tensors_have_the_namespace():
    def f(x):
        xp = x.__array_namespace__()
        assert xp is sxp and xp.__array_api_version__ == "2024.12"
        return xp.sum(x)

    np.testing.assert_allclose(sinter.jit(f, **OPTIONS)(F32), F32.sum(), rtol=1e-5)


def test_signatures_are_those_of_the_standard():
    lines = (pathlib.Path(__file__).parent / "array_api_2024_12.txt").read_text().splitlines()
    missing, different = [], []
    for line in lines:
        if line.startswith("#"):
            continue
        name, arguments = line.split("(", 1)
        owner = sxp.linalg if name.startswith("linalg.") else sxp
        try:
            function = getattr(owner, name.removeprefix("linalg."))
        except AttributeError:
            missing.append(name)
            continue
        signature = inspect.signature(function)
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        found = str(signature.replace(parameters=bare, return_annotation=signature.empty))
        if found != "(" + arguments:
            different.append((name, found, arguments))
    assert different == []
    assert missing == """imag linalg.cholesky linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_rank
    linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.svdvals nonzero unique_all unique_counts
    unique_inverse unique_values argsort sort""".split()


def test_constants_and_dtypes_have_the_standards_names():
    assert (sxp.e, sxp.pi, sxp.inf, sxp.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(sxp.nan)
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
        assert getattr(sxp, name) == sinter.dtype(name)
