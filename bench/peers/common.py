"""The part that all peers share: choosing cases, measuring them one after the other, and writing results
(bench/README.md). A peer is a System (system.py) with a few functions of its own."""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import time

import contents
import graph_text
import timing
from checking import reference, worst_error
from machine import Nvml, gpu_name, virtual_gpu_name
from system import Missing, NotRun, System, Wrong

SUITE = pathlib.Path(__file__).resolve().parents[1] / "suite"
CHECKED_BYTES = 1 << 18  # NumPy checks larger cases at their tiny sizes …
CHECKED_ON_DEVICE = 1 << 30  # … unless the system can check up to this size itself in float64
BROKEN = 4  # the exit code if the device no longer works


# --- cases and references -----------------------------------------------------------------------


class Suite:
    def __init__(self, file=SUITE / "suite.json"):
        written = json.loads(pathlib.Path(file).read_text())
        self.ops = {op["op"]: op for op in written["ops"]}
        self.cases = written["cases"]

    def op(self, case):
        return self.ops[case["op"]]

    def chosen(self, arguments):
        """The chosen cases, each with its chosen modes."""
        def is_chosen(case):
            return arguments.tier in case["tiers"] and case["modes"] and (
                not arguments.only or any(text == case["group"] or text in case["name"] for text in arguments.only))

        cases = [case | {"modes": "".join(mode for mode in case["modes"] if mode in arguments.modes)}
                 for case in self.cases]
        cases = [case for case in cases if is_chosen(case)]
        if not arguments.after:
            return cases
        names = [case["name"] for case in cases]
        if arguments.after not in names:
            sys.exit(f"--after {arguments.after}: it is not one of the {len(cases)} chosen cases; --list shows them")
        return cases[names.index(arguments.after) + 1:]

    def tiny(self, case):
        return next(one for one in self.cases if one["name"] == f"{case['op']}_{case['dtype']}_tiny")

    def result_dtypes(self, case):
        dtypes = {array["name"]: array["dtype"] for array in graph_text.outputs_of(self.op(case), case)}
        return dtypes | {name: "f32" for name in self.op(case)["updates"]}


# --- measuring ----------------------------------------------------------------------------------


class Runner:
    def __init__(self, system, suite, arguments):
        self.system = system
        self.suite = suite
        self.arguments = arguments
        self.nvml = Nvml()
        self.is_short = arguments.device == "cpu"
        self.worst_errors = {}  # by the name of a checked case

    def row(self, case, mode="K", status="ok", reason=None, **more):
        clocks = {"sm_mhz": self.nvml.mhz(1), "memory_mhz": self.nvml.mhz(2)}
        empty = {"us": None, "asynchronous_us": None, "tb_per_s": None, "copy_us": None, "memcpy_us": None,
                 "of_copy": None, "worst_error": None}
        return {"case": case["name"], "group": case["group"], "system": self.system.name, "mode": mode,
                "status": status, "reason": reason, "bytes": case["bytes"]} | empty | clocks | more

    def rows(self, case, status, reason):
        return [self.row(case, mode, status, reason) for mode in case["modes"]]

    def run(self, case):
        try:
            if case["dtype"] in self.system.unsupported:
                raise Missing(self.system.unsupported[case["dtype"]])
            if self.system.fuses and self.suite.op(case)["kernels"] > 1:
                raise Missing("each op must be a launch, but this system would fuse them")
            return self.measured(case)
        except Missing as missing:
            status, reason = "missing", str(missing)
        except NotRun as why:
            status, reason = "not_run", str(why)
        except Wrong as wrong:
            status, reason = "wrong", str(wrong)
        except Exception as error:  # a failure of the system is a result too
            status, reason = "failed", error_text(error)
        finally:
            self.release()
        return self.rows(case, status, reason)

    def release(self):
        try:
            self.system.release()
        except Exception:  # after a device error every call throws; device_error reports it
            pass

    def device_error(self):
        """The error of a device that no longer works; empty if it works."""
        try:
            self.system.try_device()
        except Exception as error:
            return error_text(error)
        return ""

    def check_results(self, op, case, arrays, function):
        worst = None
        if CHECKED_BYTES < case["bytes"] <= CHECKED_ON_DEVICE:
            worst = self.system.worst_error_on_device(op, case, self.suite.result_dtypes(case), arrays, function)
        if worst is None:
            worst = self.check_small(case if case["bytes"] <= CHECKED_BYTES else self.suite.tiny(case))
        if not worst <= 1:
            raise Wrong(f"the worst error is {worst:.3g} times the allowed error")
        return worst

    def check_small(self, case):
        """The worst error of a small case, found by the formula in float64. Each case is checked once."""
        if case["name"] not in self.worst_errors:
            op = self.suite.op(case)
            arrays = self.system.arrays(contents.inputs_of(op, case))
            results = self.system.function(op, case)(arrays)
            results = {name: self.system.to_numpy(value) for name, value in results.items()}
            self.worst_errors[case["name"]] = worst_error(case, self.suite.result_dtypes(case), results,
                                                    reference(op, case))
        return self.worst_errors[case["name"]]

    def measured(self, case):
        op = self.suite.op(case)
        if self.is_short and case["bytes"] > 1 << 24:
            raise NotRun("too large for the CPU")
        sets = 2 if self.is_short else timing.sets_of(op, case, self.system.l2_bytes())
        free = self.system.free_bytes()
        needed = 3 * sets * case["bytes"]  # inputs, results in and out of the graph, and copies
        if free is not None and needed > 0.9 * free:
            raise NotRun(f"it needs {needed >> 20} MiB, {free >> 20} are free")
        inputs = contents.inputs_of(op, case)
        data = [self.system.arrays(inputs) for _ in range(sets)]
        function = self.system.function(op, case)
        worst = self.check_results(op, case, data[0], function)
        kept = [None] * sets  # the results of the last `sets` calls stay alive

        def call(i):
            kept[i % sets] = function(data[i % sets])

        start = time.perf_counter()
        call(0)
        call(1)
        self.system.synchronize()
        prepare_ms = 1e3 * (time.perf_counter() - start)
        counts = timing.CallCounts(self.call_us(call))
        copy = self.system.copy_call(case["bytes"], sets)
        rows = []
        for mode in case["modes"]:
            try:
                rows.append(self.timed(case, mode, call, copy, sets, counts)
                            | {"worst_error": worst, "prepare_ms": prepare_ms})
            except Missing as missing:
                rows.append(self.row(case, mode, "missing", str(missing)))
            except Exception as error:  # a call that cannot be captured may work in a stream
                rows.append(self.row(case, mode, "failed", error_text(error)))
        return rows

    def call_us(self, call):
        """The approximate time of one call on an idle device, with a wait. Raises NotRun if it is too long."""
        times = []
        for i in range(3):
            start = time.perf_counter()
            call(i)
            self.system.synchronize()
            times.append(1e6 * (time.perf_counter() - start))
            if min(times) > timing.MAX_CALL_US:
                raise NotRun(f"one call takes {times[0] / 1e3:.0f} ms; the limit is "
                             f"{timing.MAX_CALL_US / 1e3:.0f} ms")
        return statistics.median(times)

    def timed(self, case, mode, call, copy, sets, counts):
        if mode == "E":
            return self.one_by_one(case, call, copy, counts)
        calls = 2 if self.is_short else counts.in_stream()
        if mode == "K":
            calls = sets if self.is_short else counts.in_graph(timing.calls_of(self.suite.op(case), case, sets), sets)
            works = [self.system.captured(one, calls) for one in (call, copy) if one]
        else:
            works = [lambda one=one: [one(i) for i in range(calls)] for one in (call, copy) if one]
        times = [[] for _ in works]
        for repeat in range(2) if self.is_short else timing.repeats():
            for work, seen in zip(works, times):
                work()  # the device is busy with this while the host submits the timed work
                elapsed = self.system.elapsed_us(work) / calls
                if repeat > 0:
                    seen.append(elapsed)
        return self.finished(case, mode, times[0], times[1] if len(times) > 1 else [], calls=calls, sets=sets)

    def one_by_one(self, case, call, copy, counts):
        calls = 3 if self.is_short else counts.one_by_one()

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
        many = 3 if self.is_short else counts.together()
        start = time.perf_counter()
        for i in range(many):
            call(i)
        self.system.synchronize()
        together = 1e6 * (time.perf_counter() - start) / many
        return self.finished(case, "E", times, synchronised(copy) if copy else [], calls=calls) | {
            "asynchronous_us": together}

    def finished(self, case, mode, times, copy_times, **more):
        us, memcpy = timing.quartiles(times), timing.quartiles(copy_times)
        median = us["median"]
        return self.row(case, mode, us=us, memcpy_us=memcpy, tb_per_s=case["bytes"] / median * 1e-6,
                        of_copy=memcpy["median"] / median if memcpy else None, **more)


# --- the program --------------------------------------------------------------------------------


def modes_of(text):
    if not text or set(text) - set("KLE"):
        raise argparse.ArgumentTypeError(f"{text!r} are not some of K, L and E")
    return text


def arguments_of(words=None):
    parser = argparse.ArgumentParser(description="Measures a system on sinter's suite.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tier", choices=["tiny", "quick", "full", "sweep"], default="quick")
    parser.add_argument("--tiny", dest="tier", action="store_const", const="tiny")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--modes", type=modes_of, default="KLE", help="some of K, L and E")
    parser.add_argument("--seconds", type=float, default=0, help="start no case after this many seconds")
    parser.add_argument("--after", help="start after this case, to continue an interrupted run")
    parser.add_argument("--list", action="store_true", help="list the cases that would be measured")
    parser.add_argument("--json", help="the file for the results")
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


def show(rows):
    """Prints a line per row; rows of several modes with equal text share a line."""
    lines = {}
    for row in rows:
        if row["status"] == "ok":
            ratio = "" if row["of_copy"] is None else f" {row['of_copy']:6.3f} of its copy"
            text = f"{row['us']['median']:10.2f} us {row['tb_per_s']:7.3f} TB/s{ratio}"
        else:
            text = f"{row['status']}: {row['reason']}"
        lines.setdefault((row["system"], text), []).append(row["mode"])
    for (system, text), modes in lines.items():
        print(f"{rows[0]['case']:<44} {system} {''.join(modes)} {text}", flush=True)


def error_text(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


class Results:
    """The rows of all cases, written to a file that is complete at any time. If the program is stopped, the file
    says which cases were not reached, and that the running case did not end."""

    def __init__(self, runner, cases, device):
        self.runner = runner
        self.device = device
        self.of_case = {case["name"]: runner.rows(case, "not_run", "the program was stopped earlier") for case in cases}
        self.write()

    def begin(self, case):
        self.of_case[case["name"]] = self.runner.rows(case, "failed", "it did not end")
        self.write()

    def end(self, case, rows):
        show(rows)
        self.of_case[case["name"]] = rows
        self.write()

    def rows(self):
        return [row for rows in self.of_case.values() for row in rows]

    def write(self):
        arguments, system = self.runner.arguments, self.runner.system
        write(arguments.json, system, self.device, arguments.tier, self.runner.nvml.driver(), self.rows())

    def exit_code(self):
        return 1 if any(row["status"] in ("wrong", "failed") for row in self.rows()) else 0


def measure_all(runner, cases, results):
    """Returns the exit code: 1 if a result was wrong or a case failed, BROKEN if a case broke the device."""
    seconds, start = runner.arguments.seconds, time.perf_counter()
    broken = ""
    for case in cases:
        if broken:
            results.end(case, runner.rows(case, "not_run", broken))
        elif seconds and time.perf_counter() - start > seconds:
            results.end(case, runner.rows(case, "not_run", f"the limit of {seconds:g} s was reached"))
        else:
            results.begin(case)
            rows = runner.run(case)
            results.end(case, rows)
            if any(row["status"] == "failed" for row in rows) and (why := runner.device_error()):
                broken = f"the device no longer works after {case['name']}: {why}"
    return BROKEN if broken else results.exit_code()


def refuse_virtual_gpu(arguments):
    if arguments.device == "cuda" and (name := virtual_gpu_name()):
        raise Missing(f"{name} interprets kernels, so its times mean nothing")


def main(name, make, words=None):
    """Measures the System that `make(arguments)` returns. `make` raises Missing or ImportError if the system is not
    available. Returns the exit code."""
    arguments = arguments_of(words)
    suite = Suite()
    cases = suite.chosen(arguments)
    if arguments.list:
        print(*(case["name"] for case in cases), sep="\n")
        return 0
    system, status, why = None, "missing", ""
    try:
        refuse_virtual_gpu(arguments)
        system = make(arguments)
    except (ImportError, OSError, Missing) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
    except Exception as error:
        status, why = "failed", error_text(error)
    if system is not None:
        runner = Runner(system, suite, arguments)
        device = "cpu" if arguments.device == "cpu" else system.device_name or gpu_name()
        return measure_all(runner, cases, Results(runner, cases, device))
    runner = Runner(System(), suite, arguments)
    runner.system.name = name
    results = Results(runner, cases, "cpu" if arguments.device == "cpu" else gpu_name())
    results.of_case = {case["name"]: runner.rows(case, status, why)[:1] for case in cases}
    results.write()
    print(f"{name} is missing: {why}" if status == "missing" else f"{name} does not start: {why}")
    return results.exit_code()


def exit_with(code):
    sys.stdout.flush()
    sys.exit(code)
