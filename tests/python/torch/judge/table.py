"""The page of the judge: counts per op of the database, and the ATen ops that stay with torch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

Verdicts = Iterable[dict[str, Any]]

_COLUMNS = {
    "pass": ("passed",),
    "eager inexact": ("inexact",),
    "random": ("random",),
    "fail": ("failed",),
    "torch only": ("torch",),
    "no trace": ("error",),
}


def _row(counts: Counter[str]) -> list[int]:
    return [sum(counts[name] for name in names) for names in _COLUMNS.values()]


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _is_clean(counts: Counter[str]) -> bool:
    return set(counts) <= {"passed", "inexact", "random"}


def page(verdicts: Verdicts, command: str) -> str:
    verdicts = list(verdicts)
    per_op: dict[str, Counter[str]] = defaultdict(Counter)
    per_dtype: dict[str, Counter[str]] = defaultdict(Counter)
    partly: Counter[str] = Counter()
    stays: dict[str, Counter[str]] = defaultdict(Counter)
    mixed = 0
    for one in verdicts:
        per_op[one["op"]][one["verdict"]] += 1
        per_dtype[one["dtype"]][one["verdict"]] += 1
        for op, reason in one.get("stayed", {}).items():
            stays[op][reason] += 1
        if one.get("stayed") and one["verdict"] != "torch":
            partly[one["op"]] += 1
            mixed += 1
    total: Counter[str] = sum(per_op.values(), Counter())
    mapped = sum(total[name] for name in ("passed", "inexact", "random", "failed"))
    good = mapped - total["failed"]
    share = 100 * good / mapped if mapped else 0.0
    lines = [
        f"{good} of {mapped} samples with mapped ops are within tolerance, which is {share:.2f} %. "
        f"In {mixed} of them, some ops stay with torch. Of {sum(total.values())} samples, "
        f"{total['torch']} have no mapped op, and {total['error']} cannot be traced. "
        f"{sum(one['gradient'] for one in verdicts)} samples check gradients, too.",
        "",
        f"Written by `{command}`.",
        "",
        _line(["dtype", "samples", *_COLUMNS]),
        _line(["---"] * (2 + len(_COLUMNS))),
        _line(["**all**", sum(total.values()), *_row(total)]),
    ]
    for dtype, counts in per_dtype.items():
        lines.append(_line([dtype, sum(counts.values()), *_row(counts)]))
    lines += ["", *_ops(per_op, partly), "", *_stays(stays), ""]
    return "\n".join(lines)


def _ops(per_op: dict[str, Counter[str]], partly: Counter[str]) -> list[str]:
    clean = sorted(op for op, counts in per_op.items() if _is_clean(counts) and not partly[op])
    rest = sorted(op for op in per_op if op not in set(clean) and set(per_op[op]) != {"error"})
    none = sorted(op for op, counts in per_op.items() if set(counts) == {"error"})
    lines = ["## Ops with other samples", "",
             "`partly torch` counts the samples in which some ops stay with torch.", "",
             _line(["op", "samples", *_COLUMNS, "partly torch"]),
             _line(["---"] * (3 + len(_COLUMNS)))]
    for op in rest:
        counts = per_op[op]
        lines.append(_line([op, sum(counts.values()), *_row(counts), partly[op]]))
    lines += ["", f"## Ops of which sinter computes all samples ({len(clean)})", "",
              ", ".join(clean) + ".", "", f"## Ops that cannot be traced ({len(none)})", "",
              ", ".join(none) + "."]
    return lines


def _stays(stays: dict[str, Counter[str]]) -> list[str]:
    lines = ["## ATen ops that stay with torch", "", _line(["op", "samples", "most common reason"]),
             _line(["---"] * 3)]
    for op, reasons in sorted(stays.items(), key=lambda item: (-sum(item[1].values()), item[0])):
        reason = reasons.most_common(1)[0][0]
        text = "no lowering" if "no lowering" in reason else reason
        lines.append(_line([f"`{op}`", sum(reasons.values()), text]))
    return lines
