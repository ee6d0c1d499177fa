"""Compares counted figures with a baseline, for sm_90 and without a GPU. The figures are those of `sinter explain
--json` for each case of the suite and each pattern, and the instructions that the compiler itself executes."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SUITE = pathlib.Path(__file__).resolve().parents[1] / "suite"
sys.path.insert(0, str(SUITE))
import graph_text  # noqa: E402

from comparing import patterns  # noqa: E402

ARCH = "sm_90"
ALLOWED = 1.10
# Cases for which callgrind counts the instructions of recording, planning and emission.
COUNTED_BY_CALLGRIND = ["add_f32_64MiB", "softmax_bf16_32768x4096", "rms_norm_backward_bf16_32768x4096",
                        "foreach_adamw_25_f32_1024x4096"]


class Failed(Exception):
    """The figures of a case cannot be determined."""


def figures_of(sinter, case):
    """The figures of one graph. Registers and spills are omitted if NVRTC is missing."""
    sizes = [word for size in case.get("symbols", []) for word in ("--size", size)]
    ran = subprocess.run([sinter, "explain", "-", "--json", "--arch", ARCH, *sizes], input=case["text"],
                         capture_output=True, text=True, env=os.environ | {"SINTER_CACHE": "off"})
    if ran.returncode:
        raise Failed(f"{case['name']}: {ran.stderr.strip()}")
    explanation = json.loads(ran.stdout)
    kernels = explanation["kernels"]
    figures = {"kernels": len(kernels), "launches": explanation["totals"]["launches"],
               "bytes": explanation["totals"]["bytes"]}
    if all(kernel["registers"] is not None for kernel in kernels):
        figures["registers"] = max(kernel["registers"] for kernel in kernels)
        figures["spill_bytes"] = sum(kernel["spill_bytes"] for kernel in kernels)
    return figures


def instructions_of(sinter, text):
    """The instructions that `sinter dump --stage source` executes: parsing, recording, planning and emission."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/callgrind"
        ran = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sinter, "dump", "-",
                              "--stage", "source", "--arch", ARCH],
                             input=text, capture_output=True, text=True, env=os.environ | {"SINTER_CACHE": "off"})
        if ran.returncode:
            raise Failed(ran.stderr.strip().splitlines()[-1])
        return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(out).read_text(), re.M).group(1))


def current(arguments, cases):
    """{case: figures} of the present compiler."""
    texts = {case["name"]: case["text"] for case in cases}
    jobs = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        figures = dict(zip(texts, pool.map(lambda case: figures_of(arguments.sinter, case), cases)))
    if arguments.instructions:
        if not shutil.which("valgrind"):
            raise Failed("--instructions needs valgrind")
        for name in COUNTED_BY_CALLGRIND:
            if name in texts:
                figures[name]["instructions"] = instructions_of(arguments.sinter, texts[name])
    return figures


def compare_case(name, before, now):
    """Lines about the differences, and True if a figure is worse."""
    lines, worse = [], False
    for figure, was in before.items():
        if figure not in now:
            continue  # not determined this time
        value = now[figure]
        if value > was * ALLOWED:
            lines.append(f"worse: {name}: {value} {figure}, were {was}")
            worse = True
        elif value * ALLOWED < was:
            lines.append(f"better: {name}: {value} {figure}, were {was}")
    return lines, worse


def compare(baseline, figures):
    lines, worse = [], False
    for name, now in figures.items():
        if name not in baseline:
            lines.append(f"new: {name} is not in the baseline")
            continue
        found, is_worse = compare_case(name, baseline[name], now)
        lines += found
        worse = worse or is_worse
    return lines, worse


def save(path, baseline, figures, is_whole):
    """Writes the baseline. Unless `is_whole`, it keeps cases that were not compared. Instructions that were not
    counted this time are kept too."""
    merged = {} if is_whole else dict(baseline)
    for name, now in figures.items():
        kept = {figure: value for figure, value in baseline.get(name, {}).items()
                if figure == "instructions" and figure not in now}
        merged[name] = now | kept
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in merged.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"arch": "{ARCH}", "cases": {{\n{lines}\n}}}}\n')


def run(arguments):
    suite = json.loads((SUITE / "suite.json").read_text())
    ops = {op["op"]: op for op in suite["ops"]}
    every = [case | {"text": graph_text.filled(ops[case["op"]]["text"], case)} for case in suite["cases"]]
    cases = [case for case in every + patterns.patterns() if arguments.tier in case["tiers"] and (
        not arguments.only or any(text == case["group"] or text in case["name"] for text in arguments.only))]
    path = arguments.against / "kernels.json"
    try:
        baseline = json.loads(path.read_text())["cases"] if path.exists() else {}
        figures = current(arguments, cases)
    except (Failed, OSError, ValueError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    if not figures:
        print("compare: no case was chosen", file=sys.stderr)
        return 2
    lines, worse = compare(baseline, figures)
    print("".join(line + "\n" for line in lines), end="")
    known = sum("registers" in now for now in figures.values())
    print(f"{len(figures)} cases compared, registers known for {known}; "
          f"{'some figures are' if worse else 'no figure is'} more than 10 % worse than in {path}")
    if arguments.save:
        save(path, baseline, figures, is_whole=not arguments.only)
        print(f"wrote {path}")
        return 0
    if worse:
        print("if these changes are intended, --save accepts them")
    return 1 if worse else 0
