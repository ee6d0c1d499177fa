#!/usr/bin/env python3
"""A peer as a process: reads one command per line from standard input, as JSON, and answers each with a line.

  worker.py SYSTEM SUITE.json THREADS
  {"do": "prepare", "case": NAME}      makes the arrays and compiles; answers {"prepare_ms"}
  {"do": "results", "folder": FOLDER}  calls once, and writes each result to FOLDER/NAME.npy
  {"do": "time", "calls": N}           answers {"us"}: the time of N calls, with a wait after each
  {"do": "release"}

An answer with "status" and "reason" says why there is none. cpu_peer.cpp speaks the same for sinter."""

import json
import os
import pathlib
import sys
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import contents  # noqa: E402
import numpy as np  # noqa: E402
from formulas import FORMULAS  # noqa: E402
from operations import ArrayOps  # noqa: E402
from system import Missing, System  # noqa: E402

import own_formulas  # noqa: E402

ON_CPU = types.SimpleNamespace(device="cpu")


class NumpySystem(System):
    """NumPy as its users write it: f32, one pass over memory per op."""

    name = "numpy"
    version = np.__version__
    unsupported = {"bf16": "NumPy has no bf16"}

    def __init__(self):
        self.operations = ArrayOps(np, contents.NUMPY, np.float32)

    def arrays(self, inputs):
        return {one.name: one.whole() for one in inputs}

    def function(self, op, case):
        if case["op"] == "gelu":
            raise Missing("NumPy has no erf")
        formula, updates = FORMULAS[case["op"]], op["updates"]

        def call(arrays):
            results = formula(self.operations, **arrays)
            for name in updates:
                arrays[name][...] = results[name]
            return results

        return call

    def to_numpy(self, array):
        return np.asarray(array)

    def synchronize(self):
        pass


def system_of(name, threads):
    """The peer `name`. An exception says why it is missing."""
    if name == "numpy":
        return NumpySystem()
    if name == "jax":
        import jax_jit
        own_formulas.add_to_jax()
        return jax_jit.make(ON_CPU)
    import torch
    torch.set_num_threads(threads)
    own_formulas.add_to_torch()
    if name == "torch_eager":
        import torch_eager
        return torch_eager.make(ON_CPU)
    import torch_compile
    return torch_compile.maker("default")(ON_CPU)


class Worker:
    def __init__(self, system, suite):
        self.system = system
        self.ops = {op["op"]: op for op in suite["ops"]}
        self.cases = {case["name"]: case for case in suite["cases"]}
        self.function = self.arrays = None

    def prepare(self, command):
        case = self.cases[command["case"]]
        if case["dtype"] in self.system.unsupported:
            raise Missing(self.system.unsupported[case["dtype"]])
        self.arrays = self.system.arrays(contents.inputs_of(self.ops[case["op"]], case))
        start = time.perf_counter()
        self.function = self.system.function(self.ops[case["op"]], case)
        return {"prepare_ms": 1e3 * (time.perf_counter() - start)}

    def results(self, command):
        results = self.function(self.arrays)
        self.system.synchronize()
        for name, value in results.items():
            np.save(pathlib.Path(command["folder"]) / f"{name}.npy", self.system.to_numpy(value))
        return {}

    def time(self, command):
        start = time.perf_counter()
        for _ in range(command["calls"]):
            self.function(self.arrays)
            self.system.synchronize()
        return {"us": 1e6 * (time.perf_counter() - start)}

    def release(self, _):
        self.function = self.arrays = None
        self.system.release()
        return {}

    def answer(self, command):
        try:
            return getattr(self, command["do"])(command)
        except Missing as missing:
            return {"status": "missing", "reason": str(missing)}
        except Exception as error:  # a failure of the peer is a result too
            return {"status": "failed", "reason": f"{type(error).__name__}: {error}".splitlines()[0][:300]}


def main():
    name, suite, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    try:
        worker = Worker(system_of(name, int(threads)), json.loads(pathlib.Path(suite).read_text()))
    except Exception as error:
        print(json.dumps({"status": "missing", "reason": f"{type(error).__name__}: {error}".splitlines()[0][:300]}),
              file=answers)
        return
    print(json.dumps({"version": worker.system.version}), file=answers)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers)


if __name__ == "__main__":
    main()
