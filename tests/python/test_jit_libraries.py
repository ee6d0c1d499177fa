"""sinter.jit on arrays of NumPy, PyTorch, JAX and sinter."""

import numpy as np
import pytest

import sinter
import sinter.array_api as xp
from api_cases import floats, jit


class TestLibraries:
    def test_torch_in_torch_out(self):
        torch = pytest.importorskip("torch")
        f = jit(lambda x, y: (x @ y, xp.sum(x)), axes={"x": ("n", None)})
        for n in (2, 5):
            x, y = torch.randn(n, 3), torch.randn(3, 4)
            product, total = f(x, y)
            assert isinstance(product, torch.Tensor) and product.dtype == torch.float32
            torch.testing.assert_close(product, x @ y)
            torch.testing.assert_close(total, x.sum())
        for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.uint8, torch.bool):
            x = torch.ones(4, dtype=dtype)
            result = jit(lambda x: xp.where(x == 1, x, x))(x)
            assert result.dtype == dtype and torch.equal(result, x)
        transposed = torch.randn(3, 4).T
        torch.testing.assert_close(jit(lambda x: x * 2)(transposed), transposed * 2)

    def test_gradients_of_torch_are_an_error(self):
        torch = pytest.importorskip("torch")
        f = jit(lambda x: x * 2)
        x = torch.ones(3, requires_grad=True)
        with pytest.raises(sinter.UserError, match=r"x: it requires gradients.*x.detach\(\)"):
            f(x)
        with torch.no_grad():
            assert torch.equal(f(x), torch.full((3,), 2.0))
        with pytest.raises(sinter.UserError, match="requires gradients"):
            f(x)

    def test_jax_in_jax_out(self):
        jax = pytest.importorskip("jax")
        x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
        result = jit(lambda x: x * 2 + 1)(x)
        assert isinstance(result, jax.Array)
        np.testing.assert_array_equal(np.asarray(result), np.asarray(x) * 2 + 1)

    def test_sinter_in_sinter_out(self):
        x = sinter.host_device().array(floats(4))
        result = jit(lambda x: x * 2)(x)
        assert isinstance(result, sinter.Array)
        np.testing.assert_array_equal(result.numpy(), floats(4) * 2)

    def test_numpy_arrays_of_ml_dtypes(self):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        expected = floats(3).astype(ml_dtypes.bfloat16)
        result = jit(lambda x: xp.astype(x, xp.bfloat16))(floats(3))
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(jit(lambda x: x * 2)(expected), expected * 2)

    def test_read_only_arrays_are_inputs(self):
        x = floats(3)
        x.flags.writeable = False
        np.testing.assert_array_equal(jit(lambda x: x + 1)(x), x + 1)

    def test_mixed_libraries_give_torchs(self):
        torch = pytest.importorskip("torch")
        result = jit(lambda x, y: x + y)(floats(3), torch.ones(3))
        assert isinstance(result, torch.Tensor)
