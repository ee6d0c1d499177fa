"""Compiling and running through the core: options, contexts, updates, files, reports."""

import threading

import numpy as np
import pytest

import sinter

HOST = sinter.host_device()


def compiled(graph, **options):
    return sinter.compile(graph, HOST, **{"tune": "off", "optimize_host": False} | options)


@pytest.fixture(scope="module")
def scaled():
    graph = sinter.Graph("scaled")
    rows = graph.extent("rows")
    x = graph.input("x", "f32", (rows, 4))
    factor = graph.scalar("factor", "f32")
    graph.output("y", x * factor)
    graph.output("total", sinter.sum(x))
    return compiled(graph)


def test_results_by_name_and_position(scaled):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    results = scaled(x=x, factor=3)
    np.testing.assert_array_equal(results["y"].numpy(), 3 * x)
    assert results.keys() == ["y", "total"] and len(results) == 2
    y, total = results
    assert y.shape == (2, 4) and float(total.numpy()) == 28
    assert dict(results.items()).keys() == {"y", "total"}
    with pytest.raises(KeyError, match="no output z; the outputs are y, total"):
        results["z"]
    with pytest.raises(IndexError):
        results[2]


def test_results_in_arrays_of_the_caller(scaled):
    x = np.ones((3, 4), np.float32)
    y, total = np.empty((3, 4), np.float32), np.empty((), np.float32)
    context = scaled.context()
    assert context.run({"x": x, "factor": 2.0}, {"y": y, "total": total}) is None
    assert (y == 2).all() and total == 12
    context.replay({"x": x, "factor": 5}, {"y": y, "total": total})
    assert (y == 5).all()
    context.call([x, 7], [y, total])
    assert (y == 7).all()
    bindings = context.bind({"x": x, "factor": 1}, {"y": y, "total": total})
    context.run(bindings)
    bindings.set("factor", 9)
    context.replay(bindings)
    assert (y == 9).all()
    assert context.counters["kernel_launches"] >= 3


def test_arguments_are_listed(scaled):
    assert [(a.name, a.kind, a.type) for a in scaled.arguments] == [
        ("x", "input", "f32[rows, 4]"),
        ("factor", "scalar", "f32[]"),
        ("y", "output", "f32[rows, 4]"),
        ("total", "output", "f32[]"),
    ]
    with pytest.raises(sinter.UserError, match=r"test_running.py:\d+: the program has 2 inputs, and the call passes 1"):
        scaled.context().call([1], [])


def test_bad_bindings_are_errors(scaled):
    with pytest.raises(sinter.UserError, match="factor"):
        scaled(x=np.ones((2, 4), np.float32))
    with pytest.raises(sinter.UserError, match="f64"):
        scaled(x=np.ones((2, 4)), factor=1)
    with pytest.raises(sinter.UserError, match=r"test_running.py:\d+: list is no array"):
        scaled(x=[[1.0]], factor=1)


def test_large_numbers_are_errors(scaled):
    with pytest.raises(sinter.UserError, match=r"test_running.py:\d+: the number 18446744073709551616 for factor does not fit"):
        scaled(x=np.ones((2, 4), np.float32), factor=2**64)


def test_empty_arrays_have_any_strides(scaled):
    x = np.zeros((0, 4), np.float32)
    results = scaled(x=x[:, ::2].repeat(2, axis=1), factor=1)
    assert results["y"].shape == (0, 4) and float(results["total"].numpy()) == 0
    assert scaled(x=np.lib.stride_tricks.as_strided(x, (0, 4), (0, 0)), factor=1)["y"].shape == (0, 4)


def test_updates_and_weights():
    graph = sinter.Graph("step")
    w = graph.input("w", "f32", 3)
    graph.update(w, w - 0.5)
    graph.output("sum", sinter.sum(w))
    executable = compiled(graph)
    w = np.ones(3, np.float32)
    executable(w=w)
    assert (w == 0.5).all()
    model = executable.with_weights({"w": HOST.array(np.full(3, 4, np.float32))})
    model(), model()
    assert (model.weight("w").numpy() == 3).all()


def test_options_are_keywords_with_messages():
    graph = sinter.Graph("g")
    graph.output("y", graph.input("x", "f32", 4) + 1)
    options = sinter.Options()
    options.tune = "off"
    options.cache.mode = "off"
    assert sinter.compile(graph, HOST, options, optimize_host=False).name == "g"
    with pytest.raises(sinter.UserError, match=r"test_running.py:\d+: compile: there is no option tuned; the options are tune,"):
        compiled(graph, tuned=True)
    with pytest.raises(sinter.UserError, match="option tune cannot be 'fast'; its default is 'quick'"):
        compiled(graph, tune="fast")
    assert repr(options).startswith("Options(tune='off'")


def test_log_lines_reach_python():
    lines = []
    graph = sinter.Graph("g")
    graph.output("y", sinter.exp(graph.input("x", "f32", 4)))
    compiled(graph, log=lines.append, debug=2)
    assert any("pointwise" in line for line in lines)


def test_kernels_of_python_are_those_of_the_text_form():
    graph = sinter.Graph("norm")
    x = graph.input("x", "f32", (8, 64))
    graph.output("y", sinter.layer_norm(x))
    executable = compiled(graph)
    report = executable.report()
    parsed = compiled(sinter.parse(str(graph))).report()
    assert [k.schedule for k in parsed.kernels] == [k.schedule for k in report.kernels]
    assert [k.kind for k in report.kernels] == ["row_reduce"]
    assert report.kernels[0].launches == 1 and report.kernels[0].minimal_bytes == 2 * 4 * 8 * 64


def test_save_and_load(tmp_path, scaled):
    scaled.prepare({"rows": 5})
    path = str(tmp_path / "scaled.sinterx")
    scaled.save(path, archs=["host"])
    loaded = sinter.load(path, HOST)
    x = np.ones((5, 4), np.float32)
    assert (loaded(x=x, factor=4)["y"].numpy() == 4).all()
    with pytest.raises(sinter.UserError, match="missing.sinterx"):
        sinter.load(str(tmp_path / "missing.sinterx"), HOST)


def test_explain_shows_a_page():
    graph = sinter.Graph("norm")
    rows = graph.extent("rows")
    graph.output("y", sinter.softmax(graph.input("x", "f32", (rows, 512))))
    page = sinter.explain(graph, {"rows": 64}, target="h200")
    assert page.sizes == ["rows = 64"] and len(page.kernels) == 1 and page.target == "h200"
    assert page.kernels[0].predicted_us > 0
    assert "norm" in page.html() and '"kernels"' in page.json()
    assert page._repr_html_().startswith("<iframe srcdoc=")


def test_profile(scaled):
    x, y, total = np.ones((64, 4), np.float32), np.empty((64, 4), np.float32), np.empty((), np.float32)
    profile = sinter.profile(scaled.context(), {"x": x, "factor": 1}, {"y": y, "total": total}, repeats=3)
    assert profile.kernels and all(k.median_us > 0 for k in profile.kernels)
    assert profile.kernels[0].name in str(profile)
    assert sinter.counters().kernel_launches > 0


def test_compiling_releases_the_interpreter():
    """Another thread runs Python while kernels are compiled."""
    graph = sinter.Graph("slow")
    x = graph.input("x", "f32", 64)
    for i in range(40):
        x = sinter.sin(x) * (i + 1)
    graph.output("y", x)
    ticks, done = [0], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    compiled(graph, cache="off")
    done.set()
    thread.join()
    assert ticks[0] >= 5


def test_contexts_of_several_threads(scaled):
    failures = []

    def work(factor):
        x = np.full((16, 4), factor, np.float32)
        for _ in range(50):
            if not (scaled(x=x, factor=factor)["y"].numpy() == factor * factor).all():
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
