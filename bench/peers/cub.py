#!/usr/bin/env python3
"""Measures CUB's DeviceReduce, DeviceSegmentedReduce and DeviceTransform, and cudaMemcpyAsync, with cub_peer.cu. Uses
the program bin/cub_peer if it exists, else compiles one with nvcc."""

import ctypes
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import common
import contents
import graph_text
import timing
from system import Missing, System

HERE = pathlib.Path(__file__).resolve().parent
NVCC = ["-std=c++17", "-O2", "-cudart", "static"]
OPS = ("scale", "add", "axpby_relu", "silu_mul", "dot", "full_sum", "full_max", "row_sum")
SYSTEMS = ("cub", "memcpy")
NO_ALGORITHM = "CUB has no algorithm for it"


def program(folder):
    """The path of cub_peer. Raises Missing if there is no driver, or neither a program nor nvcc."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Missing(f"there is no CUDA driver: {error}") from error
    built = HERE.parents[1] / "bin" / "cub_peer"
    if built.exists():
        return str(built)
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        raise Missing("there is no nvcc to compile cub_peer.cu")
    made = f"{folder}/cub_peer"
    compiled = subprocess.run([nvcc, *NVCC, "-arch=native", "-o", made, str(HERE / "cub_peer.cu")],
                              capture_output=True, text=True)
    if compiled.returncode:
        raise Missing(f"nvcc: {(compiled.stderr or compiled.stdout).strip().splitlines()[0][:200]}")
    return made


def line_of(suite, case):
    """The input line of a case for cub_peer; see cub_peer.cu."""
    op = suite.op(case)
    inputs = graph_text.inputs_of(op, case)
    n = graph_text.elements(inputs[0])
    segments = case["sizes"]["rows"] if case["op"] == "row_sum" else 1
    sets = timing.sets_of(op, case)
    calls = timing.calls_of(op, case, sets)
    small = case | {"sizes": contents.cut(case["sizes"])}
    repeat = graph_text.elements(graph_text.inputs_of(op, small)[0])
    keys = [int(contents.key_of(case["seed"], name)[0]) for name in ("x", "z")]
    # For all other cases only the copy is measured.
    has_op = case["op"] in OPS and case["dtype"] in ("f32", "bf16") and case["offset"] == 0
    words = [case["name"], case["op"] if has_op else "-", case["dtype"], n, segments, case["bytes"], sets, calls,
             case["modes"], *keys, repeat]
    return " ".join(str(word) for word in words)


def rows_of(runner, case, answers):
    """Converts cub_peer's output for a case to rows of both systems."""
    rows = []
    problem = next((answer["problem"] for answer in answers if "problem" in answer), None)
    for mode in case["modes"]:
        times = {answer["system"]: answer for answer in answers if answer.get("mode") == mode}
        memcpy = times.get("memcpy", {}).get("times", [])
        for runner.system.name in SYSTEMS:
            if runner.system.name not in times:
                rows.append(runner.row(case, mode, *(("failed", problem) if problem else ("missing", NO_ALGORITHM))))
                continue
            of_system = times[runner.system.name]
            worst = of_system["worst_error"]
            row = runner.finished(case, mode, of_system["times"], memcpy, worst_error=worst if worst >= 0 else None,
                                  asynchronous_us=of_system["asynchronous_us"] or None)
            if worst > 1:
                row |= {"status": "wrong", "reason": f"the worst error is {worst:.3g} times the allowed error"}
            rows.append(row)
    return rows


class CubRunner(common.Runner):
    """A Runner whose rows are of two systems, which are measured together."""

    def rows(self, case, status, reason):
        rows = []
        for self.system.name in SYSTEMS:
            rows += super().rows(case, status, reason)
        return rows


def measure(runner, cases, results, made, seconds):
    """Runs cub_peer on all cases and writes the rows of each case when it ends. Returns the exit code."""
    text = "".join(line_of(runner.suite, case) + "\n" for case in cases)
    with tempfile.TemporaryFile("w+") as lines, tempfile.TemporaryFile("w+") as errors:
        lines.write(text)
        lines.seek(0)
        peer = subprocess.Popen([made, str(seconds)], stdin=lines, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            last = read_cases(runner, cases, results, peer.stdout)
            code = peer.wait()
        finally:
            peer.kill()
        if last == len(cases):
            return results.exit_code()
        errors.seek(0)
        why = errors.read().strip() or f"cub_peer ended with {code}"
    if code == 0:
        why = f"the limit of {seconds:.0f} s was reached"
    elif code == common.BROKEN:
        why = f"the device no longer works after {cases[last - 1]['name']}: {why}"
    elif last < len(cases):
        results.end(cases[last], runner.rows(cases[last], "failed", why))
        last += 1
        why = f"cub_peer ended within {cases[last - 1]['name']}"
    for case in cases[last:]:
        results.end(case, runner.rows(case, "not_run", why))
    return common.BROKEN if code else results.exit_code()


def read_cases(runner, cases, results, lines):
    """Reads cub_peer's output. Returns the number of cases that ended."""
    answers = []
    for i, case in enumerate(cases):
        results.begin(case)
        for line in lines:
            try:
                answer = json.loads(line)
            except ValueError:  # a partial line of a program that died
                return i
            if answer.get("done"):
                break
            answers.append(answer)
        else:
            return i
        results.end(case, rows_of(runner, case, answers))
        answers = []
    return len(cases)


def main():
    arguments = common.arguments_of()
    suite = common.Suite()
    cases = suite.chosen(arguments)
    if arguments.list:
        print(*(case["name"] for case in cases), sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that `measure` kills cub_peer
    runner = CubRunner(System(), suite, arguments)
    runner.system.name = "cub"
    results = common.Results(runner, cases, common.gpu_name() or "none")
    start = time.perf_counter()
    try:
        if arguments.device == "cpu":
            raise Missing("CUB runs on GPUs only")
        common.refuse_virtual_gpu(arguments)
        with tempfile.TemporaryDirectory() as folder:
            made = program(folder)
            seconds = arguments.seconds
            if seconds:  # without the time for compiling
                seconds = max(seconds - (time.perf_counter() - start), 1)
            return measure(runner, cases, results, made, seconds)
    except Missing as missing:
        print(f"cub is missing: {missing}")
        results.of_case = {case["name"]: runner.rows(case, "missing", str(missing)) for case in cases}
        results.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
