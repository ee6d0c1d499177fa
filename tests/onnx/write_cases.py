#!/usr/bin/env python3
"""Writes the test cases of ONNX's backend tests as files.

usage: write_cases.py OUT_DIR [NAMES_FILE]    replaces the folder's contents

NAMES_FILE lists the cases to write, one KIND/NAME per line; by default, all are written.

Needs the `onnx` package. Each case is a folder OUT_DIR/KIND/NAME:

    model.onnx
    data_0/input_0.f32.npy, ..., output_0.f32.npy, ...

The word before .npy is sinter's name of the dtype. If sinter has no such dtype, the file is
input_0.TYPE.txt and says so. KIND is `node` (one operator, or the function that defines it), `simple`, `pytorch-converted`,
`pytorch-operator` or `light` (whole networks, whose weights are all equal). OUT_DIR/cases.txt has one line per
case with three fields, separated by tabs. They are the folder, the family, and why sinter does not aim at it
(often empty). The family of a node test is its
operator, and else its kind. tests/onnx reads these files.
"""
import itertools
import pathlib
import shutil
import sys
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.test.case.model import collect_testcases as collect_model_cases
from onnx.backend.test.case.node import collect_testcases as collect_node_cases

# Those of onnx.backend.test.runner, which tests/onnx/judge/compare.h repeats.
RELATIVE_TOLERANCE = 1e-3
ABSOLUTE_TOLERANCE = 1e-7

# Names of NumPy and ml_dtypes, and those of sinter.
DTYPES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float16": "f16", "bfloat16": "bf16",
    "float32": "f32", "float64": "f64", "complex64": "c64",
}

# Element types without a dtype of sinter, and the dtypes that hold their values.
NARROW = {
    "int4": np.int8, "uint4": np.uint8, "int2": np.int8, "uint2": np.uint8,
    "float4_e2m1fn": ml_dtypes.float8_e4m3fn, "float6_e2m3fn": ml_dtypes.float8_e4m3fn,
    "float6_e3m2fn": ml_dtypes.float8_e4m3fn, "float8_e4m3fnuz": np.float16,
    "float8_e5m2fnuz": np.float16, "float8_e8m0fnu": ml_dtypes.bfloat16,
}

OUT_OF_SCOPE_DOMAINS = {
    "ai.onnx.ml": "classical machine learning (ai.onnx.ml)",
    "ai.onnx.preview.training": "training (ai.onnx.preview.training)",
}
OUT_OF_SCOPE_OPS = {
    "ImageDecoder": "image decoding",
    "SequenceMap": "sequences",
    "Bernoulli": "random numbers",
    "RandomUniformLike": "random numbers",
    "OptionalHasElement": "optional values",
    "OptionalGetElement": "optional values",
}
OUT_OF_SCOPE_VALUES = {"sequence_type": "sequences", "optional_type": "optional values"}


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)


def is_random_dropout(case, model):
    """Training dropout with a ratio above 0: the expected values are NumPy's random numbers."""
    return case.startswith("test_training_dropout") and "zero_ratio" not in case and any(
        node.op_type == "Dropout" for node in model.graph.node)


def why_out_of_scope(name, model):
    """Why sinter does not aim at a case; empty if it does."""
    for opset in model.opset_import:
        if opset.domain in OUT_OF_SCOPE_DOMAINS:
            return OUT_OF_SCOPE_DOMAINS[opset.domain]
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        if kind in OUT_OF_SCOPE_VALUES:
            return OUT_OF_SCOPE_VALUES[kind]
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            return "strings"
    for node in nodes_of(model.graph):
        if node.op_type in OUT_OF_SCOPE_OPS:
            return OUT_OF_SCOPE_OPS[node.op_type]
        if node.op_type.startswith(("Sequence", "ConcatFromSequence", "SplitToSequence")):
            return "sequences"
    return "random numbers" if is_random_dropout(name, model) else ""


def write_value(stem, value):
    """Writes an array to STEM.DTYPE.npy, or why sinter has no such value to STEM.TYPE.txt."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        pathlib.Path(f"{stem}.{type(value).__name__}.txt").write_text("This is no array.\n")
        return
    value = np.asarray(value)
    if value.dtype.name in NARROW:
        value = value.astype(NARROW[value.dtype.name])
    dtype = DTYPES.get(value.dtype.name)
    if not dtype:
        pathlib.Path(f"{stem}.{value.dtype.name}.txt").write_text("sinter has no such dtype.\n")
        return
    if value.dtype.name not in np.sctypeDict:  # a dtype of ml_dtypes, which .npy stores as bytes
        value = value.view(f"V{value.dtype.itemsize}")
    np.save(f"{stem}.{dtype}.npy", value)


def write_case(folder, model, data_sets):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for number, data_set in enumerate(data_sets):
        data = folder / f"data_{number}"
        data.mkdir()
        for word, values in zip(["input", "output"], data_set):
            for i, value in enumerate(values):
                write_value(data / f"{word}_{i}", value)


def check_tolerances(case):
    if (case.rtol, case.atol) != (RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE):
        sys.exit(f"{case.name} has tolerances of its own, {case.rtol} and {case.atol}; write them to "
                 "cases.txt and let tests/onnx read them")


def family_of(name, model, operators):
    """The operator of a node test. An expanded function belongs to the test of its operator."""
    base = name.split("_expanded")[0]
    return operators.get(base) or model.graph.node[0].op_type


def read_value(file, info):
    """The array in a file of the package."""
    if info.type.WhichOneof("value") != "tensor_type":
        return None
    return numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))


def read_data_set(folder, model):
    values = []
    for word, infos in [("input", model.graph.input), ("output", model.graph.output)]:
        count = len(list(folder.glob(f"{word}_*.pb")))
        values.append([read_value(folder / f"{word}_{i}.pb", infos[i]) for i in range(count)])
    return values


def generated_cases():
    """(folder, family, model, data sets) of all cases that the package computes."""
    cases = collect_node_cases(None)
    operators = {case.name: case.model.graph.node[0].op_type for case in cases
                 if "_expanded" not in case.name}
    for case in cases:
        check_tolerances(case)
        family = family_of(case.name, case.model, operators)
        yield f"node/{case.name}", family, case.model, case.data_sets
    for case in collect_model_cases():
        if case.kind == "simple":
            check_tolerances(case)
            yield f"simple/{case.name}", "simple", case.model, case.data_sets


def stored_cases():
    """The same of the cases that the package contains as files."""
    data = pathlib.Path(onnx.backend.test.__file__).parent / "data"
    for kind in ["pytorch-converted", "pytorch-operator"]:
        for source in sorted((data / kind).iterdir()):
            model = onnx.load(source / "model.onnx")
            sets = [read_data_set(folder, model) for folder in sorted(source.glob("test_data_set_*"))]
            yield f"{kind}/{source.name}", kind, model, sets


def light_cases():
    """The same of whole networks, with the inputs of onnx.backend.test.runner."""
    folder = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light"
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        given = {tensor.name for tensor in model.graph.initializer}
        infos = [info for info in model.graph.input if info.name not in given]
        inputs = []
        for info in infos:
            shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
            count = np.prod(shape)
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
        outputs = [read_value(path.with_name(f"{path.stem}_output_{i}.pb"), info)
                   for i, info in enumerate(model.graph.output)]
        yield f"light/{path.stem}", "light", model, [[inputs, outputs]]


def write_all(out, chosen):
    lines = []
    for folder, family, model, data_sets in itertools.chain(
            generated_cases(), stored_cases(), light_cases()):
        if chosen is not None and folder not in chosen:
            continue
        write_case(out / folder, model, data_sets)
        lines.append((folder, family, why_out_of_scope(folder.split("/")[1], model)))
    lines.sort()
    # Written last, so that a folder with this file is complete.
    (out / "cases.txt").write_text("".join("\t".join(line) + "\n" for line in lines))
    return lines


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    chosen = pathlib.Path(sys.argv[2]).read_text().split() if len(sys.argv) == 3 else None
    shutil.rmtree(out, ignore_errors=True)
    warnings.simplefilter("ignore")
    lines = write_all(out, chosen)
    missing = set(chosen or []) - {line[0] for line in lines}
    if missing:
        sys.exit(f"there are no cases {', '.join(sorted(missing))}")
    aimed_at = sum(not scope for _, _, scope in lines)
    print(f"{len(lines)} cases of onnx {onnx.__version__}, {aimed_at} of them in scope")


main()
