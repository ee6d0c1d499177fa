"""The sizes at which each op is measured. The `quick` cases fit into a few minutes with all peers."""

MIB = 1 << 20
TRAFFIC = {"64KiB": 1 << 16, "1MiB": MIB, "16MiB": 16 * MIB, "64MiB": 64 * MIB, "256MiB": 256 * MIB,
           "1GiB": 1 << 30, "4GiB": 1 << 32}
COLUMNS = [33, 64, 256, 768, 1024, 4096, 5000, 16384, 65536, 262144]
NORMS = [(32768, 256), (32768, 1024), (32768, 4096), (32768, 16384), (32768, 65536), (16384, 131072),
         (8192, 262144)]
# op: number of arrays that it moves per element of the output
PER_ELEMENT = {"scale": 2, "add": 3, "axpby_relu": 3, "silu_mul": 3, "chain10": 2, "chain50": 2}
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i8": 1, "i64": 8}


class Plan:
    """Collects cases in order of measurement; the most important cases come first."""

    def __init__(self):
        self.cases = []

    def add(self, op, dtype, sizes, tiers=("full",), modes="KL", label="", offset=0):
        shape = label or "x".join(str(size) for size in sizes.values())
        self.cases.append({"name": f"{op}_{dtype}_{shape}", "op": op, "dtype": dtype, "sizes": sizes,
                           "modes": modes, "tiers": list(tiers), "offset": offset})

    def by_traffic(self, op, dtype, per_element, size, quick=False):
        n = TRAFFIC[size] // per_element // 64 * 64
        modes = "KLE" if TRAFFIC[size] <= MIB else "KL"
        tiers = ("quick", "full") if quick else ("full",)
        self.add(op, dtype, {"n": n}, tiers, modes, size)


def elementwise(plan):
    quick = {("add", "f32"): ["64KiB", "1MiB", "16MiB", "64MiB", "256MiB", "1GiB"],
             ("scale", "bf16"): ["16MiB", "256MiB"], ("silu_mul", "bf16"): ["1MiB", "16MiB", "256MiB"],
             ("chain10", "f32"): ["256MiB"], ("chain50", "f32"): ["256MiB"]}
    for op, per_element in PER_ELEMENT.items():
        for dtype in ["f32"] if op == "chain50" else ["f32", "bf16"] if op == "chain10" else ["f32", "bf16", "f16"]:
            for size in TRAFFIC:
                plan.by_traffic(op, dtype, per_element * BYTES[dtype], size,
                                size in quick.get((op, dtype), []))
    for size in TRAFFIC:
        plan.by_traffic("adamw", "f32", 28, size, size in ("1MiB", "256MiB"))
    for source, target in [("f32", "bf16"), ("bf16", "f32"), ("f32", "f16"), ("i32", "f32"), ("i8", "f32")]:
        for size in ("1MiB", "64MiB", "1GiB"):
            plan.by_traffic(f"cast_{source}_{target}", source, BYTES[source] + BYTES[target], size,
                            source == "f32" and target == "bf16" and size == "64MiB")
    for dtype in ("f32", "bf16", "f16"):
        for rows, columns in [(128, 768), (2048, 3072), (16384, 3072), (16384, 3073), (65536, 8192)]:
            plan.add("bias_gelu_residual", dtype, {"rows": rows, "columns": columns},
                     ("quick", "full") if dtype == "bf16" and rows == 16384 else ("full",),
                     "KLE" if rows == 128 else "KL")
    for dtype in ("f32", "bf16"):
        plan.add("add", dtype, {"n": 22369621}, ("full",))
        plan.add("add", dtype, {"n": 22369600}, ("quick", "full") if dtype == "bf16" else ("full",),
                 label="22369600_misaligned", offset=1)


def broadcast(plan):
    for dtype in ("f32", "bf16"):
        for rows, columns in [(4096, 4096), (65536, 4096)]:
            tiers = ("quick", "full") if dtype == "bf16" and rows == 65536 else ("full",)
            for op in ("row_bias", "column_scale"):
                plan.add(op, dtype, {"rows": rows, "columns": columns}, tiers)
            plan.add("transpose_add", dtype, {"rows": rows, "columns": columns},
                     ("quick", "full") if dtype == "f32" and rows == 4096 else ("full",))
            plan.add("strided_slice", dtype, {"rows": rows, "columns": columns, "half": columns // 2})
            plan.add("middle_broadcast", dtype, {"outer": rows // 64, "middle": 64, "inner": columns}, tiers)


def full_reductions(plan):
    quick = {"full_sum": [16, 20, 24, 28], "full_max": [24], "distance": [24, 28]}
    for op in ("full_sum", "full_max", "full_mean", "dot", "distance"):
        for dtype in ("f32", "bf16"):
            for power in range(10, 31, 2):
                is_quick = dtype == "f32" and power in quick.get(op, [])
                plan.add(op, dtype, {"n": 1 << power}, ("quick", "full") if is_quick else ("full",),
                         "KLE" if power <= 16 else "KL", f"2^{power}")


def axis_reductions(plan):
    total = 1 << 28
    quick = {("row_sum", "f32"): [33, 1024, 65536], ("row_var_mean", "bf16"): [4096],
             ("row_logsumexp", "bf16"): [4096], ("row_argmax", "f32"): [4096],
             ("column_sum", "f32"): [1024, 65536], ("column_var_mean", "bf16"): [4096]}
    for op in ("row_sum", "row_var_mean", "row_max", "row_argmax", "row_logsumexp", "column_sum", "column_var_mean"):
        for dtype in ("f32",) if op == "row_argmax" else ("f32", "bf16"):
            for reduced in COLUMNS:
                tiers = ("quick", "full") if reduced in quick.get((op, dtype), []) else ("full",)
                kept = total // reduced
                sizes = {"rows": kept, "columns": reduced}
                if op.startswith("column"):
                    sizes = {"rows": reduced, "columns": kept}
                plan.add(op, dtype, sizes, tiers)
    for kept in (1, 8, 132, 4096):
        for reduced in (1024, 262144):
            plan.add("row_sum", "f32", {"rows": kept, "columns": reduced})
            plan.add("column_sum", "f32", {"rows": reduced, "columns": kept})


def normalisation(plan):
    quick = {("softmax", "bf16"): [256, 1024, 4096, 16384, 65536, 131072, 262144],
             ("softmax", "f32"): [4096], ("rms_norm", "bf16"): [256, 4096, 65536],
             ("add_rms_norm", "bf16"): [4096], ("layer_norm", "bf16"): [1024, 16384],
             ("softmax_backward", "bf16"): [4096], ("rms_norm_backward", "bf16"): [4096],
             ("cross_entropy", "bf16"): [1024, 16384, 131072]}
    for op in ("softmax", "cross_entropy", "rms_norm", "add_rms_norm", "layer_norm", "softmax_backward",
               "rms_norm_backward", "layer_norm_backward", "log_softmax"):
        for dtype in ("bf16", "f32"):
            for rows, columns in NORMS:
                tiers = ("quick", "full") if columns in quick.get((op, dtype), []) else ("full",)
                plan.add(op, dtype, {"rows": rows, "columns": columns}, tiers)
    for op in ("softmax", "rms_norm"):
        plan.add(op, "bf16", {"rows": 32, "columns": 768}, ("quick", "full"), "KLE")
        plan.add(op, "bf16", {"rows": 16384, "columns": 5001}, ("quick", "full"))
    for columns in range(256, 12673, 128):
        plan.add("softmax", "bf16", {"rows": 4096, "columns": columns}, ("sweep",), "K")


def many(plan):
    plan.add("foreach_adamw_6", "f32", {"width": 256, "wide": 1024}, ("quick", "full"), "KLE")
    plan.add("foreach_adamw_25", "f32", {"width": 1024, "wide": 4096}, ("quick", "full"))
    for length in (1, 5, 20, 100):
        for size, n in [("4KiB", 512), ("64KiB", 8192), ("1MiB", 131072)]:
            plan.add(f"latency{length}", "f32", {"n": n}, ("quick", "full") if size == "4KiB" else ("full",),
                     "KLE", size)


def all_cases():
    plan = Plan()
    for part in (elementwise, broadcast, full_reductions, axis_reductions, normalisation, many):
        part(plan)
    return plan.cases
