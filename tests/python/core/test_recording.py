"""Recording through the core: graphs, Tensors, extents, all ops, places and messages."""

import pickle

import numpy as np
import pytest

import sinter


def run(graph, **inputs):
    return sinter.compile(graph, sinter.host_device(), tune="off", optimize_host=False)(**inputs)


def test_text_form_round_trips():
    graph = sinter.Graph("norm")
    rows = graph.extent("rows")
    x = graph.input("x", sinter.bf16, (rows, 4096))
    graph.output("y", sinter.softmax(x))
    assert str(sinter.parse(str(graph))) == str(graph)
    assert "graph norm(x: bf16[rows, 4096])" in str(graph)


def test_extents_are_expressions():
    graph = sinter.Graph("g")
    rows = graph.extent("rows")
    assert str(2 * rows + 1) == str(rows + rows + 1)
    assert rows * 4 // 2 == rows * 2
    assert hash(rows * 4 // 2) == hash(rows * 2)
    assert (7 - rows).evaluate({"rows": 3}) == 4
    x = graph.input("x", "f32", (rows, 2))
    assert x.shape == (rows, 2) and x.reshape(-1).shape == (rows * 2,)
    with pytest.raises(sinter.UserError, match="the size of rows is missing"):
        rows.evaluate({"columns": 1})
    with pytest.raises(sinter.UserError, match=r"of different graphs \(.*test_recording.py:\d+\)"):
        rows + sinter.Graph("other").extent("rows")


def test_values_keep_their_graph_alive():
    def value():
        graph = sinter.Graph("g")
        return graph.input("x", "f32", (graph.extent("n"),)) + 1

    x = value()
    assert repr(x) == "<sinter.Tensor f32[n]>"
    assert repr(x.shape[0]) == "n"
    assert x.graph.name == "g"


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "unary": lambda a, b: -abs(+a),
}
INTEGER_OPERATORS = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "~": lambda a, b: ~a,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}


@pytest.mark.parametrize("dtype, operators", [(np.float32, OPERATORS), (np.int32, OPERATORS | INTEGER_OPERATORS)])
def test_operators_are_those_of_numpy(dtype, operators):
    a = np.array([-7, 5, 3, 0], dtype)
    b = np.array([2, 3, 1, 4], dtype)
    graph = sinter.Graph("operators")
    x, y = graph.input("x", dtype, 4), graph.input("y", dtype, 4)
    expected = {}
    for i, (name, operator) in enumerate(operators.items()):
        for kind, tensors, arrays in (("tt", (x, y), (a, b)), ("tn", (x, 2), (a, dtype(2))), ("nt", (3, y), (dtype(3), b))):
            if kind == "nt" and name in ("unary", "~"):
                continue
            graph.output(f"{kind}_{i}", operator(*tensors))
            expected[f"{kind}_{i}"] = operator(*arrays)
    results = run(graph, x=a, y=b)
    for name, values in expected.items():
        np.testing.assert_allclose(results[name].numpy(), values, rtol=1e-6, err_msg=name)


def test_indexing_is_that_of_numpy():
    a = np.arange(2 * 5 * 4, dtype=np.float32).reshape(2, 5, 4)
    keys = [
        (0,), (-1, 2), (slice(1, 2),), (Ellipsis, 0), (None, 1, slice(None, None, 2)), (slice(None), slice(4, 0, -2)),
        (slice(None), slice(None, None, -1), None), (slice(-3, -1),), (slice(5, 9),), (Ellipsis,),
    ]  # fmt: skip
    graph = sinter.Graph("indexing")
    x = graph.input("x", "f32", a.shape)
    i = graph.input("i", "i64", 3)
    for n, key in enumerate(keys):
        graph.output(f"y{n}", x[key])
    graph.output("gathered", x[1, i])
    graph.output("rows", x[:, i, i])
    index = np.array([3, 0, -1])
    results = run(graph, x=a, i=index)
    for n, key in enumerate(keys):
        np.testing.assert_array_equal(results[f"y{n}"].numpy(), a[key], err_msg=str(key))
    np.testing.assert_array_equal(results["gathered"].numpy(), a[1, index])
    np.testing.assert_array_equal(results["rows"].numpy(), a[:, index, index])


@pytest.mark.parametrize(
    "key, message",
    [
        ((0, 0, 0), "an index of 3 items for .* of rank 2; remove 1"),
        ((5,), "index 5 is out of range for axis 0 of extent 4"),
        ((1.5,), "1.5 is no index"),
        ((Ellipsis, Ellipsis), "an index has several"),
    ],
)
def test_bad_indices_are_errors(key, message):
    x = sinter.Graph("g").input("x", "f32", (4, 3))
    with pytest.raises(sinter.UserError, match=r"test_recording.py:\d+: " + message):
        x[key]


def test_masks_are_refused_with_a_remedy():
    x = sinter.Graph("g").input("x", "f32", 4)
    with pytest.raises(sinter.UserError, match="use sinter.where"):
        x[x > 0]


def test_values_are_not_conditions():
    x = sinter.Graph("g").input("x", "f32", 4)
    with pytest.raises(sinter.UserError, match=r"test_recording.py:\d+: a condition needs the value .* f32\[4\].*where"):
        if (x + 1).astype("f32"):
            pass
    with pytest.raises(sinter.UserError, match=r"float\(\) needs the value"):
        float(x)


def test_errors_and_reports_name_the_line_of_the_user():
    graph = sinter.Graph("g")
    x = graph.input("x", "f32", (2, 3))
    with pytest.raises(sinter.UserError, match=r"do not broadcast.*test_recording.py:\d+"):
        x + graph.input("y", "f32", 4)
    with sinter.location("model.py", 42):
        y = sinter.exp(x)
    graph.output("y", y)
    report = sinter.compile(graph, sinter.host_device(), tune="off", optimize_host=False).report()
    assert report.kernels[0].places == ["model.py:42"]


def test_arrays_and_texts_are_not_operands():
    x = sinter.Graph("g").input("x", "f32", 3)
    for other in (np.ones(3), "1", None, [1.0]):
        with pytest.raises(TypeError, match="add"):
            sinter.add(x, other)
    with pytest.raises(TypeError):
        np.ones(3) + x
    assert (x + np.float32(1)).dtype is sinter.f32
    assert (x + np.int8(1)).dtype is sinter.f32


def test_dtypes_have_many_names():
    assert sinter.dtype("float32") is sinter.dtype(np.float32) is sinter.dtype(np.dtype("f4")) is sinter.f32
    assert sinter.dtype(sinter.bf16) is sinter.bf16 and sinter.bf16.compute is sinter.f32
    assert sinter.dtype(bool) is sinter.boolean and sinter.boolean.name == "bool"
    assert pickle.loads(pickle.dumps(sinter.i8)) is sinter.i8
    with pytest.raises(sinter.UserError, match="no dtype 'float128'; its dtypes are bool, i8"):
        sinter.dtype("float128")


def test_results_of_several_tensors_are_named_tuples():
    graph = sinter.Graph("g")
    x = graph.input("x", "f32", (3, 5))
    value, index = sinter.max_with_index(x, axes=1)
    assert value.shape == (3,) and index.dtype is sinter.i64
    assert sinter.var_mean(x, -1)._fields == ("var", "mean")
    assert [part.shape for part in sinter.split(x, 2, axis=1)] == [(3, 2), (3, 2), (3, 1)]


def test_every_public_recording_function_has_a_docstring():
    import inspect

    functions = [f for name, f in vars(sinter).items() if not name.startswith("_") and type(f).__name__ == "nb_func"]
    assert len(functions) > 200
    undocumented = [f.__name__ for f in functions if len(inspect.getdoc(f).splitlines()) < 2]
    assert undocumented == []


def test_options_become_keywords():
    graph = sinter.Graph("g")
    x = graph.input("x", "i32", 4)
    graph.output("y", sinter.cumsum(x, 0, exclusive=True, reverse=True))
    a = np.array([1, 2, 3, 4], np.int32)
    np.testing.assert_array_equal(run(graph, x=a)["y"].numpy(), [9, 7, 4, 0])
    with pytest.raises(TypeError, match="exclusive"):
        sinter.cumsum(x, 0, True)


def test_reductions_are_methods():
    x = sinter.Graph("g").input("x", "f32", (3, 5))
    assert x.sum(1).shape == (3,) and x.max(axis=0, keepdims=True).shape == (1, 5) and x.mean(keep=True).shape == (1, 1)


def test_gradient():
    graph = sinter.Graph("g")
    x = graph.input("x", "f32", 5)
    (g,) = sinter.gradient(sinter.sum(x * x * x), [x])
    graph.output("g", g)
    a = np.arange(5, dtype=np.float32)
    np.testing.assert_allclose(run(graph, x=a)["g"].numpy(), 3 * a * a)
    with pytest.raises(sinter.UserError, match=r"test_recording.py:\d+"):
        sinter.gradient(x, [x])
