"""Makes tables of results: sinter's speed relative to each peer, and each system's relative to a copy."""

import collections
import math

MODES = {"K": "K: time of the kernels, in a CUDA Graph over cold data",
         "L": "L: calls in a stream",
         "E": "E: one call at a time, with a wait after each"}


def rows_of(files):
    return [row for results in files for row in results["rows"]]


def times(rows, mode):
    """{system: {case: row}} of the measured rows of a mode."""
    found = collections.defaultdict(dict)
    for row in rows:
        if row["mode"] == mode and row["status"] == "ok":
            found[row["system"]][row["case"]] = row
    return found


def geomean(numbers):
    return math.exp(sum(math.log(number) for number in numbers) / len(numbers))


def table(header, lines):
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "".join("| " + " | ".join(line) + " |\n" for line in [header, rule, *lines])


def summary(ratios, groups):
    """Cells for {case: (group, ratio)}: count, geomean, worst ratio with its case, and a geomean per group."""
    worst = min(ratios, key=lambda case: ratios[case][1])
    cells = [str(len(ratios)), f"{geomean([ratio for _, ratio in ratios.values()]):.2f}",
             f"{ratios[worst][1]:.2f} ({worst})"]
    for group in groups:
        of_group = [ratio for name, ratio in ratios.values() if name == group]
        cells.append(f"{geomean(of_group):.2f}" if of_group else "")
    return cells


def against_peers(rows, mode, own="sinter"):
    """The peer's time divided by sinter's: 2 means that sinter is twice as fast."""
    found = times(rows, mode)
    groups = list(dict.fromkeys(row["group"] for row in found[own].values()))
    lines = []
    for system, of_peer in found.items():
        shared = [case for case in found[own] if case in of_peer]
        if system == own or not shared:
            continue
        ratios = {case: (of_peer[case]["group"], of_peer[case]["us"]["median"] / found[own][case]["us"]["median"])
                  for case in shared}
        lines.append([system, *summary(ratios, groups)])
    return table(["system", "cases", "geomean", "worst", *groups], lines) if lines else ""


def shares(rows, mode, share):
    """The time of a copy of the same bytes (`of_copy`), or of a kernel that only reads (`of_read`), divided by the
    system's time. All are of the same mode and run. The kernel that only reads bounds reductions."""
    found = times(rows, mode)
    groups = list(dict.fromkeys(row["group"] for row in rows if row["mode"] == mode and row.get(share)))
    lines = []
    for system, of_system in found.items():
        ratios = {case: (row["group"], row[share]) for case, row in of_system.items() if row.get(share)}
        if ratios:
            lines.append([system, *summary(ratios, groups)])
    return table(["system", "cases", "geomean", "worst", *groups], lines) if lines else ""


def case_by_case(rows, mode):
    found = times(rows, mode)
    systems = list(found)
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows if row["mode"] == mode):
        of_case = {system: found[system][case] for system in systems if case in found[system]}
        if not of_case:
            continue
        first = next(iter(of_case.values()))
        cells = [f"{of_case[system]['us']['median']:.2f}" if system in of_case else "" for system in systems]
        own = of_case.get("sinter")
        lines.append([case, f"{first['bytes'] / 1e6:.1f}", *cells,
                      f"{own['tb_per_s']:.2f}" if own else "",
                      f"{own['of_copy']:.2f}" if own and own["of_copy"] else ""])
    header = ["case", "MB", *[f"{system}, us" for system in systems], "sinter, TB/s", "sinter of copy"]
    return table(header, lines) if lines else ""


def not_measured(rows):
    # Another file may continue an interrupted run. Of several rows with one key the last counts, and a row that was
    # run replaces rows that were not.
    last = {}
    for row in rows:
        key = row["system"], row["case"], row["mode"]
        if row["status"] != "not_run" or last.get(key, row)["status"] == "not_run":
            last[key] = row
    measured = {(system, case) for (system, case, _), row in last.items() if row["status"] == "ok"}
    counts = collections.Counter((row["system"], row["status"], row["reason"] or "") for row in last.values()
                                 if row["status"] != "ok" and not (row["status"] == "not_run" and
                                                                   (row["system"], row["case"]) in measured))
    lines = [[system, status, str(count), reason] for (system, status, reason), count in sorted(counts.items())]
    return table(["system", "status", "rows", "why"], lines) if lines else ""


def setting(files):
    lines = [[results["system"], results.get("version") or "", results["device"], results["driver"] or "unknown",
              results["date"], clocks(results["rows"])] for results in files]
    return table(["system", "version", "device", "driver", "date", "SM clock, MHz"], lines)


def clocks(rows):
    seen = [row["sm_mhz"] for row in rows if row.get("sm_mhz")]
    return f"{min(seen):.0f} to {max(seen):.0f}" if seen else "unknown"


def report(files):
    rows = rows_of(files)
    parts = ["# Results\n", setting(files)]
    for mode, title in MODES.items():
        copies, reads, peers = shares(rows, mode, "of_copy"), shares(rows, mode, "of_read"), against_peers(rows, mode)
        cases = case_by_case(rows, mode)
        if not cases:
            continue
        parts.append(f"## {title}\n")
        if copies:
            parts += ["Time of a copy of the same bytes divided by the system's (1 is as fast as the copy):\n", copies]
        if reads:
            parts += ["Time of a kernel that only reads as many bytes divided by the system's (1 is as fast as "
                      "reading):\n", reads]
        if peers:
            parts += ["Time of each system divided by sinter's (2: sinter is twice as fast):\n", peers]
        parts += ["Medians:\n", cases]
    if missing := not_measured(rows):
        parts += ["## Not measured\n", missing]
    return "\n".join(parts)
