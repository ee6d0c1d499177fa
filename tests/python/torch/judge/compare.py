"""Verdicts: results of the backend against those of eager mode, and against eager mode in f64."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .eager import Results

# The defaults of torch.testing.assert_close: relative and absolute.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}


def error_of(result: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype) -> float:
    """The largest error, as a multiple of the tolerance of `dtype`; infinite if a NaN or inf differs."""
    if result.numel() == 0:
        return 0.0
    if dtype not in TOLERANCES:
        return 0.0 if torch.equal(result, reference.to(result.dtype)) else float("inf")
    relative, absolute = TOLERANCES[dtype]
    a, b = result.to(torch.float64), reference.to(torch.float64)
    equal = (a == b) | (a.isnan() & b.isnan())
    bound = absolute + relative * b.abs()
    error = torch.where(equal, 0.0, (a - b).abs() / bound)
    error = torch.where(error.isnan() | ~(a.isfinite() | equal), float("inf"), error)
    return float(error.max())


def difference(result: Results, eager: Results, exact: Callable[[], Results | None],
               only_types: bool) -> tuple[str, str]:
    """The verdict and its reason: `passed`, `inexact` (eager mode itself is not
    exact), or
    `failed`. With `only_types`, the values are not compared."""
    inexact = ""
    for kind in ("outputs", "gradients"):
        ours, theirs = getattr(result, kind), getattr(eager, kind)
        if len(ours) != len(theirs):
            return "failed", f"{len(ours)} {kind} instead of {len(theirs)}"
        for at, (a, b) in enumerate(zip(ours, theirs)):
            name = f"{kind[:-1]} {at}"
            if a is None or b is None:
                present = b if a is None else a
                if present is not None and bool((present != 0).any()):
                    return "failed", f"{name} is {'missing' if a is None else 'not expected'}"
                continue
            if a.dtype != b.dtype or a.shape != b.shape:
                return "failed", f"{name} is {_type(a)} instead of {_type(b)}"
            if only_types or _is_close(a, b):
                continue
            reason = f"{name}: {_largest_difference(a, b)}"
            references = exact()
            wide = getattr(references, kind)[at] if references is not None else None
            if wide is None or not _is_no_worse(a, b, wide):
                return "failed", reason
            inexact = reason
    return ("inexact", inexact) if inexact else ("passed", "")


def _type(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)}".removeprefix("torch.")


def _is_close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_complex():
        return torch.allclose(a, b, equal_nan=True)
    return error_of(a, b, a.dtype) <= 1


def _is_no_worse(a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor) -> bool:
    """True if a is within the tolerance of the exact result, or at most twice as far from it as
    eager's b."""
    if not a.is_floating_point() or exact.shape != a.shape:
        return False
    exact = exact.to(a.dtype) if exact.dtype != torch.float64 else exact
    narrowed = exact.to(a.dtype).to(torch.float64)
    ours, theirs = error_of(a, narrowed, a.dtype), error_of(b, narrowed, a.dtype)
    return ours <= 1 or ours <= 2 * theirs


def _largest_difference(a: torch.Tensor, b: torch.Tensor) -> str:
    kind = torch.complex128 if a.is_complex() else torch.float64
    distance = (a.to(kind) - b.to(kind)).abs().nan_to_num(float("inf"))
    equal = (a == b) | (a.isnan() & b.isnan()) if a.is_floating_point() else a == b
    distance = torch.where(equal, 0.0, distance).reshape(-1)
    at = int(distance.argmax())
    return f"{a.reshape(-1)[at].item()} instead of {b.reshape(-1)[at].item()} at element {at}"
