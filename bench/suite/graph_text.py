"""Reads inputs and outputs from a graph's text, with the sizes of a case filled in."""

import re
import string

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i8": 1, "i64": 8, "f64": 8}
INPUT = re.compile(r"(\w+): (\w+)\[([^\]]*)\](?: \{range = \[([^,]+), ([^\]]+)\]\})?")


def filled(text, case):
    return string.Template(text).substitute(case["sizes"], dtype=case["dtype"])


def inputs_of(op, case):
    """A list of {name, dtype, shape, range}, in the order of the graph."""
    header = filled(op["text"], case).split("{\n", 1)[0]
    return [{"name": name, "dtype": dtype,
             "shape": [int(extent) for extent in shape.split(",") if extent.strip()],
             "range": (float(low), float(high)) if low else None}
            for name, dtype, shape, low, high in INPUT.findall(header)]


def outputs_of(op, case):
    """A list of {name, dtype, shape} of the values that the graph returns."""
    outputs = []
    for name, output in op["outputs"].items():
        shape = [int(filled(str(extent), case)) for extent in output["shape"]]
        outputs.append({"name": name, "dtype": filled(output["dtype"], case), "shape": shape})
    return outputs


def elements(array):
    count = 1
    for extent in array["shape"]:
        count *= extent
    return count


def bytes_of(op, case):
    """The bytes of every input and every output, and again of each input that is updated. Of an untouched
    input only the elements that are read count."""
    total = 0
    for array in inputs_of(op, case):
        size = elements(array) * BYTES[array["dtype"]]
        total += size // op["untouched"].get(array["name"], 1)
        total += size if array["name"] in op["updates"] else 0
    return total + sum(elements(array) * BYTES[array["dtype"]] for array in outputs_of(op, case))
