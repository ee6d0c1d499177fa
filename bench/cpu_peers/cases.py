"""The cases of bench/cpu_peers: ops of the suite and a few of its own, in f32 and bf16. Their traffic is 64 KiB to
256 MiB."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "suite"), str(HERE.parent / "peers")]
import graph_text  # noqa: E402
import make_suite  # noqa: E402
import ops  # noqa: E402

SIZES = {"64KiB": 1 << 16, "512KiB": 1 << 19, "4MiB": 1 << 22, "32MiB": 1 << 25, "256MiB": 1 << 28}
LARGEST_CHECKED = 1 << 25  # larger cases are checked at this traffic
COLUMNS = 1024  # of matrices
# system: the last arguments of cpu_peer. Only the second one rounds like torch.compile, which keeps results between ops
# in f32.
OWN = {"sinter": [], "sinter_wide": ["wide"]}

CHAIN = ("  v{i}a = mul {last}, 0.75\n  v{i}b = add v{i}a, 0.5\n  {next} = maximum v{i}b, x\n")


def chain(length):
    """The statements of y = maximum(y * 0.75 + 0.5, x), repeated to `length` ops."""
    steps = length // 3
    return "".join(CHAIN.format(i=i, last="x" if i == 0 else f"v{i - 1}", next="y" if i == steps - 1 else f"v{i}")
                   for i in range(steps))


def own_ops():
    """Ops that the suite does not have, as ops.Op."""
    made = [ops.Op(f"maximum_chain{length}", "elementwise", f"graph chain(x: $dtype[$n]) {{\n{chain(length)}"
                   "  return y\n}\n", ops.FLAT, {"n": 1003}) for length in (3, 9, 30)]
    for kind in ("gelu", "gelu_tanh"):
        made.append(ops.Op(kind, "elementwise", f"graph {kind}(x: $dtype[$n]) {{\n  h = cast x {{to = f32}}\n"
                           f"  a = {kind} h\n  y = cast a {{to = $dtype}}\n  return y\n}}\n", ops.FLAT, {"n": 1003}))
    return made


# op: the number of matrices or arrays that it moves
MOVED = {"gelu": 2, "gelu_tanh": 2, "maximum_chain3": 2, "maximum_chain9": 2, "maximum_chain30": 2, "full_sum": 1,
         "softmax": 2, "layer_norm": 2, "layer_norm_backward": 3, "cross_entropy": 1, "column_sum": 1,
         "transpose_add": 3}
FOREACH = "foreach_adamw_25"  # 100 tensors


def sizes_of(op, elements):
    """The sizes of a case that moves about `elements` elements in all."""
    if op == FOREACH:
        width = max(int((elements / 7 / 25 / 5) ** 0.5) // 4 * 4, 4)  # 25 layers of 5 width^2 elements, moved 7 times
        return {"width": width, "wide": 4 * width}
    each = elements // MOVED[op]
    if op in ("full_sum", "gelu", "gelu_tanh") or op.startswith("maximum_chain"):
        return {"n": each}
    return {"rows": max(each // COLUMNS, 1), "columns": COLUMNS}


def suite(names, dtypes, sizes):
    """The ops and cases in the format of suite.json. Each op also has a tiny case and a checked one."""
    chosen = {op.name: op for op in list(ops.OPS.values()) + own_ops() if op.name in MOVED or op.name == FOREACH}
    chosen = {name: op for name, op in chosen.items() if not names or any(text in name for text in names)}
    rows = {name: make_suite.op_row(op) for name, op in chosen.items()}
    cases = []

    def add(op, dtype, sizes, label, tier):
        case = {"name": f"{op}_{dtype}_{label}", "op": op, "group": rows[op]["group"], "dtype": dtype, "sizes": sizes,
                "modes": "E", "tiers": [tier], "offset": 0, "seed": 1}
        cases.append(case | {"bytes": graph_text.bytes_of(rows[op], case)})

    for name, op in chosen.items():
        for dtype in [one for one in op.dtypes if one in dtypes]:
            width = graph_text.BYTES[dtype]
            add(name, dtype, op.tiny, "tiny", "tiny")
            add(name, dtype, sizes_of(name, LARGEST_CHECKED // width), "checked", "checked")
            for size in sizes:
                add(name, dtype, sizes_of(name, SIZES[size] // width), size, "full")
    return {"ops": list(rows.values()), "cases": cases}


def main():
    """Writes the suite of all cases to a file, for tests."""
    pathlib.Path(sys.argv[1]).write_text(json.dumps(suite([], ["f32", "bf16"], SIZES)))


if __name__ == "__main__":
    main()
