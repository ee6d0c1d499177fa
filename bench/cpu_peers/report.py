"""The table and the picture of results of bench/cpu_peers."""

import collections
import math
import statistics

import cases


def by_case(results):
    """{case: {system: row}}, for rows with a time."""
    found = collections.OrderedDict()
    for row in results["rows"]:
        found.setdefault(row["case"], {})
        if row["status"] == "ok":
            found[row["case"]][row["system"]] = row
    return found


def ratio_to(own, peer):
    """The median over the rounds of sinter's time divided by the peer's time in the same round."""
    return statistics.median(mine / other for mine, other in zip(own["us"], peer["us"]))


def ratio_to_best(systems):
    """(the ratio to the fastest peer, that peer), or None."""
    peers = [row for system, row in systems.items() if system not in cases.OWN]
    if "sinter" not in systems or not peers:
        return None
    best = min(peers, key=lambda row: row["median_us"])
    return ratio_to(systems["sinter"], best), best["system"]


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def time_text(row):
    if row is None:
        return "–"
    us = row["median_us"]
    return f"{us:.1f} µs" if us < 1000 else f"{us / 1000:.2f} ms"


def table(results):
    """The results as Markdown: a line per case, a column per system."""
    names = list(results["systems"])
    lines = [f"{results['processor']}, {results['threads']} threads, {results['date'][:10]}, "
             f"{results['rounds']} rounds, medians.", ""]
    lines += [f"- {name}: {version}" for name, version in results["systems"].items()] + [""]
    lines += ["| case | " + " | ".join(names) + " | sinter / best peer |", "|---|" + "---:|" * (len(names) + 1)]
    ratios = []
    for case, systems in by_case(results).items():
        found = ratio_to_best(systems)
        last = "–" if found is None else f"{found[0]:.2f} ({found[1]})"
        ratios += [] if found is None else [found[0]]
        lines.append(f"| {case} | " + " | ".join(time_text(systems.get(name)) for name in names) + f" | {last} |")
    if ratios:
        lines += ["", f"Geometric mean of the ratios: {geomean(ratios):.2f}; largest: {max(ratios):.2f}; "
                      f"{sum(ratio <= 1 for ratio in ratios)} of {len(ratios)} cases at most 1."]
    return "\n".join(lines) + "\n"


def summary(results):
    """A line per op: the geometric mean over the sizes of the ratio to the best peer, and the largest ratio."""
    found = collections.OrderedDict()
    for systems in by_case(results).values():
        best = ratio_to_best(systems)
        if best is not None:
            row = systems["sinter"]
            found.setdefault(row["op"], {}).setdefault(row["dtype"], []).append((best[0], row["case"]))
    dtypes = list(dict.fromkeys(row["dtype"] for row in results["rows"]))
    lines = ["| op | " + " | ".join(f"{dtype}: mean | largest" for dtype in dtypes) + " |",
             "|---|" + "---:|---|" * len(dtypes)]
    for op, of_dtypes in found.items():
        cells = []
        for dtype in dtypes:
            ratios = of_dtypes.get(dtype, [])
            cells.append(f"{geomean([ratio for ratio, _ in ratios]):.2f} | {max(ratios)[0]:.2f} "
                         f"({max(ratios)[1].rsplit('_', 1)[1]})" if ratios else "– | –")
        lines.append(f"| {op} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(results, path):
    """A panel per dtype: the ratio to the best peer against the bytes moved, with a line per op."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no matplotlib, so no picture")
        return
    lines = collections.defaultdict(lambda: collections.defaultdict(list))
    for systems in by_case(results).values():
        found = ratio_to_best(systems)
        if found is not None:
            row = systems["sinter"]
            lines[row["dtype"]][row["op"]].append((row["bytes"], found[0]))
    if not lines:
        return
    figure, axes = plt.subplots(1, len(lines), figsize=(7 * len(lines), 5), squeeze=False, sharey=True)
    for axis, (dtype, of_ops) in zip(axes.flat, lines.items()):
        for i, (op, points) in enumerate(of_ops.items()):
            axis.plot(*zip(*sorted(points)), marker="o", markersize=3, linewidth=1.2, label=op,
                      linestyle="-" if i < 10 else "--")
        axis.axhline(1, color="black", linewidth=1)
        axis.set(title=dtype, xlabel="bytes moved", xscale="log", yscale="log")
        axis.set_xscale("log", base=2)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    axes.flat[0].set_ylabel("time of sinter / time of the best peer")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
