#!/usr/bin/env python3
"""CUB's DeviceReduce, DeviceSegmentedReduce and DeviceTransform, and cudaMemcpy, through cub_peer.cu:
a program cub_peer beside the benchmarks, else one that nvcc makes now."""

import ctypes
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import common
import contents
import graph_text

HERE = pathlib.Path(__file__).resolve().parent
NVCC = ["-std=c++17", "-O2", "-cudart", "static"]
OPS = ("scale", "add", "axpby_relu", "silu_mul", "dot", "full_sum", "full_max", "row_sum")
HAS_NOTHING = "CUB has no algorithm for it"


def program(folder):
    """The path of cub_peer; throws Missing where it cannot be had."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise common.Missing(f"there is no CUDA driver: {error}") from error
    beside = HERE.parents[1] / "bin" / "cub_peer"
    if beside.exists():
        return str(beside)
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        raise common.Missing("there is no nvcc to compile cub_peer.cu")
    made = f"{folder}/cub_peer"
    compiled = subprocess.run([nvcc, *NVCC, "-arch=native", "-o", made, str(HERE / "cub_peer.cu")],
                              capture_output=True, text=True)
    if compiled.returncode:
        raise common.Missing(f"nvcc: {(compiled.stderr or compiled.stdout).strip().splitlines()[0][:200]}")
    return made


def line_of(suite, case):
    """What cub_peer reads: see cub_peer.cu."""
    op = suite.op(case)
    inputs = graph_text.inputs_of(op, case)
    n = graph_text.elements(inputs[0])
    segments = case["sizes"]["rows"] if case["op"] == "row_sum" else 1
    sets = common.sets_of(op, case)
    calls = common.calls_of(op, case, sets)
    small = case | {"sizes": contents.cut(case["sizes"])}
    repeat = graph_text.elements(graph_text.inputs_of(op, small)[0])
    keys = [int(contents.key_of(case["seed"], name)[0]) for name in ("x", "z")]
    # For the others only the copy is measured.
    has_op = case["op"] in OPS and case["dtype"] in ("f32", "bf16") and case["offset"] == 0
    words = [case["name"], case["op"] if has_op else "-", case["dtype"], n, segments, case["bytes"], sets, calls,
             case["modes"], *keys, repeat]
    return " ".join(str(word) for word in words)


def rows_of(runner, cases, answers, why_silent):
    rows = []
    for case in cases:
        found = [answer for answer in answers if answer["case"] == case["name"]]
        problem = next((answer["problem"] for answer in found if "problem" in answer), None)
        for mode in case["modes"]:
            times = {answer["system"]: answer for answer in found if answer.get("mode") == mode}
            memcpy = common.quartiles(times.get("memcpy", {}).get("times", []))
            for system in ("cub", "memcpy"):
                runner.system.name = system
                if system not in times:
                    reason = problem or (HAS_NOTHING if times else why_silent)
                    status = "failed" if problem else "missing" if times else "not_run"
                    rows.append(runner.row(case, mode, status, reason))
                    continue
                us = common.quartiles(times[system]["times"])
                worst = times[system]["worst_error"]
                row = runner.row(case, mode, us=us, tb_per_s=case["bytes"] / us["median"] * 1e-6, memcpy_us=memcpy,
                                 of_copy=memcpy["median"] / us["median"], worst_error=worst if worst >= 0 else None,
                                 asynchronous_us=times[system]["asynchronous_us"] or None)
                if worst > 1:
                    row |= {"status": "wrong", "reason": f"the worst error is {worst:.3g} times what is allowed"}
                rows.append(row)
    return rows


def main():
    arguments = common.arguments_of()
    suite = common.Suite()
    cases = suite.chosen(arguments.tier, arguments.only)
    system = common.System()
    runner = common.Runner(system, suite, arguments)
    answers, why = [], f"the {arguments.seconds:g} seconds were over"
    try:
        if arguments.device == "cpu":
            raise common.Missing("CUB runs on GPUs only")
        with tempfile.TemporaryDirectory() as folder:
            text = "".join(line_of(suite, case) + "\n" for case in cases)
            start = time.perf_counter()
            made = program(folder)
            seconds = arguments.seconds
            if seconds:  # compiling took some of them
                seconds = max(seconds - (time.perf_counter() - start), 1)
            ran = subprocess.run([made, str(seconds)], input=text, capture_output=True, text=True)
        if ran.returncode:
            raise common.Missing(ran.stderr.strip() or f"cub_peer ended with {ran.returncode}")
        answers = [json.loads(line) for line in ran.stdout.splitlines()]
        rows = rows_of(runner, cases, answers, why)
    except common.Missing as missing:
        print(f"cub is missing: {missing}")
        rows = []
        for system.name in ("cub", "memcpy"):
            rows += [runner.row(case, case["modes"][0], "missing", str(missing)) for case in cases]
    for row in rows:
        if row["status"] not in ("missing", "not_run"):
            common.show(row)
    system.name = "cub"
    common.write(arguments.json, system, common.gpu_name() or "none", arguments.tier, runner.nvml.driver(), rows)
    return 1 if any(row["status"] in ("wrong", "failed") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
