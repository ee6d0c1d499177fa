#!/usr/bin/env python3
"""Imports the models of export_models.py, and compares results and costs.

usage: measure_models.py SINTER MODELS_DIR OUT_DIR

SINTER is the command. For each model, it is imported and explained for sm_90, and run on the host device.
OUT_DIR/README.md and OUT_DIR/models.json get, per model:

- error: the largest difference to onnxruntime's results, divided by their largest magnitude;
- library calls, which are as many as products and convolutions;
- fused kernels, and the fewest: one for each group of nodes that no library call separates. A node is in
  the group of its first user;
- bytes that fused kernels read and write, and the fewest: each array between such a group and its
  surroundings is read once and written once. Values are neither stored nor computed again if they
  follow from sizes alone.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

SIZES = {"bool": 1, "i8": 1, "u8": 1, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
VIEWS = {"reshape", "permute", "slice", "broadcast_to", "flip", "unfold", "as_strided", "stop_gradient"}
SOURCES = {"constant", "full", "iota", "size"}


def run(sinter, *words):
    return subprocess.run([sinter, *words], check=True, capture_output=True, text=True).stdout


class Costs:
    """The fewest kernels and bytes of the nodes of `sinter explain --json`."""

    def __init__(self, explained, sizes):
        self.nodes, self.sizes = explained["nodes"], sizes
        nodes = self.nodes
        calls = {k["name"] for k in explained["kernels"] if k["kind"] == "opaque"}
        self.calls = {i for i, node in enumerate(nodes) if calls.intersection(node["groups"])}
        # The earliest group of a node is the largest number of library calls on a way to it.
        self.group = [0] * len(nodes)
        self.free = [False] * len(nodes)  # follows from sizes alone
        for i, node in enumerate(nodes):
            operands = node["operands"]
            self.group[i] = max((self.group[o] + self.is_call(o) for o in operands), default=0)
            self.free[i] = node["op"] in SOURCES or (
                bool(operands) and not self.is_call(i) and all(self.free[o] for o in operands))
        self.postpone()

    def postpone(self):
        """Moves nodes to the group of their first user, so that fewer values are stored."""
        first_use = {}
        for i in reversed(range(len(self.nodes))):
            if not self.is_call(i) and not self.nodes[i]["outputs"]:
                self.group[i] = max(self.group[i], first_use.get(i, 0))
            for o in self.nodes[i]["operands"]:
                first_use[o] = min(first_use.get(o, self.group[i]), self.group[i])

    def is_call(self, i):
        return i in self.calls

    def is_computed(self, i):
        return not (self.is_call(i) or self.free[i] or self.nodes[i]["op"] in VIEWS | {"input"})

    def root(self, i):
        while self.nodes[i]["op"] in VIEWS:
            i = self.nodes[i]["operands"][0]
        return i

    def parts(self, i):
        """The arrays behind a value that kernels read: of a concatenation, those of its operands."""
        i = self.root(i)
        if self.nodes[i]["op"] != "concat":
            return [i]
        return [part for o in self.nodes[i]["operands"] for part in self.parts(o)]

    def elements(self, i):
        shape = self.nodes[i]["shape"].strip("[]")
        return int(np.prod([eval(e, {}, self.sizes) for e in shape.split(",") if e.strip()]))

    def bytes(self, i):
        return self.elements(i) * SIZES[self.nodes[i]["dtype"]]

    def surplus(self, kernel):
        """Bytes of gathered arrays that a kernel does not read, although its report counts them."""
        unread = {}
        for i, node in enumerate(self.nodes):
            if not (node["op"].startswith("take") and kernel["name"] in node["groups"]):
                continue
            source = self.root(node["operands"][0])
            if self.nodes[source]["op"] == "input" or not self.is_computed(source):
                unread[source] = unread.get(source, self.bytes(source)) - self.bytes(i)
        return sum(max(n, 0) for n in unread.values())

    def fewest(self):
        """(kernels, bytes)"""
        read, written = {}, {}

        def store(i):
            """Counts a value that a call or the caller reads."""
            i = self.root(i)
            if self.is_computed(i):
                written[i] = self.bytes(i)
                if self.nodes[i]["op"] == "concat":
                    load(i, self.group[i], self.elements(i))

        def load(i, group, most):
            for part in self.parts(i):
                if self.free[part] or (self.is_computed(part) and self.group[part] >= group):
                    continue
                size = min(most, self.elements(part)) * SIZES[self.nodes[part]["dtype"]]
                read[part, group] = max(read.get((part, group), 0), size)
                if self.is_computed(part):
                    written[part] = self.bytes(part)

        for i, node in enumerate(self.nodes):
            for position, o in enumerate(node["operands"]):
                if self.is_call(i):
                    store(o)
                elif self.is_computed(i) and node["op"] != "concat":
                    # A gather reads as many elements as it gives.
                    gathers = node["op"].startswith("take") and position == 0
                    load(o, self.group[i], self.elements(i if gathers else o))
            if node["outputs"]:
                store(i)
        groups = {self.group[i] for i in range(len(self.nodes)) if self.is_computed(i)}
        return len(groups), sum(read.values()) + sum(written.values())


def measure(sinter, folder, scratch):
    run(sinter, "import", str(folder / "model.onnx"), "-o", str(scratch))
    graph = scratch / "model.sinter"
    text = graph.read_text()
    head = text[text.index("("):text.index(") {")]
    names = [n for n in re.findall(r"(\w+): \w+\[", head)
             if not (scratch / "model.weights" / f"{n}.npy").exists()]
    inputs = [next(folder.glob(f"data_0/input_{i}.*.npy")) for i in range(len(names))]
    sizes = {}
    for name, file in zip(names, inputs):
        shape = re.search(rf"\b{name}: \w+\[([^]]*)\]", head)[1].split(",")
        for symbol, size in zip(shape, np.load(file).shape):
            if not symbol.strip().isdigit():
                sizes[symbol.strip()] = size
    given = [word for name, size in sizes.items() for word in ("--size", f"{name}={size}")]
    explained = json.loads(run(sinter, "explain", str(graph), "--arch", "sm_90", "--json", *given))
    bound = [f"{name}={file}" for name, file in zip(names, inputs)]
    run(sinter, "run", str(graph), "--device", "host", "--inputs", *bound, "--outputs", str(scratch))
    outputs = [n for n in re.findall(r"return (.*)", text)[0].split(", ")]
    error = 0.0
    for i, name in enumerate(outputs):
        expected = np.load(next(folder.glob(f"data_0/output_{i}.*.npy")))
        actual = np.load(scratch / f"{name.strip()}.npy")
        assert actual.shape == expected.shape and actual.dtype == expected.dtype, name
        error = max(error, float(np.abs(actual - expected).max() / np.abs(expected).max()))
    kernels = explained["kernels"]
    calls = [k for k in kernels if k["kind"] == "opaque"]
    fused = [k for k in kernels if k["kind"] != "opaque"]
    costs = Costs(explained, sizes)
    fewest_kernels, fewest_bytes = costs.fewest()
    moved = lambda chosen: sum(k["launches"] * (k["bytes_read"] + k["bytes_written"]) for k in chosen)
    return {"error": error, "recorded_ops": explained["recorded_ops"], "library_calls": len(calls),
            "library_bytes": moved(calls), "kernels": sum(k["launches"] for k in fused),
            "fewest_kernels": fewest_kernels, "bytes": moved(fused) - sum(costs.surplus(k) for k in fused if k["bytes_are_bounds"]),
            "fewest_bytes": fewest_bytes,
            "unfused_kernels": explained["totals"]["unfused_launches"] - len(calls)}


PAGE = """# Models imported from ONNX

`sinter import` turned each model into a graph, which was planned for sm_90 and run on the host device. These commands write
the table and `models.json`, with the packages that the first one names:

```sh
python3 bench/onnx/export_models.py MODELS_DIR
python3 bench/onnx/measure_models.py build/release/bin/sinter MODELS_DIR OUT_DIR
```

The error is the largest difference to onnxruntime's results, divided by their largest magnitude. Each product and each
convolution is a library call. The fewest fused kernels are one per group of nodes that no library call separates. The
fewest bytes are those that enter and leave these groups, each array once.

The difference to the fewest has these causes:

- encoder, decoder: the heads of attention are copied to their columns, because a library reads whole arrays.
- unet: the variance of a group reads its elements twice, because they do not stay on the SM between two library calls.
- alexnet, zfnet512, inception_v1: pooling reads windows of a local response norm, which is therefore stored.
- inception: branches of different depth are different kernels.
- encoder_int8: the scale of a product follows from all elements, which are therefore read twice.

The error of squeezenet_int8 is one quantisation step.

"""


def mebibytes(number):
    return f"{number / 2**20:.3g}"


def table(results):
    lines = ["| model | error | library calls | fused kernels | fewest | unfused | MiB moved | fewest | ratio |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for name, r in results.items():
        lines.append(f"| {name} | {r['error']:.1e} | {r['library_calls']} | {r['kernels']} | "
                     f"{r['fewest_kernels']} | {r['unfused_kernels']} | {mebibytes(r['bytes'])} | "
                     f"{mebibytes(r['fewest_bytes'])} | {r['bytes'] / r['fewest_bytes']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sinter, models, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    results = {}
    for line in (models / "cases.txt").read_text().splitlines():
        name = line.split("\t")[0]
        with tempfile.TemporaryDirectory() as scratch:
            results[name] = measure(sinter, models / name, pathlib.Path(scratch))
        print(name, results[name], flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "models.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "README.md").write_text(PAGE + table(results))


main()
