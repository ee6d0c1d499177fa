"""sinter.grad, value_and_grad and vjp: values, structures, composition and errors."""

import numpy as np
import pytest

import sinter
import sinter.array_api as xp
from api_cases import OPTIONS


def grad(function, *args, **settings):
    return sinter.grad(function, *args, **OPTIONS, **settings)


X = np.array([-1.0, 0.5, 2.0], np.float32)


def test_gradients_are_those_of_calculus():
    np.testing.assert_allclose(grad(lambda x: xp.sum(x ** 3))(X), 3 * X ** 2, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda x: xp.sum(xp.exp(x) * x))(X), np.exp(X) * (X + 1), rtol=1e-5)


def test_gradients_equal_finite_differences():
    def f(x, w):
        h = xp.tanh(xp.matmul(x, w))
        return xp.mean(xp.logaddexp(h, xp.flip(h, axis=1))) + xp.var(h)

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 3)), rng.standard_normal((3, 5))
    found = grad(f, argnums=(0, 1))(x, w)
    value = sinter.jit(f, **OPTIONS)
    for k, array in enumerate((x, w)):
        direction = rng.standard_normal(array.shape)
        step = 1e-6
        moved = [[x, w], [x, w]]
        moved[0][k], moved[1][k] = array + step * direction, array - step * direction
        slope = (value(*moved[0]) - value(*moved[1])) / (2 * step)
        np.testing.assert_allclose((found[k] * direction).sum(), slope, rtol=1e-7)


def test_argnums_choose_arguments_by_position_or_name():
    f = lambda x, y, scale=2.0: xp.sum(x * y) * scale  # noqa: E731
    y = X + 1
    np.testing.assert_allclose(grad(f, 1)(X, y), 2 * X, rtol=1e-6)
    np.testing.assert_allclose(grad(f, "y")(X, y=y), 2 * X, rtol=1e-6)
    gx, gy = grad(f, (0, "y"))(X, y, scale=3.0)
    np.testing.assert_allclose(gx, 3 * y, rtol=1e-6)
    np.testing.assert_allclose(gy, 3 * X, rtol=1e-6)


def test_gradients_have_the_structure_of_the_argument():
    f = lambda params, x: xp.sum(params["w"] * x) + params["b"][0] * 2  # noqa: E731
    found = grad(f)({"w": X, "b": [np.float64(1.0) * np.ones(())]}, X)
    np.testing.assert_allclose(found["w"], X)
    assert found["w"].dtype == np.float32 and found["b"][0].dtype == np.float64 and float(found["b"][0]) == 2


def test_python_numbers_have_gradients():
    assert float(grad(lambda t: t ** 3)(2.0)) == pytest.approx(12.0)
    gradient = grad(lambda x, t: xp.sum(x) * t * t, argnums=1)(X, 3.0)
    assert float(gradient) == pytest.approx(2 * 3 * X.sum(), rel=1e-5)


def test_value_and_grad_gives_both():
    value, g = sinter.value_and_grad(lambda x: xp.sum(x * x), **OPTIONS)(X)
    assert float(value) == pytest.approx((X * X).sum())
    np.testing.assert_allclose(g, 2 * X)


def test_aux_results_are_passed_on():
    f = lambda x: (xp.sum(x * x), {"mean": xp.mean(x), "name": "aux"})  # noqa: E731
    g, aux = grad(f, has_aux=True)(X)
    np.testing.assert_allclose(g, 2 * X)
    assert aux["name"] == "aux" and float(aux["mean"]) == pytest.approx(0.5)
    (value, aux), g = sinter.value_and_grad(f, has_aux=True, **OPTIONS)(X)
    assert float(value) == pytest.approx((X * X).sum())
    np.testing.assert_allclose(g, 2 * X)


def test_gradients_of_gradients():
    third = grad(lambda x: xp.sum(sinter.grad(lambda y: xp.sum(sinter.grad(lambda z: xp.sum(z ** 4))(y)))(x)))
    np.testing.assert_allclose(third(X), 24 * X, rtol=1e-5)


def test_other_uses_of_a_value_are_constants():
    # d/dy (x y) at y = x is x, not 2 x.
    f = sinter.jit(lambda x: sinter.grad(lambda y: xp.sum(x * y))(x), **OPTIONS)
    np.testing.assert_allclose(f(X), X)
    # With respect to x, x * d/dy (x y) is x * x.
    g = grad(lambda x: xp.sum(x * sinter.grad(lambda y: xp.sum(x * y))(x)))
    np.testing.assert_allclose(g(X), 2 * X)


def test_gradients_compose_with_jit():
    calls = []

    @sinter.jit(axes={"x": "n"}, **OPTIONS)
    def loss(x, w):
        calls.append(1)
        return xp.mean((x * w) ** 2)

    @sinter.jit(axes={"x": "n"}, **OPTIONS)
    def step(x, w, rate):
        value, g = sinter.value_and_grad(loss, argnums="w")(x, w)
        return value, w - rate * g

    for n in (4, 8):
        x = np.arange(n, dtype=np.float32)
        value, moved = step(x, np.float32(2) * np.ones((), np.float32), 0.1)
        np.testing.assert_allclose(value, np.mean((2 * x) ** 2), rtol=1e-5)
        np.testing.assert_allclose(moved, 2 - 0.1 * np.mean(4 * x * x), rtol=1e-4)
    assert len(calls) == 1
    # The gradient of a jitted function has its settings.
    g = sinter.grad(loss, argnums=1)
    for n in (4, 8):
        g(np.arange(n, dtype=np.float32), np.ones((), np.float32))
    assert len(g.signatures()) == 1


def test_arrays_from_outside_count_as_constants():
    w = X + 1
    np.testing.assert_allclose(grad(lambda x: xp.sum(w * x))(X), w)


def test_torch_tensors_have_gradients_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.randn(5)
    found = grad(lambda x: xp.sum(xp.sin(x)))(x)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, torch.cos(x))


def test_vjp_pulls_cotangents_back():
    def f(x, w, g):
        result, pull = sinter.vjp(lambda a, b: (xp.matmul(a, b), xp.sum(a)), x, w)
        return result, pull((g, 2.0))

    rng = np.random.default_rng(1)
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3), (3, 4), (2, 4)))
    (product, total), (gx, gw) = sinter.jit(f, **OPTIONS)(x, w, g)
    np.testing.assert_allclose(product, x @ w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gx, g @ w.T + 2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(gw, x.T @ g, rtol=1e-5, atol=1e-5)


class TestErrors:
    def test_results_of_another_rank(self):
        with pytest.raises(sinter.UserError, match=r"grad of .* differentiates one floating number.*returned f32\[3\].*xp.sum"):
            grad(lambda x: x * 2)(X)

    def test_results_that_are_integers(self):
        with pytest.raises(sinter.UserError, match=r"differentiates one floating number.*returned i64\[\]"):
            grad(lambda x: xp.argmax(x))(X)

    def test_arguments_that_are_integers(self):
        with pytest.raises(sinter.UserError, match="needs floating arguments, and x is i64; choose others with argnums"):
            grad(lambda x: xp.sum(x) * 1.0)(np.arange(3))
        with pytest.raises(sinter.UserError, match="t is an int: pass 2.0 instead of 2"):
            grad(lambda t: t * 1.0)(2)

    def test_argnums_that_do_not_exist(self):
        with pytest.raises(sinter.UserError, match="argnums has 2, and the function has the parameters x, y"):
            grad(lambda x, y: x, argnums=2)

    def test_has_aux_without_aux(self):
        with pytest.raises(sinter.UserError, match=r"must return \(value, aux\)"):
            grad(lambda x: xp.sum(x), has_aux=True)(X)

    def test_vjp_outside_of_a_recording(self):
        with pytest.raises(sinter.UserError, match="vjp records into a graph"):
            sinter.vjp(lambda x: x, X)
