#!/usr/bin/env python3
"""Checks the formulas that check the peers against sinter's oracle: compares them at the tiny sizes with
bench/suite/tiny_oracle.json. Needs only NumPy."""

import json
import sys

import numpy as np

import common
import checking


def worst_of(suite, case, oracle):
    """The largest difference from the oracle's elements, divided by the difference that their dtype allows."""
    dtypes = suite.result_dtypes(case)
    results = checking.reference(suite.op(case), case)
    worst = 0.0
    for name, values in oracle.items():
        flat = results[name].astype(np.float64).reshape(-1)
        ours = np.array([flat[i * flat.size // len(values)] for i in range(len(values))])
        allowed = (checking.TOLERANCE[dtypes[name]] or 1e-12) * (np.abs(ours) + np.abs(flat).mean())
        worst = max(worst, float((np.abs(ours - np.array(values)) / allowed).max()))
    return worst


def main():
    suite = common.Suite()
    oracle = json.loads((common.SUITE / "tiny_oracle.json").read_text())
    failed = 0
    cases = suite.chosen(common.arguments_of(["--tiny", *sys.argv[1:]]))
    for case in cases:
        worst = worst_of(suite, case, oracle[case["name"]])
        if not worst <= 1:
            failed += 1
            print(f"{case['name']}: the formula differs from the oracle by {worst:.3g} times the allowed error")
    print(f"{len(cases) - failed} of {len(cases)} formulas agree with the oracle")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
