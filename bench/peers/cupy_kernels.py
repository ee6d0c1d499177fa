#!/usr/bin/env python3
"""Measures CuPy. The first argument chooses the form: fuse (cupy.fuse), kernels (hand-written ElementwiseKernel and
ReductionKernel) or plain (one kernel per op)."""

import sys

import common
import graph_text

FORMS = ("fuse", "kernels", "plain")
NO_BF16 = {"fuse": "cupy.fuse casts to no bf16", "kernels": "the kernels here are written for f32 and f16",
           "plain": "the formulas here cast to f32 and f16 only"}


def chain_body(length):
    steps = ("v = v * 0.75f;", "v = v + 0.25f;", "v = max(v, (float)x);", "v = v - 0.5f;", "v = min(v, 1.5f);")
    return "float v = x; " + " ".join(steps[i % 5] for i in range(length)) + " y = v;"


ADAMW = """
m = m * 0.9f + g * 0.1f;
v = v * 0.999f + (g * g) * 0.001f;
w = w * 0.99999f - m / (sqrtf(v) + 1e-8f) * 0.001f;"""
GELU = """
float h = (float)x + (float)bias;
float inner = 0.7978845608f * (h + 0.044715f * h * h * h);
y = 0.5f * h * (1 + tanhf(inner)) + (float)residual;"""

# op: inputs, outputs, body
ELEMENTWISE = {
    "scale": ("T x", "T y", "y = (float)x * 0.75f"),
    "add": ("T x, T z", "T y", "y = (float)x + (float)z"),
    "axpby_relu": ("T x, T z", "T y", "y = max((float)x * 0.75f + (float)z * 1.25f, 0.0f)"),
    "silu_mul": ("T x, T z", "T y", "float h = x; y = h / (1 + expf(-h)) * (float)z"),
    "bias_gelu_residual": ("T x, T bias, T residual", "T y", GELU),
    "row_bias": ("T x, T bias", "T y", "y = (float)x + (float)bias"),
    "column_scale": ("T x, T s", "T y", "y = (float)x * (float)s"),
    "middle_broadcast": ("T x, T s", "T y", "y = (float)x + (float)s"),
    "transpose_add": ("T x, T z", "T y", "y = (float)x + (float)z"),
    "strided_slice": ("T x, T z", "T y", "y = (float)x + (float)z"),
    "chain10": ("T x", "T y", chain_body(10)),
    "chain50": ("T x", "T y", chain_body(50)),
    "cast_f32_f16": ("T x", "float16 y", "y = x"),
    "cast_i32_f32": ("T x", "float32 y", "y = x"),
    "cast_i8_f32": ("T x", "float32 y", "y = x"),
}
# op: inputs, map expression, combine expression, final expression, identity, axis
REDUCTIONS = {
    "full_sum": ("T x", "(float)x", "a + b", "y = a", "0", None),
    "full_mean": ("T x", "(float)x", "a + b", "y = a / _in_ind.size()", "0", None),
    "full_max": ("T x", "(float)x", "max(a, b)", "y = a", "-1e38f", None),
    "dot": ("T x, T z", "(float)x * (float)z", "a + b", "y = a", "0", None),
    "distance": ("T x, T z", "((float)x - (float)z) * ((float)x - (float)z)", "a + b", "y = sqrtf(a)", "0", None),
    "row_sum": ("T x", "(float)x", "a + b", "y = a", "0", 1),
    "column_sum": ("T x", "(float)x", "a + b", "y = a", "0", 0),
    "row_max": ("T x", "(float)x", "max(a, b)", "y = a", "-1e38f", 1),
}


def operands_of(op, arrays):
    """The operands of an op for an elementwise kernel, views included."""
    if op == "transpose_add":
        return [arrays["x"], arrays["z"].T]
    if op == "strided_slice":
        return [arrays["x"][:, ::2], arrays["z"]]
    return list(arrays.values())


def adamw_tensors(arrays):
    """[weight, gradient, first moment, second moment] of each tensor."""
    return [[arrays[kind + name[1:]] for kind in "wgmv"] for name in arrays if name.startswith("w")]


def maker(form):
    def make(arguments):
        from formulas import FORMULAS
        from system import Missing, System
        from operations import ArrayOps

        if arguments.device == "cpu":
            if form != "plain":
                raise Missing("CuPy runs on GPUs only; on the CPU NumPy stands for plain CuPy")
            import numpy as cupy
        else:
            import cupy
            if cupy.cuda.runtime.getDeviceCount() == 0:
                raise Missing("CuPy sees no GPU")
        dtypes = {"f32": cupy.float32, "f16": cupy.float16, "i64": cupy.int64, "i32": cupy.int32, "i8": cupy.int8}

        def fused_formula(formula, op, operations, inputs):
            """A program of cupy.fuse, and a list that has the names of its results after the first call."""
            updates = ["w", "m", "v"] if op == "adamw" else []
            names = ["w", "g", "m", "v"] if updates else [array["name"] for array in inputs]
            keys = []

            def body(*operands):
                given = dict(zip(names, operands))
                results = formula(operations, **given)
                for name in updates:
                    given[name][...] = results.pop(name)
                keys[:] = list(results)
                if results:
                    return tuple(results.values()) if len(results) > 1 else results[keys[0]]

            # cupy.fuse takes the number of operands from the signature.
            text = f"lambda {', '.join(names)}: body({', '.join(names)})"
            return cupy.fuse(kernel_name=f"fused_{op}")(eval(text, {"body": body})), keys

        class FuseOps(ArrayOps):
            """Computes a mean as a sum and a division, because cupy.fuse has no mean."""

            count = 1  # elements of x

            def mean(self, x, axis):
                if axis is not None:
                    raise NotImplementedError("no mean of an axis")
                return self.sum(x, None) / self.count

        def adamw_kernel():
            kernel = cupy.ElementwiseKernel("float32 g", "float32 w, float32 m, float32 v", ADAMW, "adamw")

            def call(arrays):
                for w, g, m, v in adamw_tensors(arrays):
                    kernel(g, w, m, v)
                return {name: array for name, array in arrays.items() if not name.startswith("g")}

            return call

        def elementwise_kernel(op):
            kernel = cupy.ElementwiseKernel(*ELEMENTWISE[op], op)
            return lambda arrays: {"y": kernel(*operands_of(op, arrays))}

        def reduction_kernel(op):
            inputs, mapped, joined, post, identity, axis = REDUCTIONS[op]
            kernel = cupy.ReductionKernel(inputs, "float32 y", mapped, joined, post, identity, op, reduce_type="float")
            return lambda arrays: {"y": kernel(*arrays.values(), axis=axis)}

        class CupySystem(System):
            name = f"cupy_{form}"
            version = cupy.__version__
            unsupported = {"bf16": NO_BF16[form]}
            fuses = form == "fuse"

            def __init__(self):
                self.operations = ArrayOps(cupy, dtypes, cupy.float32)
                self.is_gpu = arguments.device == "cuda"
                if self.is_gpu:
                    self.stream = cupy.cuda.Stream(non_blocking=True)
                    self.stream.use()

            def arrays(self, inputs):
                if any(one.offset for one in inputs):
                    raise Missing("only aligned addresses are measured")
                return {one.name: cupy.resize(cupy.asarray(one.part), one.shape) for one in inputs}

            def function(self, op, case):
                if case["op"] == "cast_f32_bf16":
                    raise Missing(self.unsupported["bf16"])
                if form == "kernels":
                    return self.by_hand(case)
                if form == "fuse":
                    return self.fused(op, case)
                formula, operations = FORMULAS[case["op"]], self.operations

                def call(arrays):
                    results = formula(operations, **arrays)
                    for name in op["updates"]:
                        arrays[name][...] = results[name]
                    return results

                return call

            def fused(self, op, case):
                # cupy.fuse cannot make views, so it receives the views that an op reads. The tensors of a list have
                # several shapes, but a kernel supports one, so each tensor has its own call.
                name = {"transpose_add": "add", "strided_slice": "add"}.get(case["op"], case["op"])
                name = "adamw" if name.startswith("foreach_adamw") else name
                inputs = graph_text.inputs_of(op, case)
                operations = FuseOps(cupy, dtypes, cupy.float32)
                operations.count = graph_text.elements(inputs[0])
                program, keys = fused_formula(FORMULAS[name], name, operations, inputs)

                def outputs_of(operands):
                    try:
                        outputs = program(*operands)
                    except (TypeError, NotImplementedError, AttributeError, ValueError) as error:
                        raise Missing(f"cupy.fuse cannot: {type(error).__name__}: {error}"[:200]) from error
                    return outputs if isinstance(outputs, tuple) else (outputs,)

                def call(arrays):
                    if name == "adamw":
                        for tensors in adamw_tensors(arrays):
                            outputs_of(tensors)
                        return {name: arrays[name] for name in op["updates"]}
                    return dict(zip(keys, outputs_of(operands_of(case["op"], arrays))))

                return call

            def by_hand(self, case):
                op = case["op"]
                if op == "adamw" or op.startswith("foreach_adamw"):
                    return adamw_kernel()
                if op in ELEMENTWISE:
                    return elementwise_kernel(op)
                if op in REDUCTIONS:
                    return reduction_kernel(op)
                raise Missing("one ElementwiseKernel or ReductionKernel cannot express it")

            def to_numpy(self, array):
                return array.get() if hasattr(array, "get") else array

            def synchronize(self):
                if self.is_gpu:
                    self.stream.synchronize()

            def try_device(self):
                if self.is_gpu:
                    cupy.ones(1) + 1
                self.synchronize()

            def elapsed_us(self, work):
                if not self.is_gpu:
                    return super().elapsed_us(work)
                start, end = cupy.cuda.Event(), cupy.cuda.Event()
                start.record(self.stream)
                work()
                end.record(self.stream)
                end.synchronize()
                return 1e3 * cupy.cuda.get_elapsed_time(start, end)

            def captured(self, call, calls):
                if not self.is_gpu:
                    raise Missing("the CPU has no CUDA Graphs")
                for i in range(calls):  # fills the pool with all memory that the graph needs
                    call(i)
                self.stream.synchronize()
                self.stream.begin_capture()
                try:
                    for i in range(calls):
                        call(i)
                finally:
                    graph = self.stream.end_capture()
                return lambda: graph.launch(self.stream)

            def copy_call(self, case_bytes, sets):
                count = max(case_bytes // 8, 1)
                pairs = [[cupy.arange(count, dtype=cupy.float32) for _ in range(2)] for _ in range(sets)]

                def copy(i):
                    cupy.copyto(pairs[i % sets][1], pairs[i % sets][0])

                return copy

            def free_bytes(self):
                return cupy.cuda.runtime.memGetInfo()[0] if self.is_gpu else None

            def release(self):
                if self.is_gpu:
                    cupy.get_default_memory_pool().free_all_blocks()

        return CupySystem()

    return make


if __name__ == "__main__":
    form = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in FORMS else "fuse"
    common.exit_with(common.main(f"cupy_{form}", maker(form)))
