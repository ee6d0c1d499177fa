"""A share of PyTorch's op database through the backend. `judge_ops.py` judges all of it."""

from __future__ import annotations

import os

import pytest
import torch

pytest.importorskip("expecttest", reason="torch.testing._internal needs it")

from judge.samples import DTYPES, has_gradient, ops_named, samples_of
from judge.verdicts import judge_op

SHARE = int(os.environ.get("SINTER_OP_DB_SHARE", "24"))  # every n-th op; 1: all
OFFSET = int(os.environ.get("SINTER_OP_DB_OFFSET", "0"))
_NAMES = list(DTYPES)

# Ops with a lowering of their own kind, which every run judges.
_ALWAYS = ["add", "amax", "cat", "gather", "index_put", "nn.functional.gelu", "softmax", "var",
           "nn.functional.layer_norm", "nn.functional.max_pool2d", "scatter_reduce.amax"]


def _cases() -> list[tuple[str, str]]:
    """Each op of the share with f32 and one more dtype."""
    cases = []
    for at, op in enumerate(ops_named(None)):
        if at % SHARE == OFFSET or op.full_name in _ALWAYS:
            others = [name for name in _NAMES if name != "f32" and DTYPES[name] in op.dtypes]
            chosen = ["f32", *others[at % len(others) : at % len(others) + 1]] if others else ["f32"]
            cases += [(op.full_name, name) for name in chosen]
    return cases


@pytest.mark.parametrize(("name", "dtype"), _cases())
def test_samples_are_within_tolerance(name: str, dtype: str) -> None:
    (op,) = ops_named([name])
    verdicts = judge_op(op, dtype, most=2)
    failures = [f"sample {v.sample}: {v.reason}" for v in verdicts if v.verdict == "failed"]
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", ["add", "softmax", "scatter_add", "nn.functional.huber_loss"])
def test_torch_compile_gives_the_same_results(name: str) -> None:
    """The same samples through Dynamo."""
    import sinter.torch  # noqa: F401

    (op,) = ops_named([name])
    for sample in samples_of(op, torch.float32, has_gradient(op, torch.float32), most=2):
        torch._dynamo.reset()
        compiled = torch.compile(
            sample.call, backend="sinter", options={"fallback": False, "optimize_host": False}
        )
        expected = sample.call(sample.inputs())
        results = compiled(sample.inputs())
        torch.testing.assert_close(results, expected)
