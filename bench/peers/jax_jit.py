#!/usr/bin/env python3
"""Measures JAX under jit, with x64 off. Its calls cannot be captured into our CUDA Graph, so the modes are L and
E."""

import os

import common


def make(arguments):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if arguments.device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    from formulas import FORMULAS
    from system import Missing, System
    from operations import ArrayOps

    class JaxOps(ArrayOps):
        """Uses JAX's own functions where they exist, because XLA recognizes them as patterns."""

        def gelu_tanh(self, x):
            return jax.nn.gelu(x, approximate=True)

        def silu(self, x):
            return jax.nn.silu(x)

        def softmax(self, x):
            return self.like(jax.nn.softmax(self.wide(x), axis=1), x)

        def log_softmax(self, x):
            return self.like(jax.nn.log_softmax(self.wide(x), axis=1), x)

        def logsumexp(self, x, axis, keep=False):
            return jax.nn.logsumexp(x, axis=axis, keepdims=keep)

    dtypes = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "i64": jnp.int32,
              "i32": jnp.int32, "i8": jnp.int8}

    class JaxSystem(System):
        name = "jax_jit"
        version = jax.__version__
        fuses = True

        def __init__(self):
            if arguments.device == "cuda" and jax.default_backend() != "gpu":
                raise Missing("JAX sees no GPU")
            self.operations = JaxOps(jnp, dtypes, jnp.float32)
            self.last = None

        def arrays(self, inputs):
            if any(one.offset for one in inputs):
                raise Missing("JAX's arrays start at aligned addresses")
            return {one.name: jnp.resize(jnp.asarray(one.part).astype(dtypes[one.dtype]), tuple(one.shape))
                    for one in inputs}

        def function(self, op, case):
            formula = FORMULAS[case["op"]]
            updates = op["updates"]

            def step(updated, others):
                return formula(self.operations, **updated, **others)

            program = jax.jit(step, donate_argnums=(0,) if updates else ())

            def call(arrays):
                updated = {name: arrays[name] for name in updates}
                others = {name: array for name, array in arrays.items() if name not in updated}
                self.last = program(updated, others)
                arrays |= {name: self.last[name] for name in updates}
                return self.last

            return call

        def to_numpy(self, array):
            import numpy
            return numpy.asarray(array.astype(jnp.float32) if array.dtype == jnp.bfloat16 else array)

        def try_device(self):
            (jnp.ones(1) + 1).block_until_ready()

        def synchronize(self):
            jax.block_until_ready(self.last)

        def copy_call(self, case_bytes, sets):
            sources = [jnp.arange(max(case_bytes // 8, 1), dtype=jnp.float32) + i for i in range(sets)]

            def copy(i):
                self.last = jnp.copy(sources[i % sets])

            return copy

        def release(self):
            self.last = None

    return JaxSystem()


if __name__ == "__main__":
    common.exit_with(common.main("jax_jit", make))
