"""The operations in which formulas.py is written. ArrayOps serves NumPy (in float64, the reference), CuPy and JAX.
TorchOps uses torch's fused functions where they exist."""

import math


class ArrayOps:
    """Operations of a module with NumPy's interface. Narrow floats are computed in `wide_dtype`."""

    def __init__(self, module, dtypes, wide_dtype):
        self.np = module
        self.dtypes = dtypes  # f32 and so on: the module's dtype
        self.wide_dtype = wide_dtype

    def wide(self, x):
        return x.astype(self.wide_dtype)

    def like(self, x, other):
        return x.astype(other.dtype)

    def cast(self, x, dtype):
        return x.astype(self.dtypes[dtype])

    def relu(self, x):
        return self.np.maximum(x, 0)

    def maximum(self, x, z):
        return self.np.maximum(x, z)

    def clip_above(self, x, most):
        return self.np.minimum(x, most)

    def sqrt(self, x):
        return self.np.sqrt(x)

    def gelu_tanh(self, x):
        h = self.wide(x)
        inner = math.sqrt(2 / math.pi) * (h + 0.044715 * h * h * h)
        return self.like(0.5 * h * (1 + self.np.tanh(inner)), x)

    def silu(self, x):
        h = self.wide(x)
        return self.like(h / (1 + self.np.exp(-h)), x)

    def sum(self, x, axis):
        return self.np.sum(x, axis=axis, dtype=self.wide_dtype)

    def mean(self, x, axis):
        return self.np.mean(x, axis=axis, dtype=self.wide_dtype)

    def kept_mean(self, x):
        return self.np.mean(x, axis=1, keepdims=True)

    def max(self, x, axis):
        return self.np.max(x, axis=axis)

    def argmax(self, x, axis):
        return self.np.argmax(x, axis=axis)

    def var_mean(self, x, axis):
        h = self.wide(x)
        m = self.np.mean(h, axis=axis, keepdims=True)
        c = h - m
        return self.np.mean(c * c, axis=axis), self.np.squeeze(m, axis)

    def logsumexp(self, x, axis, keep=False):
        m = self.np.max(x, axis=axis, keepdims=True)
        s = self.np.log(self.np.sum(self.np.exp(x - m), axis=axis, keepdims=True)) + m
        return s if keep else self.np.squeeze(s, axis)

    def softmax(self, x):
        h = self.wide(x)
        e = self.np.exp(h - self.np.max(h, axis=1, keepdims=True))
        return self.like(e / self.np.sum(e, axis=1, keepdims=True), x)

    def log_softmax(self, x):
        h = self.wide(x)
        return self.like(h - self.logsumexp(h, 1, keep=True), x)

    def softmax_backward(self, p, g):
        h, d = self.wide(p), self.wide(g)
        return self.like((d - self.np.sum(h * d, axis=1, keepdims=True)) * h, p)

    def rms_norm(self, x, weight):
        h = self.wide(x)
        return self.like(h / self.np.sqrt(self.kept_mean(h * h) + 1e-6) * weight, x)

    def layer_norm(self, x, weight, bias):
        h = self.wide(x)
        c = h - self.kept_mean(h)
        return self.like(c / self.np.sqrt(self.kept_mean(c * c) + 1e-5) * weight + bias, x)

    def cross_entropy(self, x, label):
        h = self.wide(x)
        return self.logsumexp(h, 1, keep=True) - self.np.take_along_axis(h, label, 1)


class TorchOps:
    """Operations of torch, by one function of torch where it has one."""

    def __init__(self, torch):
        self.torch = torch
        self.F = torch.nn.functional
        self.dtypes = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16,
                       "f16": torch.float16, "i64": torch.int64, "i32": torch.int32, "i8": torch.int8}

    def wide_of(self, x):
        return x.dtype if x.dtype == self.torch.float64 else self.torch.float32

    def wide(self, x):
        return x.to(self.wide_of(x))

    def like(self, x, other):
        return x.to(other.dtype)

    def cast(self, x, dtype):
        return x.to(self.dtypes[dtype])

    def relu(self, x):
        return self.torch.relu(x)

    def maximum(self, x, z):
        return self.torch.maximum(x, z)

    def clip_above(self, x, most):
        return self.torch.clamp_max(x, most)

    def sqrt(self, x):
        return self.torch.sqrt(x)

    def gelu_tanh(self, x):
        return self.F.gelu(x, approximate="tanh")

    def silu(self, x):
        return self.F.silu(x)

    def sum(self, x, axis):
        return self.torch.sum(x, dim=axis, dtype=self.wide_of(x))

    def mean(self, x, axis):
        return self.torch.mean(x, dim=axis, dtype=self.wide_of(x))

    def kept_mean(self, x):
        return self.torch.mean(x, dim=1, keepdim=True)

    def max(self, x, axis):
        return self.torch.max(x) if axis is None else self.torch.amax(x, dim=axis)

    def argmax(self, x, axis):
        return self.torch.argmax(x, dim=axis)

    def var_mean(self, x, axis):
        return self.torch.var_mean(self.wide(x), dim=axis, correction=0)

    def logsumexp(self, x, axis):
        return self.torch.logsumexp(x, dim=axis)

    def softmax(self, x):
        return self.F.softmax(x, dim=1)

    def log_softmax(self, x):
        return self.F.log_softmax(x, dim=1)

    def softmax_backward(self, p, g):
        return self.torch._softmax_backward_data(g, p, 1, p.dtype)

    def rms_norm(self, x, weight):
        h = self.wide(x)
        normed = self.F.rms_norm(h, (h.shape[1],), weight.to(h.dtype), 1e-6)
        return self.like(normed, x)

    def layer_norm(self, x, weight, bias):
        h = self.wide(x)
        normed = self.F.layer_norm(h, (h.shape[1],), weight.to(h.dtype), bias.to(h.dtype), 1e-5)
        return self.like(normed, x)

    def cross_entropy(self, x, label):
        loss = self.F.cross_entropy(self.wide(x), label.reshape(-1), reduction="none")
        return loss.reshape(-1, 1)
