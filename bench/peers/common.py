"""What all peers share: the cases, how calls are timed, how results are judged, and the form of what is
written (bench/README.md). A peer is a System with a few functions of its own."""

import argparse
import ctypes
import datetime
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

import contents
import graph_text
from formulas import FORMULAS
from words import ArrayWords

SUITE = pathlib.Path(__file__).resolve().parents[1] / "suite"
FLOAT64 = {name: np.float64 for name in ("f32", "bf16", "f16", "f64")} | {
    name: contents.NUMPY[name] for name in ("i8", "i32", "i64")}
TOLERANCE = {"f32": 2e-5, "bf16": 4e-2, "f16": 4e-3, "i64": 0.0}
SUMS = {"full_sum", "dot", "row_sum", "column_sum", "rms_norm_backward", "layer_norm_backward"}
MOST_KERNELS = 4096  # in a graph; all of this as bench/suite/graph_size.h has it
GRAPH_US = 2000  # a graph is to take about as long
KERNEL_US = 2
BYTES_PER_US = 4e6
CHECKED_BYTES = 1 << 18  # larger cases are judged at their tiny sizes …
JUDGED_ON_DEVICE = 1 << 30  # … or up to here by the system itself in float64, if it can


class Missing(Exception):
    """A system cannot do this, for a reason that is reported."""


class Wrong(Exception):
    """A result is not what the formula says."""


# --- cases and references -----------------------------------------------------------------------


class Suite:
    def __init__(self, file=SUITE / "suite.json"):
        written = json.loads(pathlib.Path(file).read_text())
        self.ops = {op["op"]: op for op in written["ops"]}
        self.cases = written["cases"]

    def op(self, case):
        return self.ops[case["op"]]

    def chosen(self, tier, only):
        def is_named(case):
            return not only or any(text == case["group"] or text in case["name"] for text in only)
        return [case for case in self.cases if tier in case["tiers"] and is_named(case)]

    def tiny(self, case):
        return next(one for one in self.cases if one["name"] == f"{case['op']}_{case['dtype']}_tiny")

    def result_dtypes(self, case):
        dtypes = {array["name"]: array["dtype"] for array in graph_text.outputs_of(self.op(case), case)}
        return dtypes | {name: "f32" for name in self.op(case)["updates"]}


def reference(op, case):
    """The results in float64, of the numbers that the inputs hold once they are rounded."""
    words = ArrayWords(np, FLOAT64, np.float64)
    arrays = {one.name: one.whole().astype(FLOAT64[one.dtype]) for one in contents.inputs_of(op, case)}
    results = FORMULAS[case["op"]](words, **arrays)
    return {name: np.asarray(value) for name, value in results.items()}


def error_scale(case, size, largest):
    """What a sum may be off by in units of its elements, beside a share of itself."""
    if case["op"] not in SUMS:
        return 0.0
    return math.sqrt(max(largest, math.prod(case["sizes"].values())) / size)


def worst_error(case, dtypes, results, expected):
    """Largest error over what its dtype allows; at most 1 is right. Throws Wrong where shapes differ."""
    worst = 0.0
    largest = max(value.size for value in expected.values())
    for name, wanted in expected.items():
        actual = np.asarray(results[name], np.float64).reshape(-1)
        flat = wanted.astype(np.float64).reshape(-1)
        if actual.size != flat.size:
            raise Wrong(f"{name} has {actual.size} elements, not {flat.size}")
        if dtypes[name] == "i64":
            worst = max(worst, 0.0 if np.array_equal(actual, flat) else math.inf)
            continue
        scale = np.abs(flat) + np.sqrt(np.mean(flat * flat)) + error_scale(case, flat.size, largest)
        error = np.abs(actual - flat) / (TOLERANCE[dtypes[name]] * scale + 1e-30)
        worst = max(worst, math.inf if np.isnan(error).any() else float(error.max()))
    return worst


def sets_of(op, case, l2_bytes=60 << 20):
    """So many sets of arrays that none is in L2 when its turn comes, but no more than calls may be in a graph."""
    most = max(MOST_KERNELS // op["kernels"], 2)
    return min(max(3 * l2_bytes // case["bytes"] + 1, 2), most)


def calls_of(op, case, sets):
    """Calls in a graph, each set as often as every other."""
    wanted = max(4, int(GRAPH_US / (KERNEL_US * op["kernels"] + case["bytes"] / BYTES_PER_US)))
    return -(-wanted // sets) * sets


# --- systems ------------------------------------------------------------------------------------


class System:
    """One of the peers. Functions that it lacks throw Missing."""

    name = "?"
    version = "?"
    device_name = ""
    unsupported = {}  # dtype: why not

    def arrays(self, inputs):
        """Device arrays of contents.Inputs, as a dict."""
        raise NotImplementedError

    def function(self, op, case):
        """A function of such a dict to a dict of results."""
        raise NotImplementedError

    def to_numpy(self, array):
        raise NotImplementedError

    def synchronize(self):
        raise NotImplementedError

    def elapsed_us(self, work):
        """Of `work()`, between two events of the device; here by the clock of the host, from rest."""
        self.synchronize()
        start = time.perf_counter()
        work()
        self.synchronize()
        return 1e6 * (time.perf_counter() - start)

    def captured(self, call, calls):
        """A function that launches a CUDA Graph of so many calls."""
        raise Missing(f"{self.name} cannot be captured into a CUDA Graph")

    def copy_call(self, case_bytes, sets):
        """A function of the number of a call that copies half of the bytes, or None."""
        return None

    def judged_on_device(self, op, case, dtypes, arrays, function):
        """As worst_error, by a float64 computation of the system's own; None where it has none."""
        return None

    def free_bytes(self):
        return None

    def l2_bytes(self):
        return 60 << 20

    def release(self):
        """After each case."""


class Nvml:
    """The clocks and the driver's version, as far as NVML says them."""

    def __init__(self):
        self.device = ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByIndex_v2(
                    0, ctypes.byref(self.device)):
                self.library = None
        except OSError:
            self.library = None

    def mhz(self, kind):
        value = ctypes.c_uint()
        if self.library is None or self.library.nvmlDeviceGetClockInfo(self.device, kind, ctypes.byref(value)):
            return None
        return value.value

    def driver(self):
        text = ctypes.create_string_buffer(96)
        if self.library is None or self.library.nvmlSystemGetDriverVersion(text, 96):
            return ""
        return text.value.decode()


def quartiles(times):
    if not times:
        return None
    ordered = sorted(times)
    if len(ordered) == 1:
        return {"lower": ordered[0], "median": ordered[0], "upper": ordered[0]}
    lower, median, upper = statistics.quantiles(ordered, n=4, method="inclusive")
    return {"lower": lower, "median": median, "upper": upper}


# --- measuring ----------------------------------------------------------------------------------


class Runner:
    def __init__(self, system, suite, arguments):
        self.system = system
        self.suite = suite
        self.arguments = arguments
        self.nvml = Nvml()
        self.is_short = arguments.device == "cpu"
        self.judged = {}  # op and dtype: worst error

    def row(self, case, mode="K", status="ok", reason=None, **more):
        clocks = {"sm_mhz": self.nvml.mhz(1), "memory_mhz": self.nvml.mhz(2)}
        empty = {"us": None, "asynchronous_us": None, "tb_per_s": None, "copy_us": None, "memcpy_us": None,
                 "of_copy": None, "worst_error": None}
        return {"case": case["name"], "group": case["group"], "system": self.system.name, "mode": mode,
                "status": status, "reason": reason, "bytes": case["bytes"]} | empty | clocks | more

    def run(self, case):
        modes = [mode for mode in case["modes"] if mode in self.arguments.modes]
        try:
            if case["dtype"] in self.system.unsupported:
                raise Missing(self.system.unsupported[case["dtype"]])
            return self.measured(case, modes)
        except Missing as missing:
            status, reason = "missing", str(missing)
        except Wrong as wrong:
            status, reason = "wrong", str(wrong)
        except Exception as error:  # a system's own failure is a result, too
            status, reason = "failed", f"{type(error).__name__}: {error}".splitlines()[0][:300]
        finally:
            self.system.release()
        return [self.row(case, mode, status, reason) for mode in modes]

    def judge(self, op, case, arrays, function):
        worst = None
        if CHECKED_BYTES < case["bytes"] <= JUDGED_ON_DEVICE:
            worst = self.system.judged_on_device(op, case, self.suite.result_dtypes(case), arrays, function)
        if worst is None:
            worst = self.judge_small(case if case["bytes"] <= CHECKED_BYTES else self.suite.tiny(case))
        if not worst <= 1:
            raise Wrong(f"the worst error is {worst:.3g} times what is allowed")
        return worst

    def judge_small(self, case):
        """By the formula in float64, once for each op and dtype."""
        if case["name"] not in self.judged:
            op = self.suite.op(case)
            arrays = self.system.arrays(contents.inputs_of(op, case))
            results = self.system.function(op, case)(arrays)
            results = {name: self.system.to_numpy(value) for name, value in results.items()}
            self.judged[case["name"]] = worst_error(case, self.suite.result_dtypes(case), results,
                                                    reference(op, case))
        return self.judged[case["name"]]

    def measured(self, case, modes):
        op = self.suite.op(case)
        if self.is_short and case["bytes"] > 1 << 24:
            raise Missing("too large for the CPU")
        sets = 2 if self.is_short else sets_of(op, case, self.system.l2_bytes())
        free = self.system.free_bytes()
        needed = 3 * sets * case["bytes"]  # inputs, results in and out of the graph, what is copied
        if free is not None and needed > 0.9 * free:
            raise Missing(f"it needs {needed >> 20} MiB, {free >> 20} are free")
        inputs = contents.inputs_of(op, case)
        data = [self.system.arrays(inputs) for _ in range(sets)]
        function = self.system.function(op, case)
        worst = self.judge(op, case, data[0], function)
        kept = [None] * sets  # results of as many calls live side by side

        def call(i):
            kept[i % sets] = function(data[i % sets])

        start = time.perf_counter()
        call(0)
        call(1)
        self.system.synchronize()
        prepare_ms = 1e3 * (time.perf_counter() - start)
        copy = self.system.copy_call(case["bytes"], sets)
        rows = []
        for mode in modes:
            try:
                rows.append(self.timed(case, mode, call, copy, sets)
                            | {"worst_error": worst, "prepare_ms": prepare_ms})
            except Missing as missing:
                rows.append(self.row(case, mode, "missing", str(missing)))
        return rows

    def timed(self, case, mode, call, copy, sets):
        if mode == "E":
            return self.one_by_one(case, call, copy)
        calls = 2 if self.is_short else 50
        if mode == "K":
            calls = sets if self.is_short else calls_of(self.suite.op(case), case, sets)
            works = [self.system.captured(one, calls) for one in (call, copy) if one]
        else:
            works = [lambda one=one: [one(i) for i in range(calls)] for one in (call, copy) if one]
        times = [[] for _ in works]
        for repeat in range(2 if self.is_short else 10):
            for work, seen in zip(works, times):
                work()  # keeps the device busy while the host submits what is timed
                elapsed = self.system.elapsed_us(work) / calls
                if repeat > 0:
                    seen.append(elapsed)
        return self.finished(case, mode, times[0], times[1] if len(times) > 1 else [], calls=calls, sets=sets)

    def one_by_one(self, case, call, copy):
        calls = 3 if self.is_short else 200

        def synchronised(one):
            times = []
            for i in range(calls + 1):
                start = time.perf_counter()
                one(i)
                self.system.synchronize()
                if i > 0:
                    times.append(1e6 * (time.perf_counter() - start))
            return times

        times = synchronised(call)
        many = 3 if self.is_short else 1000
        start = time.perf_counter()
        for i in range(many):
            call(i)
        self.system.synchronize()
        together = 1e6 * (time.perf_counter() - start) / many
        return self.finished(case, "E", times, synchronised(copy) if copy else [], calls=calls) | {
            "asynchronous_us": together}

    def finished(self, case, mode, times, copy_times, **more):
        us, memcpy = quartiles(times), quartiles(copy_times)
        median = us["median"]
        return self.row(case, mode, us=us, memcpy_us=memcpy, tb_per_s=case["bytes"] / median * 1e-6,
                        of_copy=memcpy["median"] / median if memcpy else None, **more)


# --- the program --------------------------------------------------------------------------------


def arguments_of(words=None):
    parser = argparse.ArgumentParser(description="Measures a system on sinter's suite.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tier", choices=["tiny", "quick", "full", "sweep"], default="quick")
    parser.add_argument("--tiny", dest="tier", action="store_const", const="tiny")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--modes", default="KLE")
    parser.add_argument("--seconds", type=float, default=0, help="begin no case after so many")
    parser.add_argument("--json", help="where results are written")
    return parser.parse_args(words)


def write(path, system, device, tier, driver, rows):
    if not path:
        return
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    results = {"schema": "sinter-bench-1", "system": system.name, "version": system.version, "device": device,
               "driver": driver, "date": date, "tier": tier, "rows": rows}
    part = pathlib.Path(str(path) + ".part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    part.rename(path)


def show(row):
    if row["status"] == "ok":
        ratio = "" if row["of_copy"] is None else f" {row['of_copy']:6.3f} of its copy"
        print(f"{row['case']:<44} {row['mode']} {row['us']['median']:10.2f} us {row['tb_per_s']:7.3f} TB/s{ratio}",
              flush=True)
    else:
        print(f"{row['case']:<44} {row['mode']} {row['status']}: {row['reason']}", flush=True)


def gpu_name():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", "0"], text=True,
                              capture_output=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def main(name, make, words=None):
    """`make(arguments)` gives a System, or throws Missing or ImportError. Returns the exit code: 1 if a
    result was wrong or a case failed."""
    arguments = arguments_of(words)
    suite = Suite()
    cases = suite.chosen(arguments.tier, arguments.only)
    start = time.perf_counter()
    try:
        system = make(arguments)
        absent = None
    except (ImportError, OSError, Missing) as error:
        system = System()
        system.name = name
        absent = str(error).splitlines()[0] or type(error).__name__
    runner = Runner(system, suite, arguments)
    device = "cpu" if arguments.device == "cpu" else system.device_name or gpu_name()
    rows = []
    for case in cases:
        if absent is not None:
            found = [runner.row(case, case["modes"][0], "missing", absent)]
        elif arguments.seconds and time.perf_counter() - start > arguments.seconds:
            found = [runner.row(case, case["modes"][0], "not_run",
                                f"the {arguments.seconds:g} seconds were over")]
        else:
            found = runner.run(case)
            for row in found:
                show(row)
        rows += found
        write(arguments.json, system, device, arguments.tier, runner.nvml.driver(), rows)
    if absent is not None:
        print(f"{name} is missing: {absent}")
    return 1 if any(row["status"] in ("wrong", "failed") for row in rows) else 0


def exit_with(code):
    sys.stdout.flush()
    sys.exit(code)
