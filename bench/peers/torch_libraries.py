#!/usr/bin/env python3
"""Measures libraries of kernels for torch, for the ops that each has. The first argument is liger, quack or
nvfuser."""

import importlib
import math
import sys

import common
from system import Missing

EPS = {"rms_norm": 1e-6, "layer_norm": 1e-5}


def in_rows(x):
    """Views x as rows, because Liger's swiglu needs rows; one program handles each row."""
    return x.view(-1, math.gcd(x.numel(), 4096))


def liger():
    functional = importlib.import_module("liger_kernel.transformers.functional")
    return {
        "softmax": lambda x: {"y": functional.liger_softmax(x)},
        "rms_norm": lambda x, weight: {
            "y": functional.liger_rms_norm(x, weight, EPS["rms_norm"], in_place=False)},
        "layer_norm": lambda x, weight, bias: {"y": functional.liger_layer_norm(x, weight, bias, EPS["layer_norm"])},
        "silu_mul": lambda x, z: {"y": functional.liger_swiglu(in_rows(x), in_rows(z)).view(-1)},
    }


def quack():
    module = importlib.import_module("quack")
    losses = importlib.import_module("quack.cross_entropy")
    return {
        "softmax": lambda x: {"y": module.softmax(x)},
        "rms_norm": lambda x, weight: {"y": module.rmsnorm(x, weight, eps=EPS["rms_norm"])},
        "cross_entropy": lambda x, label: {
            "y": losses.cross_entropy(x, label.view(-1), reduction="none").view(-1, 1)},
    }


def nvfuser():
    try:
        module = importlib.import_module("nvfuser_direct")
    except ImportError:
        module = importlib.import_module("nvfuser")
    definitions = {}

    def fused(define):
        def call(**arrays):
            key = (define, tuple((tuple(a.shape), a.dtype) for a in arrays.values()))
            if key not in definitions:
                with module.FusionDefinition() as fd:
                    result = define(fd, *(fd.from_pytorch(array) for array in arrays.values()))
                    first = next(iter(arrays.values()))
                    is_wide = str(first.dtype) == "torch.float32"
                    narrow = module.DataType.Float if is_wide else module.DataType.BFloat16
                    fd.add_output(fd.ops.cast(result, dtype=narrow))
                definitions[key] = fd
            return {"y": definitions[key].execute(list(arrays.values()))[0]}

        return call

    def wide(fd, x):
        return fd.ops.cast(x, dtype=module.DataType.Float)

    return {
        "scale": fused(lambda fd, x: fd.ops.mul(wide(fd, x), fd.define_scalar(0.75))),
        "add": fused(lambda fd, x, z: fd.ops.add(wide(fd, x), wide(fd, z))),
        "axpby_relu": fused(lambda fd, x, z: fd.ops.relu(
            fd.ops.add(fd.ops.mul(wide(fd, x), fd.define_scalar(0.75)),
                       fd.ops.mul(wide(fd, z), fd.define_scalar(1.25))))),
    }


LIBRARIES = {"liger": liger, "quack": quack, "nvfuser": nvfuser}


def maker(library):
    def make(arguments):
        functions = LIBRARIES[library]()
        import torch
        from torch_system import TorchSystem

        if not torch.cuda.is_available():
            raise Missing(f"torch sees no GPU for {library}")

        class Library(TorchSystem):
            def function(self, op, case):
                if case["op"] not in functions:
                    raise Missing(f"{library} has no kernel for it")
                return lambda arrays: functions[case["op"]](**arrays)

        return Library(library, arguments)

    return make


if __name__ == "__main__":
    library = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in LIBRARIES else "liger"
    common.exit_with(common.main(library, maker(library)))
