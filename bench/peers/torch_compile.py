#!/usr/bin/env python3
"""Measures torch.compile with dynamic=False. The first argument is its mode: default, max-autotune-no-cudagraphs or
reduce-overhead. reduce-overhead makes its own CUDA Graphs, so it cannot be measured in mode K."""

import sys

import common

MODES = ("default", "max-autotune-no-cudagraphs", "reduce-overhead")


def maker(mode):
    def make(arguments):
        import torch
        from torch_system import TorchSystem

        def compiled(function):
            torch._dynamo.reset()  # each case is compiled independently of earlier cases
            program = torch.compile(function, mode=mode, dynamic=False)
            if mode != "reduce-overhead":
                return program

            def stepped(arrays):
                torch.compiler.cudagraph_mark_step_begin()
                return program(arrays)

            return stepped

        system = TorchSystem(f"torch_compile_{mode}", arguments, compiled,
                             "LE" if mode == "reduce-overhead" else "KLE")
        system.fuses = True
        return system

    return make


if __name__ == "__main__":
    mode = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in MODES else "default"
    common.exit_with(common.main(f"torch_compile_{mode}", maker(mode)))
