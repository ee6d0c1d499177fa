"""Concurrent calls of jitted functions, and what they show of themselves."""

import pickle
import threading

import numpy as np

import sinter  # noqa: F401
import sinter.array_api as xp
from api_cases import floats, jit


class TestThreads:
    def test_concurrent_calls_are_independent(self):
        f = jit(lambda x, a: xp.sum(x * a, axis=1), axes={"x": ("n", None)})
        failures = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for _ in range(50):
                x, a = rng.standard_normal((rng.integers(1, 40), 16)).astype(np.float32), float(rng.standard_normal())
                if not np.allclose(f(x, a), (x * np.float32(a)).sum(1), rtol=1e-4, atol=1e-4):
                    failures.append(seed)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures and len(f.signatures()) == 1

    def test_functions_record_in_several_threads_at_once(self):
        functions = [jit(lambda x, k=k: x * k) for k in range(6)]
        found = [None] * 6

        def work(k):
            found[k] = functions[k](floats(3), float(k))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for k in range(6):
            np.testing.assert_allclose(found[k], floats(3) * k, rtol=1e-6)


class TestInspection:
    def test_shows_kernels_and_graphs(self):
        @jit
        def scaled(x):
            return xp.exp(x) * 2

        x = floats(8)
        assert "scaled" in scaled.source(x)
        assert len(scaled.explain(x).kernels) == 1
        assert "exp" in str(scaled.graph(x))
        scaled(x)
        (report,) = scaled.report()
        assert report.signature == "x: f32[8]" and len(report.report.kernels) == 1
        assert "scaled(x), 1 signatures" in repr(scaled)
        assert scaled.__name__ == "scaled"

    def test_named_axes_have_sizes_in_explanations(self):
        f = jit(lambda x: x * 2, axes={"x": "n"})
        assert f.explain(floats(8)).sizes == ["n = 8"]

    def test_functions_are_pickled_by_name(self):
        assert pickle.loads(pickle.dumps(doubled)) is doubled

    def test_a_jitted_function_may_be_jitted_again(self):
        np.testing.assert_array_equal(jit(doubled)(floats(3)), floats(3) * 2)


@jit
def doubled(x):
    return x * 2
