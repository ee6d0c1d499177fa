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
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


def errors_of(result: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The error of each element, as a multiple of the tolerance of `dtype`. It is infinite where a NaN
    or an infinity differs, and for integers that differ."""
    kind = torch.complex128 if result.is_complex() else torch.float64
    a, b = result.to(kind), reference.to(kind)
    equal = (result == reference.to(result.dtype)) | (a.isnan() & b.isnan())
    relative, absolute = TOLERANCES.get(dtype, (0.0, 0.0))
    error = (a - b).abs() / (absolute + relative * b.abs())
    error = torch.where(error.isnan() | ~a.isfinite(), float("inf"), error)
    return torch.where(equal, 0.0, error).reshape(-1)


def error_of(result: torch.Tensor, reference: torch.Tensor) -> float:
    """The largest of `errors_of`; 0 if there are no elements."""
    errors = errors_of(result, reference, result.dtype)
    return float(errors.max()) if errors.numel() else 0.0


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
            if only_types or error_of(a, b) <= 1:
                continue
            reason = f"{name}: {_largest_difference(a, b)}"
            references = exact()
            wide = getattr(references, kind)[at] if references is not None else None
            if wide is None or not _is_no_worse(a, b, wide):
                return "failed", f"{reason}{_distances(a, b, wide)}"
            inexact = reason
    return ("inexact", inexact) if inexact else ("passed", "")


def _type(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)}".removeprefix("torch.")


def _is_no_worse(a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor) -> bool:
    """True if a is within the tolerance of the exact result, or is not much less exact than eager's b.

    The root mean square of its errors may be twice that of b, and three times for f16 and bf16, as in
    Dynamo's own check."""
    if not a.is_floating_point() or exact.shape != a.shape:
        return False
    factor = 3 if a.dtype in (torch.float16, torch.bfloat16) else 2
    return error_of(a, exact) <= 1 or _mean_error(a, exact) <= factor * _mean_error(b, exact)


def _mean_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    """The root mean square error; infinite if a NaN or an infinity differs."""
    a, b = result.to(torch.float64), exact.to(torch.float64)
    equal = (result == exact.to(result.dtype)) | (a.isnan() & b.isnan())
    square = torch.where(equal, 0.0, (a - b) ** 2)
    return float(torch.where(square.isnan(), float("inf"), square).mean().sqrt())


def _distances(a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor | None) -> str:
    if exact is None or exact.shape != a.shape:
        return ""
    ours, theirs = _mean_error(a, exact), _mean_error(b, exact)
    return f"; mean errors against f64: {ours:.3g}, eager {theirs:.3g}"


def _largest_difference(a: torch.Tensor, b: torch.Tensor) -> str:
    errors = errors_of(a, b, a.dtype)
    at = int(errors.argmax())
    return f"{a.reshape(-1)[at].item()} instead of {b.reshape(-1)[at].item()} at element {at}"
