#!/usr/bin/env python3
"""Writes suite.json from ops.py and cases.py. sinter and all peers read their cases from it. With --check it
only checks that the file is up to date."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases  # noqa: E402
import graph_text  # noqa: E402
import ops  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def op_row(op):
    return {"op": op.name, "group": op.group, "dtypes": op.dtypes, "text": op.text,
            "outputs": {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in op.outputs.items()},
            "updates": op.updates, "untouched": op.untouched, "kernels": op.kernels}


def interleaved(rows):
    """Interleaves the quick cases of all groups, so that a run that is stopped early has some of each. The other
    cases follow, interleaved too."""
    waiting = {}
    for row in rows:
        waiting.setdefault((0 if "quick" in row["tiers"] else 1, row["group"]), []).append(row)
    ordered = []
    for rank in (0, 1):
        groups = [rows for (tier, _), rows in waiting.items() if tier == rank]
        while any(groups):
            ordered += [group.pop(0) for group in groups if group]
    return ordered


def suite():
    rows = {op.name: op_row(op) for op in ops.OPS.values()}
    tiny = [{"name": f"{op.name}_{dtype}_tiny", "op": op.name, "dtype": dtype, "sizes": op.tiny,
             "modes": "KLE", "tiers": ["tiny"], "offset": 0}
            for op in ops.OPS.values() for dtype in op.dtypes]
    measured = interleaved([case | {"group": rows[case["op"]]["group"]} for case in cases.all_cases()])
    listed = []
    for case in tiny + measured:
        row = rows[case["op"]]
        listed.append({"name": case["name"], "op": case["op"], "group": row["group"], "dtype": case["dtype"],
                       "sizes": case["sizes"], "bytes": graph_text.bytes_of(row, case), "modes": case["modes"],
                       "tiers": case["tiers"], "offset": case["offset"], "seed": 1})
    names = [case["name"] for case in listed]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"make_suite.py: several cases have the name {', '.join(sorted(twice))}")
    return list(rows.values()), listed


def main():
    rows, listed = suite()
    one_per_line = [",\n".join(json.dumps(row) for row in part) for part in (rows, listed)]
    text = '{"ops": [\n%s\n],\n"cases": [\n%s\n]}\n' % tuple(one_per_line)
    path = HERE / "suite.json"
    if "--check" in sys.argv[1:]:
        if not path.exists() or path.read_text() != text:
            sys.exit("bench/suite/suite.json differs from ops.py and cases.py; run bench/suite/make_suite.py")
        return
    path.write_text(text)
    tiers = {tier: sum(tier in case["tiers"] for case in listed) for tier in ("tiny", "quick", "full", "sweep")}
    print(f"{path.name}: {len(rows)} ops, {len(listed)} cases: {tiers}")


if __name__ == "__main__":
    main()
