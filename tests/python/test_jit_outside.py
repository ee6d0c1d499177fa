"""Arrays that a jitted function refers to without getting them as arguments."""

import logging

import numpy as np
import pytest

import sinter
import sinter.array_api as xp
from api_cases import floats, jit


class TestOutside:
    def test_arrays_from_outside_are_inputs(self):
        w, b = floats(3, 3), floats(3)

        @jit
        def f(x):
            return w * x + b + xp.sum(w) - x * xp.maximum(b, w)

        x = floats(3) + 1
        expected = lambda: w * x + b + w.sum() - x * np.maximum(b, w)  # noqa: E731
        np.testing.assert_allclose(f(x), expected(), rtol=1e-4, atol=1e-5)
        w += 1  # the memory is read at each call
        np.testing.assert_allclose(f(x), expected(), rtol=1e-4, atol=1e-5)
        assert str(f.graph(x)).count("captured") >= 2

    def test_arrays_from_outside_may_be_results(self):
        w = floats(3)
        result = jit(lambda x: (w, x))(floats(2))[0]
        np.testing.assert_array_equal(result, w)

    def test_a_tensor_of_another_call_is_an_error(self):
        kept = []

        @jit
        def f(x):
            kept.append(x)
            return kept[0] * 2

        f(floats(2))
        with pytest.raises(sinter.Error, match="another|different graph"):
            f(floats(3))

    def test_another_array_under_a_name_is_noticed(self, caplog):
        w = floats(3)

        @jit
        def f(x):
            return x * w

        x = floats(3)
        np.testing.assert_array_equal(f(x), x * w)
        first = f.graph(x)
        w = w + 1
        np.testing.assert_array_equal(f(x), x * w)
        assert f.graph(x) is first  # an array alike needs no new recording
        with caplog.at_level(logging.INFO, logger="sinter"):
            w = floats(2, 3)
            np.testing.assert_array_equal(f(x), x * w)
        assert "records (x: f32[3]) again: w from outside has changed" in caplog.text
        w = 2.5
        np.testing.assert_array_equal(f(x), x * np.float32(w))

    def test_globals_of_helpers_are_noticed(self):
        global WEIGHT
        f = jit(lambda x: helper(x) + 1)
        x = floats(3)
        for _ in range(3):
            np.testing.assert_allclose(f(x), x * WEIGHT + 1, rtol=1e-6)
            WEIGHT = WEIGHT * 2
        assert len(f.signatures()) == 1

    def test_attributes_of_instances_are_noticed(self):
        class Layer:
            def __init__(self, weight):
                self.weight = weight

            @jit
            def forward(self, x):
                return x * self.weight

        layer, x = Layer(floats(3)), floats(3)
        for _ in range(3):
            np.testing.assert_array_equal(layer.forward(x), x * layer.weight)
            layer.weight = layer.weight + 1
        assert layer.forward.signatures() == ["x: f32[3]"]

    def test_one_array_under_two_names_is_noticed(self):
        v = w = floats(3)
        f = jit(lambda x: x * v + w)
        x = floats(3)
        f(x)
        w = w + 1
        np.testing.assert_allclose(f(x), x * v + w, rtol=1e-6)
        v = v + 2
        np.testing.assert_allclose(f(x), x * v + w, rtol=1e-6)


WEIGHT = np.float32([1, 2, 3])


def helper(x):
    return x * WEIGHT
