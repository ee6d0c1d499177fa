"""Formulas of the ops that only bench/cpu_peers has. Importing adds them to those of the suite."""

import math

import numpy as np
from formulas import FORMULAS
from operations import ArrayOps, TorchOps

ERF = np.frompyfunc(math.erf, 1, 1)


def maximum_chain(length):
    def steps(w, x):
        y = x
        for _ in range(length // 3):
            y = w.maximum(y * 0.75 + 0.5, x)
        return {"y": y}

    return steps


def gelu(self, x):
    """The reference. NumPy has no erf, so this form is slow."""
    h = self.wide(x)
    return self.like(0.5 * h * (1 + ERF(h / math.sqrt(2)).astype(np.float64)), x)


ArrayOps.gelu = gelu
FORMULAS |= {f"maximum_chain{length}": maximum_chain(length) for length in (3, 9, 30)}
FORMULAS |= {"gelu": lambda w, x: {"y": w.gelu(x)}, "gelu_tanh": lambda w, x: {"y": w.gelu_tanh(x)}}


def add_to_jax():
    import jax
    ArrayOps.gelu = lambda self, x: jax.nn.gelu(x, approximate=False)


def add_to_torch():
    TorchOps.gelu = lambda self, x: self.F.gelu(x)
