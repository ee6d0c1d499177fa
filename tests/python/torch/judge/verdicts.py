"""Judges all samples of one op and dtype, in batches that are halved where a batch fails."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from .batch import Coverage, run_compiled
from .compare import difference
from .eager import Results, run_eagerly
from .samples import DTYPES, Sample, has_gradient, samples_of

# Results without defined values: only dtypes and shapes are compared.
_UNDEFINED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty",
              "new_empty_strided", "resize_", "resize_as_")


@dataclass
class Verdict:
    """`passed`, `inexact`, `failed` or `random`; `torch` if no op has a lowering; `error`: neither
    side could trace or run the sample."""

    op: str
    dtype: str
    sample: int
    gradient: bool
    verdict: str
    reason: str = ""
    lowered: list[str] = field(default_factory=list)
    stayed: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in ("", [], {})}


def judge_op(op: Any, dtype_name: str, most: int | None,
             largest_batch: int = 8) -> list[Verdict]:
    dtype = DTYPES[dtype_name]
    if dtype not in op.dtypes:
        return []
    gradient = has_gradient(op, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = samples_of(op, dtype, gradient, most)
        except Exception as error:  # noqa: BLE001: samples of a few ops need packages or a GPU
            return [_verdict(op, dtype_name, None, gradient, "error", _first_line(error))]
        verdicts = []
        for at in range(0, len(samples), largest_batch):
            verdicts += _judge(samples[at : at + largest_batch], dtype_name)
    return verdicts


def _judge(samples: list[Sample], dtype: str) -> list[Verdict]:
    runnable, eager, verdicts = [], [], []
    for sample in samples:
        try:
            result = run_eagerly(sample)
        except Exception as error:  # noqa: BLE001
            verdicts.append(_of(sample, dtype, "error", f"eager: {_first_line(error)}"))
            continue
        if not result.outputs:
            verdicts.append(_of(sample, dtype, "error", "no tensor among the results"))
            continue
        runnable.append(sample)
        eager.append(result)
    return verdicts + _judge_runnable(runnable, eager, dtype)


def _judge_runnable(samples: list[Sample], eager: list[Results], dtype: str
                    ) -> list[Verdict]:
    if not samples:
        return []
    torch._dynamo.reset()
    try:
        results, coverages = run_compiled(samples)
    except Exception as error:  # noqa: BLE001
        if len(samples) == 1:
            verdict = "error" if _is_of_trace(error) else "failed"
            return [_of(samples[0], dtype, verdict, _first_line(error))]
        half = len(samples) // 2
        return _judge_runnable(samples[:half], eager[:half], dtype) + _judge_runnable(
            samples[half:], eager[half:], dtype
        )
    return [
        _compared(sample, dtype, ours, theirs, coverage)
        for sample, ours, theirs, coverage in zip(samples, results, eager, coverages)
    ]


def _compared(sample: Sample, dtype: str, ours: Results, theirs: Results, coverage: Coverage
              ) -> Verdict:
    def exact() -> Results | None:
        try:
            return run_eagerly(sample, wide=True)
        except Exception:  # noqa: BLE001: some ops have no f64
            return None

    if not coverage.lowered and coverage.stayed:
        return _of(sample, dtype, "torch", "", coverage)
    only_types = coverage.is_random or sample.op.name in _UNDEFINED
    verdict, reason = difference(ours, theirs, exact, only_types)
    if coverage.is_random and verdict == "passed":
        verdict = "random"
    return _of(sample, dtype, verdict, reason, coverage)


# Messages of tracing: the op needs values of tensors, or has no fake implementation.
_TRACE_ERRORS = (
    "DataDependent",
    "DynamicOutputShape",
    "GuardOnDataDependent",
    "UnsupportedFakeTensor",
    "UnsupportedMutationAliasing",
    "UnsupportedOperator",
)


def _is_of_trace(error: BaseException) -> bool:
    return any(part in type(error).__name__ for part in _TRACE_ERRORS)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}"[:240]


def _of(sample: Sample, dtype: str, verdict: str, reason: str, coverage: Coverage | None = None
        ) -> Verdict:
    gradient = sample.needs_gradient
    return _verdict(sample.op, dtype, sample.index, gradient, verdict, reason, coverage)


def _verdict(op: Any, dtype: str, index: int | None, gradient: bool, verdict: str, reason: str,
             coverage: Coverage | None = None) -> Verdict:
    coverage = coverage or Coverage()
    return Verdict(op.full_name, dtype, -1 if index is None else index, gradient, verdict, reason,
                   sorted(coverage.lowered), dict(sorted(coverage.stayed.items())))

