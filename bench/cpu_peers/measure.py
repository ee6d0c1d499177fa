#!/usr/bin/env python3
"""Measures sinter's host device and its peers on the CPU, in turns, in one run.

  bench/cpu_peers/measure.py --sinter build/release/bin/cpu_peer --out FOLDER [--only TEXT,…] [--sizes 64KiB,…]
      FOLDER gets results.json, table.md and, if there is matplotlib, ratios.svg.

Each system is a process of its own, limited to the same CPUs and threads. In each round every system is timed once,
in a random order, so that a change of the machine's speed meets all of them. The other processes are stopped
meanwhile, because threads of some systems wait actively. A call's time includes the wait for its result. Results are
compared with NumPy in float64 before any time counts. Systems that are not installed are skipped by name.

Exit codes: 0 all results are right, 1 a result was wrong or a case failed, 2 usage error."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases  # noqa: E402
import report  # noqa: E402

PEERS = ["numpy", "jax", "torch_eager", "torch_compile"]
BATCH_US = 20_000  # the intended time of one system in one round
MOST_CALLS = 2000
WARM_UP_S = 5  # a virtual machine that was idle wakes its second CPU slowly for some seconds


class Process:
    """A worker, or the reason for which there is none."""

    def __init__(self, name, command):
        self.name = name
        self.version = ""
        self.reason = ""
        variables = {name: str(ARGUMENTS.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, env=os.environ | variables)
        except OSError as error:
            self.reason = str(error)
            return
        first = self.read()
        self.version = first.get("version", "")
        self.reason = first.get("reason", "")

    def read(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.reason = f"the process ended with exit code {self.process.wait()}"
        return {"status": "failed", "reason": self.reason}

    def ask(self, **command):
        """The answer to a command. The process runs until then only."""
        if self.reason:
            return {"status": "missing", "reason": self.reason}
        self.process.send_signal(signal.SIGCONT)
        try:
            print(json.dumps(command), file=self.process.stdin, flush=True)
        except OSError:  # the process has ended; read() finds out how
            pass
        answer = self.read()
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def end(self):
        if not hasattr(self, "process"):
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


def start_all(suite_file):
    commands = {name: [ARGUMENTS.sinter, str(suite_file), str(ARGUMENTS.threads), *arguments]
                for name, arguments in cases.OWN.items()}
    for name in PEERS:
        commands[name] = [sys.executable, str(HERE / "worker.py"), name, str(suite_file), str(ARGUMENTS.threads)]
    processes = [Process(name, command) for name, command in commands.items() if name in ARGUMENTS.systems]
    for one in processes:
        print(f"{one.name}: {'missing: ' + one.reason if one.reason else one.version}", flush=True)
    return processes


def array_of(folder, name, dtype):
    """A result that a worker wrote: NumPy's format, or sinter's raw elements."""
    import numpy as np
    path = folder / f"{name}.npy"
    if path.exists():
        return np.load(path)
    raw = (folder / name).read_bytes()
    if dtype == "bf16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, {"f32": np.float32, "i64": np.int64}[dtype])


class Checker:
    """Compares the results of a case with float64. Each op and dtype above the limit is checked once per system."""

    def __init__(self, suite):
        sys.path.insert(0, str(HERE.parent / "peers"))
        import own_formulas  # noqa: F401
        self.ops = {op["op"]: op for op in suite["ops"]}
        self.cases = {case["name"]: case for case in suite["cases"]}
        self.expected = {}  # the reference of the latest checked case only, by name
        self.worst = {}  # by system and checked case

    def checked(self, case):
        if case["bytes"] <= 1.1 * cases.LARGEST_CHECKED:
            return case
        return self.cases[f"{case['op']}_{case['dtype']}_checked"]

    def worst_error(self, process, case):
        """An answer: {"worst"}, or a status and its reason."""
        key = process.name, self.checked(case)["name"]
        if key not in self.worst:
            self.worst[key] = self.compare(process, self.checked(case))
        return self.worst[key]

    def compare(self, process, case):
        import checking
        import graph_text
        from system import Wrong
        answer = process.ask(do="prepare", case=case["name"])
        if "status" in answer:
            return answer
        if case["name"] not in self.expected:
            self.expected = {case["name"]: checking.reference(self.ops[case["op"]], case)}
        op, expected = self.ops[case["op"]], self.expected[case["name"]]
        dtypes = {array["name"]: array["dtype"] for array in graph_text.outputs_of(op, case)}
        dtypes |= {name: "f32" for name in op["updates"]}
        with tempfile.TemporaryDirectory() as folder:
            answer = process.ask(do="results", folder=folder)
            if "status" not in answer:
                results = {name: array_of(pathlib.Path(folder), name, dtypes[name]) for name in expected}
        process.ask(do="release")
        if "status" in answer:
            return answer
        try:
            worst = checking.worst_error(case, dtypes, results, expected)
        except Wrong as wrong:
            return {"status": "wrong", "reason": str(wrong)}
        if not worst <= 1:
            return {"status": "wrong", "reason": f"the worst error is {worst:.3g} times the allowed error"}
        return {"worst": worst}


def measured(case, processes, checker):
    """A row per system."""
    rows = {one.name: {"case": case["name"], "op": case["op"], "dtype": case["dtype"], "bytes": case["bytes"],
                       "system": one.name, "status": "ok", "reason": "", "us": []} for one in processes}
    ready = {}
    for one in processes:
        answer = checker.worst_error(one, case)
        if "status" not in answer:
            rows[one.name]["worst_error"] = answer["worst"]
            answer = one.ask(do="prepare", case=case["name"])
        if "status" not in answer:
            rows[one.name]["prepare_ms"] = answer["prepare_ms"]
            answer = one.ask(do="time", calls=2)
        if "status" not in answer:
            answer = one.ask(do="time", calls=1)
        if "status" in answer:
            rows[one.name] |= {"status": answer["status"], "reason": answer["reason"]}
            continue
        ready[one] = int(min(max(BATCH_US / max(answer["us"], 1), 1), MOST_CALLS))
    for _ in range(ARGUMENTS.rounds):
        order = list(ready)
        random.shuffle(order)
        for one in order:
            answer = one.ask(do="time", calls=ready[one])
            if "status" in answer:
                rows[one.name] |= {"status": answer["status"], "reason": answer["reason"]}
                del ready[one]
                continue
            rows[one.name]["us"].append(round(answer["us"] / ready[one], 2))
    for one in processes:
        one.ask(do="release")
    for row in rows.values():
        row["median_us"] = statistics.median(row["us"]) if row["us"] else None
    return list(rows.values())


def show(rows):
    found = [f"{row['system']} {row['median_us']:.1f} us" if row["status"] == "ok" else
             f"{row['system']} {row['status']}" for row in rows]
    print(f"{rows[0]['case']:<34} {', '.join(found)}", flush=True)
    for row in rows:
        if row["status"] in ("wrong", "failed"):
            print(f"  {row['system']}: {row['reason']}", flush=True)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--sinter", default=str(HERE.parents[1] / "build/release/bin/cpu_peer"),
                        help="the program cpu_peer")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for the results")
    parser.add_argument("--systems", type=listed, default=list(cases.OWN) + PEERS)
    parser.add_argument("--only", type=listed, default=[], help="ops whose names contain one of these texts")
    parser.add_argument("--dtypes", type=listed, default=["f32", "bf16"])
    parser.add_argument("--sizes", type=listed, default=list(cases.SIZES), help=f"some of {','.join(cases.SIZES)}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    for given, known in ((arguments.sizes, cases.SIZES), (arguments.systems, list(cases.OWN) + PEERS),
                         (arguments.dtypes, ["f32", "bf16"])):
        for one in given:
            if one not in known:
                parser.error(f"{one} is not one of {', '.join(known)}")
    allowed = sorted(os.sched_getaffinity(0))
    if not 1 <= arguments.threads <= len(allowed):
        parser.error(f"--threads {arguments.threads}: this process may use {len(allowed)} CPUs")
    os.sched_setaffinity(0, allowed[:arguments.threads])  # the limit of systems without a setting for threads
    return arguments


def main():
    suite = cases.suite(ARGUMENTS.only, ARGUMENTS.dtypes, ARGUMENTS.sizes)
    chosen = [case for case in suite["cases"] if case["tiers"] == ["full"]]
    if not chosen:
        sys.exit(f"measure.py: no case has a name with {', '.join(ARGUMENTS.only)}")
    ARGUMENTS.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        suite_file = pathlib.Path(folder) / "suite.json"
        suite_file.write_text(json.dumps(suite))
        processes = start_all(suite_file)
        checker = Checker(suite)
        results = {"schema": "sinter-cpu-peers-1", "processor": processor(), "threads": ARGUMENTS.threads,
                   "rounds": ARGUMENTS.rounds, "systems": {one.name: one.version or one.reason for one in processes},
                   "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "rows": []}
        warm = time.monotonic() + WARM_UP_S
        while time.monotonic() < warm:
            measured(chosen[0], processes, checker)
        for case in chosen:
            rows = measured(case, processes, checker)
            show(rows)
            results["rows"] += rows
            (ARGUMENTS.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        for one in processes:
            one.end()
    text = report.summary(results) + "\n" + report.table(results)
    (ARGUMENTS.out / "table.md").write_text(text)
    print("\n" + text)
    report.draw(results, ARGUMENTS.out / "ratios.svg")
    sys.exit(1 if any(row["status"] in ("wrong", "failed") for row in results["rows"]) else 0)


if __name__ == "__main__":
    ARGUMENTS = arguments_of()
    main()
