"""The contents of the inputs of a case. They equal those of sinter's random_inputs, so that all systems compute on
equal data. Arrays repeat a part with a reduced leading size, as in bench/suite/suite_file.cpp."""

import dataclasses
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "suite"))
import graph_text  # noqa: E402

SMALL = 1 << 20
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8}


def splitmix64(x):
    """SplitMix64's output function, for uint64 arrays."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def key_of(seed, name):
    key = splitmix64(np.array([seed], np.uint64))
    for letter in name.encode():
        key = splitmix64(key ^ np.uint64(letter))
    return key


def to_bf16(reals):
    """The nearest bf16 numbers, with ties to even, as float32."""
    bits = np.ascontiguousarray(reals, np.float64).view(np.uint64)
    drop = np.uint64(45)
    odd = (bits >> drop) & np.uint64(1)
    bits = bits + np.uint64((1 << 44) - 1) + odd
    return ((bits >> drop) << drop).view(np.float64).astype(np.float32)


def rounded(reals, dtype):
    return to_bf16(reals) if dtype == "bf16" else reals.astype(NUMPY[dtype])


def cut(sizes):
    names = list(sizes)
    inner = math.prod(sizes[name] for name in names[1:])
    return sizes | {names[0]: min(max(SMALL // inner, 1), sizes[names[0]])}


def random_array(case, array, columns):
    """The elements of one input, flat. bf16 is returned as float32."""
    count = graph_text.elements(array)
    with np.errstate(over="ignore"):
        bits = splitmix64(key_of(case["seed"], array["name"]) + np.arange(count, dtype=np.uint64))
    if array["dtype"] in ("i8", "i32", "i64"):
        low, high = (0, columns - 1) if array["name"] == "label" else (-8, 8)
        return (low + (bits % np.uint64(high - low + 1)).astype(np.int64)).astype(NUMPY[array["dtype"]])
    low, high = array["range"] or (-2.0, 2.0)
    fraction = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return rounded(low + (high - low) * fraction, array["dtype"])


@dataclasses.dataclass
class Input:
    """One input: `part`, flat, is repeated until it fills `shape`. bf16 is stored as float32."""

    name: str
    dtype: str
    shape: list
    part: np.ndarray
    offset: int = 0  # elements between an aligned address and the array

    def whole(self):
        return np.resize(self.part, self.shape)


def inputs_of(op, case):
    small = case | {"sizes": cut(case["sizes"])}
    parts = {array["name"]: random_array(case, array, case["sizes"].get("columns", 1))
             for array in graph_text.inputs_of(op, small)}
    return [Input(array["name"], array["dtype"], array["shape"], parts[array["name"]], case["offset"])
            for array in graph_text.inputs_of(op, case)]
