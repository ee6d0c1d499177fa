"""Ops that stay with torch, failures of sinter, and the messages."""

import warnings

import pytest
import torch
from helpers import assert_same, compiled

import sinter.torch
from sinter.torch import program
from sinter.torch.errors import BackendError, Unsupported
from sinter.torch.registry import LOWERINGS, Lowering, lowering

aten = torch.ops.aten


@pytest.fixture
def broken_sin(monkeypatch):
    """sin cannot be recorded."""

    def record(region, node, x):
        raise Unsupported("this test breaks sin")

    monkeypatch.setitem(LOWERINGS, aten.sin.default, Lowering(aten.sin.default, record))


@pytest.fixture
def broken_compiler(monkeypatch):
    """No region compiles."""

    def fail(*arguments):
        raise sinter.CompileError("this test breaks the compiler")

    monkeypatch.setattr(program, "_compile", fail)
    program.forget_programs()
    yield
    program.forget_programs()


def function(x):
    return (x * 2).sin() + 1


def test_an_op_that_cannot_be_recorded_stays_with_torch(broken_sin, caplog):
    x = torch.randn(5)
    run = compiled(function, fallback=True)
    assert_same(run(x), function(x))
    (record,) = [r for r in caplog.records if r.name == "sinter.torch" and r.levelname == "WARNING"]
    text = record.getMessage()
    assert "aten.sin.default stays with torch" in text and "this test breaks sin" in text
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}" in text


def test_strict_mode_names_the_op_and_its_place(broken_sin):
    with pytest.raises(Exception, match="sinter cannot record aten.sin.default at .*test_failures.py:") as caught:
        compiled(function)(torch.randn(5))
    assert "this test breaks sin" in str(caught.value)


def test_torch_runs_a_region_that_does_not_compile(broken_compiler):
    x = torch.randn(3, 5).t()
    run = compiled(lambda x: (function(x).sum(1), x.t() * 2), fallback=True)
    with pytest.warns(UserWarning, match="this test breaks the compiler") as warned:
        assert_same(run(x), (function(x).sum(1), x.t() * 2))
    assert "torch runs it instead" in str(warned[0].message) and "test_failures.py:" in str(warned[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(run(x), (function(x).sum(1), x.t() * 2))  # warns once
    assert sinter.torch.counters()["fallbacks"] == 1


def test_torch_runs_dynamic_regions_that_do_not_compile(broken_compiler):
    run = compiled(lambda x: function(x).reshape(-1) * x.shape[0], fallback=True, dynamic=True)
    with pytest.warns(UserWarning, match="this test breaks the compiler"):
        for n in (3, 6):
            x = torch.randn(n, 4)
            assert_same(run(x), function(x).reshape(-1) * n)


def test_strict_mode_raises_when_a_region_does_not_compile(broken_compiler):
    with pytest.raises(BackendError, match="cannot run the region .*this test breaks the compiler"):
        compiled(function)(torch.randn(5))


def test_unknown_options_list_the_names():
    with pytest.raises(Exception, match="no option 'tone'; the backend has fallback, .* sinter.compile has tune, "):
        compiled(function, tone=1)(torch.randn(5))


def test_unknown_modes_list_the_modes():
    run = torch.compile(function, backend="sinter", mode="reduce-overhead")
    with pytest.raises(Exception, match="no mode 'reduce-overhead'; it has \"default\" and \"max-autotune\""):
        run(torch.randn(5))


def test_kept_ops_stay_with_torch():
    explanation = sinter.torch.explain(function, torch.randn(5), options={"keep": ["aten.sin"]})
    (row,) = explanation.torch_ops
    assert row.op == "aten.sin.default" and row.reason == "aten.sin.default is in the option keep"
    assert row.place == f"{__file__}:{function.__code__.co_firstlineno + 1}"


def test_explain_counts_regions_and_kernels():
    w = torch.randn(8, 8, requires_grad=True)
    explanation = sinter.torch.explain(lambda x: (x.relu() @ w).exp().sum(), torch.randn(4, 8))
    forward = [row for row in explanation.regions if row.graph.startswith("forward")]
    assert [row.kernels for row in forward] == [1, 1]
    assert explanation.kernels >= 3 and explanation.bytes > 4 * 8 * 4
    assert {row.op for row in explanation.torch_ops} == {"aten.mm.default"}
    assert "3 regions" in str(explanation) and "aten.mm.default" in str(explanation)


def test_explain_leaves_compiled_functions_alone():
    run = compiled(function)
    x = torch.randn(5)
    run(x)
    for _ in range(10):
        assert len(sinter.torch.explain(function, x).regions) == 1
    graphs = sinter.torch.counters()["graphs"]
    run(x)
    assert sinter.torch.counters()["graphs"] == graphs == 11
    assert sinter.torch.counters()["recompiles"] == 0


def test_inputs_with_other_strides_are_copied():
    from sinter.torch.launch import Launcher

    seen = []
    sinter.torch.compiler._listeners.append(seen.append)
    try:
        x = torch.randn(4, 6)
        compiled(lambda x: x * 2)(x)
    finally:
        sinter.torch.compiler._listeners.clear()
    (launcher,) = seen[0].launchers
    assert isinstance(launcher, Launcher)
    other = torch.randn(6, 4).t()
    (result,) = launcher.function(other)
    assert_same(result, (other * 2).contiguous())
    assert sinter.torch.counters()["copied_inputs"] == 1


def test_an_op_cannot_have_two_lowerings():
    with pytest.raises(ValueError, match="aten.sin.default has two lowerings"):
        lowering(aten.sin.default)(lambda region, node, x: x)
