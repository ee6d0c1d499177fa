#!/usr/bin/env python3
"""Measures torch eager: one kernel per op, and foreach functions for lists of tensors."""

import common


def make(arguments):
    import torch
    from torch_system import TorchSystem
    from operations import TorchOps

    class EagerOps(TorchOps):
        """torch's kernels for norms need weights of the dtype of their input."""

        def rms_norm(self, x, weight):
            return self.F.rms_norm(x, (x.shape[1],), weight.to(x.dtype), 1e-6)

        def layer_norm(self, x, weight, bias):
            return self.F.layer_norm(x, (x.shape[1],), weight.to(x.dtype), bias.to(x.dtype), 1e-5)

    class Eager(TorchSystem):
        def arrays(self, inputs):
            arrays = super().arrays(inputs)
            # A norm, but not its gradient, holds its weights in the dtype that its kernel needs.
            if "weight" in arrays and "g" not in arrays:
                arrays |= {name: arrays[name].to(arrays["x"].dtype) for name in ("weight", "bias") if name in arrays}
            return arrays

    eager = Eager("torch_eager", arguments)
    eager.operations = EagerOps(torch)
    return eager


if __name__ == "__main__":
    common.exit_with(common.main("torch_eager", make))
