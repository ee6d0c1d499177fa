#!/usr/bin/env python3
"""Writes the ONNX models of the transcript import.txt into the folder of this script.

usage: write_onnx.py

Needs the `onnx` package (tests/onnx/requirements.txt).
"""
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FOLDER = pathlib.Path(__file__).parent


def model(name, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scaled_model():
    """Scales rows, and splits their columns with a shape that the model computes."""
    weights = [
        numpy_helper.from_array(np.arange(6, dtype=np.float32) / 4, "layer.scale"),
        numpy_helper.from_array(np.array(0.5, np.float32), "offset"),
        numpy_helper.from_array(np.array(0), "first"),
        numpy_helper.from_array(np.array([0]), "axes"),
        numpy_helper.from_array(np.array([2, 3]), "columns"),
    ]
    nodes = [
        helper.make_node("Mul", ["input.1", "layer.scale"], ["scaled"], name="scale"),
        helper.make_node("Add", ["scaled", "offset"], ["moved"], name="move"),
        helper.make_node("Relu", ["moved"], ["positive"], name="relu"),
        helper.make_node("Shape", ["input.1"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["rows"]),
        helper.make_node("Unsqueeze", ["rows", "axes"], ["row_list"]),
        helper.make_node("Concat", ["row_list", "columns"], ["target"], axis=0),
        helper.make_node("Reshape", ["positive", "target"], ["y"], name="split"),
    ]
    inputs = [helper.make_tensor_value_info("input.1", TensorProto.FLOAT, ["batch", 6])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2, 3])]
    return model("scaled", nodes, inputs, outputs, weights)


def refused_model():
    """Has an operator that sinter does not import, and one of another domain."""
    nodes = [
        helper.make_node("NonMaxSuppression", ["boxes", "scores"], ["kept"], name="keep"),
        helper.make_node("FastGelu", ["scores"], ["y"], name="gelu", domain="com.microsoft"),
    ]
    inputs = [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, 4, 4]),
              helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 1, 4])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4])]
    return model("refused", nodes, inputs, outputs)


if __name__ == "__main__":
    save(scaled_model(), FOLDER / "scaled.onnx")
    save(refused_model(), FOLDER / "refused.onnx")
