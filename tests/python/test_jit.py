"""sinter.jit: signatures, arrays of several libraries, structures, numbers, errors and threads."""

import collections
import gc
import logging
import weakref

import numpy as np
import pytest

import sinter
import sinter.array_api as xp
from api_cases import OPTIONS, floats, jit


class TestSignatures:
    def test_records_once_per_dtype_and_shape(self):
        calls = []

        @jit
        def f(x):
            calls.append(x.dtype)
            return x * 2

        for x in (floats(3), floats(3), floats(4), floats(3).astype(np.float64), floats(4)):
            np.testing.assert_array_equal(f(x), x * 2)
        assert len(calls) == 3
        assert f.signatures() == ["x: f32[3]", "x: f32[4]", "x: f64[3]"]

    def test_named_axes_need_no_new_recording(self):
        @jit(axes={"x": ("rows", None), "y": "rows"})
        def f(x, y):
            return xp.sum(x, axis=1) + y, x

        for rows in (3, 5, 1, 0, 3):
            x, y = floats(rows, 4), floats(rows)
            total, copy = f(x, y)
            np.testing.assert_allclose(total, x.sum(1) + y, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(copy, x)
        assert f.signatures() == ["x: f32[rows, 4], y: f32[rows]"]

    def test_named_axes_compute_the_shapes_of_results(self):
        @jit(axes={"x": "rows, columns"})
        def f(x):
            return xp.concat([x, x], axis=0), xp.reshape(x, (-1,)), x[::2, 1:], xp.sum(x)

        for shape in ((2, 3), (4, 5)):
            x = floats(*shape)
            for result, expected in zip(f(x), (np.concatenate([x, x]), x.reshape(-1), x[::2, 1:])):
                np.testing.assert_array_equal(result, expected)
        assert len(f.signatures()) == 1

    def test_sizes_of_named_axes_are_numbers_in_ops(self):
        @jit(axes={"x": "n, _"})
        def f(x):
            n = x.shape[0]
            return xp.sum(x, axis=0) / n, xp.arange(n) * n, 1 - x * (n * 2), xp.full(2, n), x.size // 4

        for n in (3, 5):
            x = floats(n, 4)
            mean, steps, scaled, count, size = f(x)
            np.testing.assert_allclose(mean, x.mean(0), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(steps, np.arange(n) * n)
            np.testing.assert_allclose(scaled, 1 - x * (n * 2), rtol=1e-5)
            np.testing.assert_array_equal(count, [n, n])
            assert size == n and mean.dtype == np.float32
        assert len(f.signatures()) == 1

    def test_names_of_axes_apply_to_parts_of_containers(self):
        @jit(axes={"batch": {"x": "n, _", "y": "n"}, "pair": "n"})
        def f(batch, pair):
            return batch["x"][:, 0] + batch["y"] + pair[0] * pair[1]

        for n in (2, 7):
            x, y, p, q = floats(n, 3), floats(n), floats(n), floats(n) + 1
            np.testing.assert_allclose(f({"x": x, "y": y}, (p, q)), x[:, 0] + y + p * q, rtol=1e-5, atol=1e-6)
        assert len(f.signatures()) == 1

    def test_leading_axes_may_be_left_out_with_dots(self):
        @jit(axes={"x": "..., n"})
        def f(x):
            return xp.sum(x, axis=-1)

        for shape in ((2, 3), (2, 4), (5,), (6,)):
            np.testing.assert_allclose(f(floats(*shape)), floats(*shape).sum(-1), rtol=1e-5, atol=1e-6)
        assert len(f.signatures()) == 2

    def test_transposed_arrays_share_a_signature_with_named_axes(self):
        @jit(axes={"x": "rows, columns"})
        def f(x):
            return x * 2

        for shape in ((3, 4), (5, 6)):
            np.testing.assert_array_equal(f(floats(*shape).T), floats(*shape).T * 2)
        assert len(f.signatures()) == 1

    def test_strides_are_part_of_the_signature(self):
        f = jit(lambda x: x + 1)
        x = floats(4, 6)
        for view in (x, x.T, x[:, ::2], x[::-1], x[1:3, 2:4], np.broadcast_to(x[0], (3, 6))):
            np.testing.assert_array_equal(f(view), view + 1)

    def test_the_least_recently_used_signature_goes(self, caplog):
        f = jit(lambda x: x + 1, max_signatures=2)
        with caplog.at_level(logging.INFO, logger="sinter"):
            for n in (1, 2, 1, 3):
                f(floats(n))
        assert f.signatures() == ["x: f32[1]", "x: f32[3]"]
        assert "drops the signature (x: f32[2])" in caplog.text

    def test_the_logger_says_which_argument_differs(self, caplog):
        @jit
        def scale(x, y, flag=True):
            return x * y

        with caplog.at_level(logging.INFO, logger="sinter"):
            scale(floats(3), floats(3))
            scale(floats(3), floats(3).astype(np.float64))
            scale(floats(3), floats(3), flag=False)
        assert "records its first signature (x: f32[3], y: f32[3], flag: True)" in caplog.text
        assert "records signature 2: y is f64[3], was f32[3]" in caplog.text
        assert "records signature 3: flag is False, was True" in caplog.text

    def test_clear_cache_forgets_them(self):
        f = jit(lambda x: x + 1)
        f(floats(2))
        f.clear_cache()
        assert f.signatures() == []
        np.testing.assert_array_equal(f(floats(2)), floats(2) + 1)


class TestArguments:
    def test_python_numbers_may_differ_from_call_to_call(self):
        @jit
        def f(x, a, n):
            return x * a + n

        for a, n in ((0.5, 1), (0.25, -3), (1e10, 2)):
            np.testing.assert_allclose(f(floats(3), a, n), floats(3) * np.float32(a) + n, rtol=1e-6)
        assert f.signatures() == ["x: f32[3], a: a Python float, n: a Python int"]

    def test_python_numbers_are_weakly_typed(self):
        @jit
        def f(h, x, d, i, a, n):
            return h * a, a - x, xp.maximum(d, a), i + n, i * a, xp.where(x > a, x, a), x + (1 - a) ** n, a < x

        arrays = floats(3).astype(np.float16), floats(3), floats(3).astype(np.float64), np.arange(3, dtype=np.int8)
        found = f(*arrays, 0.1, 2)
        assert [r.dtype.name for r in found] == ["float16", "float32", "float64", "int8", "float32", "float32", "float32", "bool"]
        np.testing.assert_array_equal(found[2], np.maximum(arrays[2], 0.1))
        np.testing.assert_allclose(found[6], floats(3) + np.float32(0.9 ** 2), rtol=1e-6)

    def test_core_functions_take_numbers_of_the_call(self):
        @jit
        def f(x, low):
            return sinter.clamp(x, low, 1.0)

        for dtype in (np.float32, np.float64):
            x = floats(5).astype(dtype)
            np.testing.assert_array_equal(f(x, -0.1), np.clip(x, dtype(-0.1), 1))
            assert f(x, -0.1).dtype == dtype

    def test_results_that_are_numbers_are_arrays(self):
        f = jit(lambda x, a: (a * 2, xp.sum(x) * a))
        doubled, total = f(floats(3), 1.5)
        assert (doubled.shape, total.shape, float(doubled)) == ((), (), 3.0)

    def test_numpy_numbers_keep_their_dtype(self):
        f = jit(lambda x, a: x * a)
        assert f(floats(3), np.float64(2)).dtype == np.float64
        assert f(floats(3).astype(np.float16), np.float32(2)).dtype == np.float32
        chosen = jit(lambda x, flag, n: xp.where(flag, x, x * n))(floats(3), np.True_, np.int64(2))
        np.testing.assert_array_equal(chosen, floats(3))

    def test_static_arguments_are_part_of_the_signature(self):
        @jit(static_argnames=("axis", "power"))
        def f(x, axis, power=2, kind="sum"):
            total = xp.sum(x ** power, axis=axis)
            return total if kind == "sum" else total / x.shape[axis]

        x = floats(3, 4)
        np.testing.assert_allclose(f(x, 0), (x ** 2).sum(0), rtol=1e-5)
        np.testing.assert_allclose(f(x, 1, kind="mean"), (x ** 2).mean(1), rtol=1e-5)
        np.testing.assert_allclose(f(x, axis=1, power=3), (x ** 3).sum(1), rtol=1e-4, atol=1e-5)
        assert len(f.signatures()) == 3

    def test_dtypes_are_static(self):
        f = jit(lambda x, dtype: xp.astype(x, dtype))
        for dtype in (sinter.f16, np.float16, np.dtype("float16")):
            assert f(floats(2), dtype).dtype == np.float16

    def test_objects_with_attributes_are_functions(self):
        class Scale:
            def __init__(self):
                self.graph = 3.0  # the name of a method of jit

            def __call__(self, x):
                return x * self.graph

        f = jit(Scale())
        np.testing.assert_allclose(f(floats(2)), floats(2) * 3, rtol=1e-6)
        assert "mul" in str(f.graph(floats(2)))

    def test_true_is_not_one(self):
        f = jit(lambda x, flag: x + 1 if flag is True else x - 1, static_argnames="flag")
        assert f(floats(1), True) == floats(1) + 1
        assert f(floats(1), 1) == floats(1) - 1

    def test_keywords_and_defaults_are_arguments(self):
        @jit
        def f(x, /, y, *rest, scale=2.0, **more):
            return x + y * scale + sum(rest) + more.get("z", 0)

        x = floats(3)
        np.testing.assert_allclose(f(x, x), x * 3, rtol=1e-6)
        np.testing.assert_allclose(f(x, y=x, scale=1.0), x * 2, rtol=1e-6)
        np.testing.assert_allclose(f(x, x, x, x, z=x), x * 6, rtol=1e-6)
        with pytest.raises(TypeError, match="missing a required argument: 'y'"):
            f(x)
        with pytest.raises(TypeError, match="unexpected keyword argument 'scal'"):
            jit(lambda x, scale=1.0: x)(x, scal=2)

    def test_structures_go_in_and_come_out(self):
        Pair = collections.namedtuple("Pair", "left right")

        @jit
        def f(params, pair, items):
            return {"w": params["w"] * 2, "inner": [params["b"]["c"] + 1, (None, "text", 7)]}, Pair(pair.right, pair.left), tuple(items)

        a, b, c = floats(2), floats(3), floats(4)
        tree, pair, items = f({"w": a, "b": {"c": b}}, Pair(a, c), [b, 1.5])
        np.testing.assert_array_equal(tree["w"], a * 2)
        np.testing.assert_array_equal(tree["inner"][0], b + 1)
        assert tree["inner"][1] == (None, "text", 7)
        assert isinstance(pair, Pair)
        np.testing.assert_array_equal(pair.left, c)
        assert isinstance(items, tuple) and float(items[1]) == 1.5

    def test_methods_have_signatures_of_their_own(self):
        class Layer:
            def __init__(self, scale):
                self.scale = scale

            @jit
            def __call__(self, x):
                return self.forward(x)

            @jit
            def forward(self, x, shift=0.0):
                return x * self.scale + shift

        x = floats(3)
        two, three = Layer(2.0), Layer(floats(3))
        np.testing.assert_array_equal(two.forward(x), x * 2)
        np.testing.assert_allclose(three.forward(x, shift=1.0), x * floats(3) + 1, rtol=1e-6)
        np.testing.assert_array_equal(two(x), x * 2)
        np.testing.assert_array_equal(Layer(4.0).forward(x), x * 4)
        assert two.forward.signatures() == ["x: f32[3], shift: a Python float"]
        gone = weakref.ref(two)
        del two
        gc.collect()
        assert gone() is None

    def test_a_function_without_arrays_runs(self):
        f = jit(lambda: xp.arange(4) * 2)
        np.testing.assert_array_equal(np.asarray(f()), [0, 2, 4, 6])
        assert jit(lambda x: None)(floats(2)) is None

    def test_jitted_functions_are_recorded_within_others(self):
        inner = jit(lambda x: x * 2)
        outer = jit(lambda x: inner(x) + inner(x + 1))
        np.testing.assert_allclose(outer(floats(3)), floats(3) * 4 + 2, rtol=1e-6)
        assert inner.signatures() == []

    def test_tensors_of_a_graph_record_into_it(self):
        f = jit(lambda x: xp.sum(x) + xp.ones(()))
        graph = sinter.Graph("g")
        graph.output("y", f(graph.input("x", sinter.f32, (3,))))
        np.testing.assert_allclose(np.asarray(sinter.compile(graph, sinter.host_device(), **OPTIONS)(x=floats(3))["y"]),
                                   floats(3).sum() + 1, rtol=1e-5)
