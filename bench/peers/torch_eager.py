#!/usr/bin/env python3
"""torch, one kernel per op; lists of tensors by its foreach functions."""

import common


def make(arguments):
    import torch
    from torch_system import TorchSystem
    from words import TorchWords

    class EagerWords(TorchWords):
        """torch's kernels for norms want weights of the dtype of what they scale."""

        def rms_norm(self, x, weight):
            return self.F.rms_norm(x, (x.shape[1],), weight.to(x.dtype), 1e-6)

        def layer_norm(self, x, weight, bias):
            return self.F.layer_norm(x, (x.shape[1],), weight.to(x.dtype), bias.to(x.dtype), 1e-5)

    class Eager(TorchSystem):
        def arrays(self, inputs):
            arrays = super().arrays(inputs)
            if "weight" in arrays and "g" not in arrays:  # of a norm, and not of its gradient: they are held as wanted
                arrays |= {name: arrays[name].to(arrays["x"].dtype) for name in ("weight", "bias") if name in arrays}
            return arrays

    eager = Eager("torch_eager", arguments)
    eager.words = EagerWords(torch)
    return eager


if __name__ == "__main__":
    common.exit_with(common.main("torch_eager", make))
