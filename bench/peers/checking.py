"""Checks the results of a peer with the formulas in float64."""

import math

import numpy as np

import contents
from formulas import FORMULAS
from system import Wrong
from operations import ArrayOps

FLOAT64 = {name: np.float64 for name in ("f32", "bf16", "f16", "f64")} | {
    name: contents.NUMPY[name] for name in ("i8", "i32", "i64")}
TOLERANCE = {"f32": 2e-5, "bf16": 4e-2, "f16": 4e-3, "i64": 0.0}
SUMS = {"full_sum", "dot", "row_sum", "column_sum", "rms_norm_backward", "layer_norm_backward"}


def reference(op, case):
    """The results in float64, computed from the rounded inputs."""
    operations = ArrayOps(np, FLOAT64, np.float64)
    arrays = {one.name: one.whole().astype(FLOAT64[one.dtype]) for one in contents.inputs_of(op, case)}
    results = FORMULAS[case["op"]](operations, **arrays)
    return {name: np.asarray(value) for name, value in results.items()}


def error_scale(case, size, largest):
    """The error allowed for a sum in units of its elements, in addition to a relative error."""
    if case["op"] not in SUMS:
        return 0.0
    return math.sqrt(max(largest, math.prod(case["sizes"].values())) / size)


def worst_error(case, dtypes, results, expected):
    """The largest error divided by the error that its dtype allows; at most 1 passes. Raises Wrong if sizes differ."""
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
