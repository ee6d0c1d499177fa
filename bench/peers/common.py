"""What all peers share: the cases, how they are measured one after the other, and the form of what is
written (bench/README.md). A peer is a System (system.py) with a few functions of its own."""

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
from judging import reference, worst_error
from machine import Nvml, gpu_name
from system import Missing, NotRun, System, Wrong

SUITE = pathlib.Path(__file__).resolve().parents[1] / "suite"
CHECKED_BYTES = 1 << 18  # larger cases are judged at their tiny sizes …
JUDGED_ON_DEVICE = 1 << 30  # … or up to here by the system itself in float64, if it can
BROKEN = 4  # the exit code once the device no longer works


# --- cases and references -----------------------------------------------------------------------


class Suite:
    def __init__(self, file=SUITE / "suite.json"):
        written = json.loads(pathlib.Path(file).read_text())
        self.ops = {op["op"]: op for op in written["ops"]}
        self.cases = written["cases"]

    def op(self, case):
        return self.ops[case["op"]]

    def chosen(self, arguments):
        """The cases that are asked for, each with the modes that are."""
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
            sys.exit(f"--after {arguments.after}: that is none of the {len(cases)} chosen cases; --list shows them")
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
        self.judged = {}  # op and dtype: worst error

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
                raise Missing("each op is to be a launch, and it would fuse them")
            return self.measured(case)
        except Missing as missing:
            status, reason = "missing", str(missing)
        except NotRun as why:
            status, reason = "not_run", str(why)
        except Wrong as wrong:
            status, reason = "wrong", str(wrong)
        except Exception as error:  # a system's own failure is a result, too
            status, reason = "failed", told(error)
        finally:
            self.release()
        return self.rows(case, status, reason)

    def release(self):
        try:
            self.system.release()
        except Exception:  # after an error of the device everything throws; why_broken tells
            pass

    def why_broken(self):
        """Why nothing works any more; empty if the device does."""
        try:
            self.system.try_device()
        except Exception as error:
            return told(error)
        return ""

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

    def measured(self, case):
        op = self.suite.op(case)
        if self.is_short and case["bytes"] > 1 << 24:
            raise NotRun("too large for the CPU")
        sets = 2 if self.is_short else timing.sets_of(op, case, self.system.l2_bytes())
        free = self.system.free_bytes()
        needed = 3 * sets * case["bytes"]  # inputs, results in and out of the graph, what is copied
        if free is not None and needed > 0.9 * free:
            raise NotRun(f"it needs {needed >> 20} MiB, {free >> 20} are free")
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
        effort = timing.Effort(self.call_us(call))
        copy = self.system.copy_call(case["bytes"], sets)
        rows = []
        for mode in case["modes"]:
            try:
                rows.append(self.timed(case, mode, call, copy, sets, effort)
                            | {"worst_error": worst, "prepare_ms": prepare_ms})
            except Missing as missing:
                rows.append(self.row(case, mode, "missing", str(missing)))
            except Exception as error:  # what cannot be captured may do well in a stream
                rows.append(self.row(case, mode, "failed", told(error)))
        return rows

    def call_us(self, call):
        """About how long one call takes, from rest to rest. Throws NotRun if that is too long."""
        times = []
        for i in range(3):
            start = time.perf_counter()
            call(i)
            self.system.synchronize()
            times.append(1e6 * (time.perf_counter() - start))
            if min(times) > timing.LONGEST_CALL_US:
                raise NotRun(f"one call takes {times[0] / 1e3:.0f} ms, at most "
                             f"{timing.LONGEST_CALL_US / 1e3:.0f} are waited for")
        return statistics.median(times)

    def timed(self, case, mode, call, copy, sets, effort):
        if mode == "E":
            return self.one_by_one(case, call, copy, effort)
        calls = 2 if self.is_short else effort.in_stream()
        if mode == "K":
            calls = sets if self.is_short else effort.in_graph(timing.calls_of(self.suite.op(case), case, sets), sets)
            works = [self.system.captured(one, calls) for one in (call, copy) if one]
        else:
            works = [lambda one=one: [one(i) for i in range(calls)] for one in (call, copy) if one]
        times = [[] for _ in works]
        for repeat in range(2) if self.is_short else timing.repeats():
            for work, seen in zip(works, times):
                work()  # keeps the device busy while the host submits what is timed
                elapsed = self.system.elapsed_us(work) / calls
                if repeat > 0:
                    seen.append(elapsed)
        return self.finished(case, mode, times[0], times[1] if len(times) > 1 else [], calls=calls, sets=sets)

    def one_by_one(self, case, call, copy, effort):
        calls = 3 if self.is_short else effort.one_by_one()

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
        many = 3 if self.is_short else effort.together()
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
    parser.add_argument("--seconds", type=float, default=0, help="begin no case after so many")
    parser.add_argument("--after", help="begin behind this case")
    parser.add_argument("--list", action="store_true", help="say which cases would be measured")
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


def show(rows):
    """A line for each; one for all that say the same."""
    lines = {}
    for row in rows:
        if row["status"] == "ok":
            ratio = "" if row["of_copy"] is None else f" {row['of_copy']:6.3f} of its copy"
            said = f"{row['us']['median']:10.2f} us {row['tb_per_s']:7.3f} TB/s{ratio}"
        else:
            said = f"{row['status']}: {row['reason']}"
        lines.setdefault((row["system"], said), []).append(row["mode"])
    for (system, said), modes in lines.items():
        print(f"{rows[0]['case']:<44} {system} {''.join(modes)} {said}", flush=True)


def told(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


class Results:
    """The rows of all cases, of which a file is kept that is whole at any time: if the program is stopped,
    it says of each case that it was not reached, and of the one that was under way that it did not end."""

    def __init__(self, runner, cases, device):
        self.runner = runner
        self.device = device
        self.of_case = {case["name"]: runner.rows(case, "not_run", "the program was stopped before") for case in cases}
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
    """Returns the exit code: 1 if a result was wrong or a case failed, BROKEN if one broke the device."""
    seconds, start = runner.arguments.seconds, time.perf_counter()
    broken = ""
    for case in cases:
        if broken:
            results.end(case, runner.rows(case, "not_run", broken))
        elif seconds and time.perf_counter() - start > seconds:
            results.end(case, runner.rows(case, "not_run", f"the {seconds:g} seconds were over"))
        else:
            results.begin(case)
            rows = runner.run(case)
            results.end(case, rows)
            if any(row["status"] == "failed" for row in rows) and (why := runner.why_broken()):
                broken = f"the device no longer works after {case['name']}: {why}"
    return BROKEN if broken else results.exit_code()


def main(name, make, words=None):
    """`make(arguments)` gives a System, or throws Missing or ImportError. Returns the exit code."""
    arguments = arguments_of(words)
    suite = Suite()
    cases = suite.chosen(arguments)
    if arguments.list:
        print(*(case["name"] for case in cases), sep="\n")
        return 0
    system, status, why = None, "missing", ""
    try:
        system = make(arguments)
    except (ImportError, OSError, Missing) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
    except Exception as error:
        status, why = "failed", told(error)
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
