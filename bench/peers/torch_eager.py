#!/usr/bin/env python3
"""torch, one kernel per op; lists of tensors by its foreach functions."""

import common


def make(arguments):
    import torch
    from torch_system import TorchSystem

    class Eager(TorchSystem):
        def function(self, op, case):
            if not case["op"].startswith("foreach_adamw"):
                return super().function(op, case)

            def step(arrays):
                count = len(arrays) // 4
                w, g, m, v = ([arrays[f"{kind}{i}"] for i in range(count)] for kind in "wgmv")
                torch._foreach_mul_(m, 0.9)
                torch._foreach_add_(m, g, alpha=0.1)
                torch._foreach_mul_(v, 0.999)
                torch._foreach_addcmul_(v, g, g, 0.001)
                root = torch._foreach_sqrt(v)
                torch._foreach_add_(root, 1e-8)
                torch._foreach_mul_(w, 0.99999)
                torch._foreach_addcdiv_(w, m, root, -0.001)
                return {name: arrays[name] for name in op["updates"]}

            return step

    return Eager("torch_eager", arguments)


if __name__ == "__main__":
    common.exit_with(common.main("torch_eager", make))
