"""Custom ops from source texts, and opaque calls of Python functions."""

import numpy as np
import pytest

import sinter

HOST = sinter.host_device()
SWISH = "float swish(float x, float beta) { return x / (1 + expf(-beta * x)); }"


def run(graph, **inputs):
    return sinter.compile(graph, HOST, tune="off", optimize_host=False)(**inputs)


def test_custom_ops_fuse():
    graph = sinter.Graph("g")
    x = graph.input("x", "f32", 64)
    graph.output("y", sinter.custom_op("swish", SWISH, [x, 1.5]) + 1)
    executable = sinter.compile(graph, HOST, tune="off", optimize_host=False)
    a = np.linspace(-3, 3, 64, dtype=np.float32)
    np.testing.assert_allclose(executable(x=a)["y"].numpy(), a / (1 + np.exp(-1.5 * a)) + 1, rtol=1e-5)
    assert len(executable.report().kernels) == 1


def test_custom_ops_have_gradients_in_python():
    def vjp(operands, y, g):
        (x,) = operands
        return [g * 3 * x * x]

    graph = sinter.Graph("g")
    x = graph.input("x", "f32", 4)
    y = sinter.custom_op("cube", "float cube(float x) { return x * x * x; }", [x], vjp=vjp)
    graph.output("g", sinter.gradient(sinter.sum(y), [x])[0])
    a = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(run(graph, x=a)["g"].numpy(), 3 * a * a)


def test_errors_of_a_vjp_reach_the_caller():
    def vjp(operands, y, g):
        raise ValueError("no slope today")

    graph = sinter.Graph("g")
    x = graph.input("x", "f32", 4)
    y = sinter.custom_op("cube", "float cube(float x) { return x * x * x; }", [x], vjp=vjp)
    with pytest.raises(sinter.UserError, match="no slope today"):
        sinter.gradient(sinter.sum(y), [x])


def test_bad_sources_name_the_line():
    x = sinter.Graph("g").input("x", "f32", 4)
    with pytest.raises(sinter.UserError, match=r"test_user_ops.py:\d+"):
        sinter.custom_op("f", "not a function", [x])


def test_python_functions_between_kernels():
    calls = []

    def sort(call):
        calls.append((call.attributes, call.is_host_device, [a.shape for a in call.inputs]))
        np.from_dlpack(call.outputs[0])[...] = np.sort(np.from_dlpack(call.inputs[0]), axis=-1)

    graph = sinter.Graph("g")
    rows = graph.extent("rows")
    x = graph.input("x", "f32", (rows, 4))
    ordered = sinter.opaque(sort, [x * 2], (sinter.f32, (rows, 4)), {"axis": -1, "kind": "quick", "shape": [1, 2]})
    graph.output("y", ordered + 1)
    a = np.array([[3, 1, 2, 0], [5, 9, 7, 8]], np.float32)
    np.testing.assert_array_equal(run(graph, x=a)["y"].numpy(), np.sort(2 * a) + 1)
    assert calls == [({"axis": -1, "kind": "quick", "shape": [1, 2]}, True, [(2, 4)])]


def test_registered_functions_with_several_results():
    def split(call):
        x = np.from_dlpack(call.inputs[0])
        np.from_dlpack(call.outputs[0])[...] = x.astype(np.int32)
        np.from_dlpack(call.outputs[1])[...] = x - x.astype(np.int32)

    sinter.register_opaque("split_parts", split)
    try:
        graph = sinter.Graph("g")
        x = graph.input("x", "f32", 3)
        whole, fraction = sinter.opaque("split_parts", [x], [("i32", 3), ("f32", 3)])
        graph.output("whole", whole)
        graph.output("fraction", fraction)
        results = run(graph, x=np.array([1.25, 2.5, 3.75], np.float32))
        assert results["whole"].numpy().tolist() == [1, 2, 3]
        assert results["fraction"].numpy().tolist() == [0.25, 0.5, 0.75]
        with pytest.raises(sinter.UserError, match="split_parts"):
            sinter.register_opaque("split_parts", split)
    finally:
        assert sinter.unregister_opaque("split_parts")
    assert not sinter.unregister_opaque("split_parts")


@pytest.mark.parametrize(
    "function, result, message",
    [
        (3.5, (sinter.f32, 3), "3.5 is neither the name of a registered function nor a callable"),
        (print, [(sinter.f32,)], "is no tuple of dtype and shape"),
        (print, ("f33", 3), r"the result \('f33', 3\) is no tuple of dtype and shape"),
    ],
)
def test_bad_calls_are_errors(function, result, message):
    x = sinter.Graph("g").input("x", "f32", 3)
    with pytest.raises(sinter.UserError, match=r"test_user_ops.py:\d+: opaque: .*" + message):
        sinter.opaque(function, [x], result)


def test_errors_of_functions_end_the_run():
    def fail(call):
        raise RuntimeError("the function failed")

    graph = sinter.Graph("g")
    x = graph.input("x", "f32", 3)
    graph.output("y", sinter.opaque(fail, [x], (sinter.f32, 3)))
    executable = sinter.compile(graph, HOST, tune="off", optimize_host=False)
    context = executable.context()
    arrays = {"x": np.ones(3, np.float32)}, {"y": np.empty(3, np.float32)}
    with pytest.raises(sinter.Error, match="the function failed"):
        context.run(*arrays)
        context.run(*arrays)
