#!/usr/bin/env python3
"""Compares torch.compile(backend="sinter") with eager and with Inductor on training steps on the CPU.

  bench/torch_models/measure.py --out FOLDER [--models resnet18,vit,…] [--steps 10] [--rounds 1]
      FOLDER gets results.json and table.md.

Each model and backend runs in a process of its own with empty caches. In each round all backends take their turn, and
the shortest times of all rounds count. Compile time is that of the first forward and
backward pass, less the median of later ones. The gradients of the first step and the losses of all steps are compared
with eager's.

Kernels of a step, forward and backward: sinter's launches, and torch._inductor.metrics.generated_kernel_count. On the
CPU Inductor calls fewer functions than that, since one function may hold several of its kernels. Both are counted
without library calls: products, convolutions and attention. Bytes are those that each system predicts for its kernels.

Exit codes: 0 all gradients and losses agree with eager, 1 some do not, 2 usage error."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import models  # noqa: E402

GRADIENT_TOLERANCE = 1e-4  # of the largest gradient of the parameter
LOSS_TOLERANCE = 1e-3


def run(model, backend, steps, folder):
    """The figures of one worker, and its file."""
    path = pathlib.Path(folder) / f"{model}_{backend}.pt"
    with tempfile.TemporaryDirectory() as caches:
        variables = {"TORCHINDUCTOR_CACHE_DIR": caches + "/inductor", "SINTER_CACHE_DIR": caches + "/sinter"}
        done = subprocess.run(
            [sys.executable, str(HERE / "worker.py"), model, backend, str(path), str(steps)],
            env=os.environ | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        return {"problem": done.stderr.strip().splitlines()[-1], "log": done.stderr}, None
    return json.loads(done.stdout.splitlines()[-1]), torch.load(path)


def keep_shortest(known, figures):
    """The figures of the first round, with the shortest times of all rounds."""
    if known is None or "problem" in known or "problem" in figures:
        return known or figures
    return known | {key: min(known[key], figures[key]) for key in figures if key.endswith("seconds")}


def compare(own, eager):
    """The largest errors beside eager: of gradients, relative to their largest element, and of losses."""
    gradient = 0.0
    largest = max(g.abs().max().item() for g in eager["gradients"].values())
    for name, expected in eager["gradients"].items():
        scale = max(expected.abs().max().item(), 1e-3 * largest)
        gradient = max(gradient, (own["gradients"][name] - expected).abs().max().item() / scale)
    loss = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(own["losses"], eager["losses"]))
    return {"gradient_error": gradient, "loss_error": loss}


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def table(results):
    """The Markdown table of results."""
    lines = [
        "| model | kernels: sinter | Inductor | functions: Inductor | bytes: sinter | Inductor | compile s: sinter | Inductor | "
        "step ms: eager | sinter | Inductor | largest error: gradients | losses |",
        "|---|" + "---:|" * 12,
    ]
    ratios = {"kernels": [], "kernels by functions": [], "bytes": [], "compile_seconds": []}
    for model, row in results.items():
        sinter, inductor, eager = row["sinter"], row["inductor"], row["eager"]
        if "problem" in sinter or "problem" in inductor:
            lines.append(f"| {model} | {sinter.get('problem', '')} {inductor.get('problem', '')} |" + " |" * 11)
            continue
        for key, values in ratios.items():
            by_functions = key == "kernels by functions"
            values.append(sinter["kernels" if by_functions else key] / inductor["function_calls" if by_functions else key])
        cells = [
            sinter["kernels"], inductor["kernels"], inductor["function_calls"], f"{sinter['bytes'] / 1e6:.1f} MB", f"{inductor['bytes'] / 1e6:.1f} MB",
            f"{sinter['compile_seconds']:.1f}", f"{inductor['compile_seconds']:.1f}",
            *(f"{r['step_seconds'] * 1e3:.1f}" for r in (eager, sinter, inductor)),
            f"{sinter['gradient_error']:.1e}", f"{sinter['loss_error']:.1e}",
        ]  # fmt: skip
        lines.append(f"| {model} | " + " | ".join(map(str, cells)) + " |")
    means = ", ".join(f"{key.replace('_', ' ')} {geometric_mean(values):.2f}" for key, values in ratios.items())
    return "\n".join([*lines, "", f"Geometric means of sinter / Inductor: {means}.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--models", default=",".join(models.MODELS))
    parser.add_argument("--steps", default=10, type=int)
    parser.add_argument("--backends", default="eager,sinter,inductor")
    parser.add_argument("--rounds", default=1, type=int)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results, is_right = {}, True
    for model in arguments.models.split(","):
        row = results[model] = {}
        eager, kept = None, {}
        for _ in range(arguments.rounds):
            for backend in arguments.backends.split(","):
                figures, values = run(model, backend, arguments.steps, arguments.out)
                row[backend] = keep_shortest(row.get(backend), figures)
                kept.setdefault(backend, values)
        for backend in arguments.backends.split(","):
            figures, values = row[backend], kept[backend]
            if backend == "eager":
                eager = values
            elif values is not None and eager is not None:
                figures |= compare(values, eager)
                is_right &= figures["gradient_error"] <= GRADIENT_TOLERANCE and figures["loss_error"] <= LOSS_TOLERANCE
            elif values is None:
                is_right = False
            print(model, backend, {k: v for k, v in figures.items() if k not in ("losses", "log", "counters")}, flush=True)
            if "log" in figures:
                print(figures["log"], file=sys.stderr)
        (arguments.out / "results.json").write_text(json.dumps(results, indent=1))
    if {"eager", "sinter", "inductor"} <= set(arguments.backends.split(",")):
        (arguments.out / "table.md").write_text(table(results))
        print(table(results))
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
