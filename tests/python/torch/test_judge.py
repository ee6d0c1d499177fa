"""The judge finds wrong results, and tells which ops stay with torch."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("expecttest", reason="torch.testing._internal needs it")

from judge.compare import difference
from judge.eager import Results
from judge.samples import ops_named
from judge.table import page
from judge.verdicts import judge_op


def _results(*values: float, dtype: torch.dtype = torch.float32) -> Results:
    return Results([torch.tensor(values, dtype=dtype)], [])


def _verdict(ours: Results, theirs: Results, exact: Results | None = None) -> str:
    return difference(ours, theirs, lambda: exact, only_types=False)[0]


def test_equal_results_pass() -> None:
    assert _verdict(_results(1.0, float("nan")), _results(1.0, float("nan"))) == "passed"


def test_a_wrong_element_fails_with_its_values() -> None:
    verdict, reason = difference(_results(1.0, 2.5), _results(1.0, 2.0), lambda: None, False)
    assert verdict == "failed"
    assert reason == "output 0: 2.5 instead of 2.0 at element 1"


def test_a_missing_nan_fails() -> None:
    assert _verdict(_results(1.0), _results(float("nan"))) == "failed"


def test_another_dtype_fails() -> None:
    verdict, reason = difference(
        _results(1.0, dtype=torch.float64), _results(1.0), lambda: None, False
    )
    assert (verdict, reason) == ("failed", "output 0 is float64[1] instead of float32[1]")


def test_eager_results_far_from_the_exact_ones_are_inexact() -> None:
    exact = _results(1.0, dtype=torch.float64)
    assert _verdict(_results(1.0), _results(1.001), exact) == "inexact"


def test_results_further_from_the_exact_ones_than_eager_fail() -> None:
    exact = _results(1.0, dtype=torch.float64)
    assert _verdict(_results(1.01), _results(1.001), exact) == "failed"


def test_a_missing_gradient_fails_unless_it_is_zero() -> None:
    ours = Results([], [None])
    assert _verdict(ours, Results([], [torch.ones(2)])) == "failed"
    assert _verdict(ours, Results([], [torch.zeros(2)])) == "passed"


def test_a_wrong_lowering_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    import sinter
    from sinter.torch.registry import LOWERINGS

    op = torch.ops.aten.atan.default
    wrong = dataclasses.replace(LOWERINGS[op], record=lambda region, node, x: sinter.sin(x))
    monkeypatch.setitem(LOWERINGS, op, wrong)
    (atan,) = ops_named(["atan"])
    verdicts = judge_op(atan, "f32", most=1)
    assert [v.verdict for v in verdicts] == ["failed"]


def test_ops_that_stay_with_torch_are_told() -> None:
    (sort,) = ops_named(["sort"])
    (verdict,) = judge_op(sort, "i64", most=1)
    assert (verdict.verdict, list(verdict.stayed)) == ("torch", ["aten.sort.default"])


def test_the_page_counts_samples() -> None:
    one = {"op": "exp", "dtype": "f32", "sample": 0, "gradient": True, "verdict": "passed"}
    other = {**one, "sample": 1, "verdict": "failed"}
    text = page([one, other], "command")
    assert "1 of 2 samples with mapped ops are within tolerance, which is 50.00 %." in text
    assert "| exp | 2 | 1 | 0 | 0 | 1 | 0 | 0 | 0 |" in text
