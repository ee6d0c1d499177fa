"""Draws results: bandwidth against size with a line per system, and shares of a copy's bandwidth by group."""

import collections
import math

from comparing import tables

MOST_PANELS = 9
STYLES = {"copy": {"color": "black", "linestyle": "--"}, "memcpy": {"color": "gray", "linestyle": ":"}}


def series_of(rows):
    """{op and dtype: {system: [(bytes, TB/s)]}}, in descending order of the number of sizes."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        if row["mode"] == "K" and row["status"] == "ok":
            name = row["case"].rsplit("_", 1)[0]
            found[name][row["system"]].append((row["bytes"], row["tb_per_s"]))
            for copy in ("copy_us", "memcpy_us"):
                if row["system"] == "sinter" and row[copy]:
                    speed = row["bytes"] / row[copy]["median"] * 1e-6
                    found[name][copy.removesuffix("_us")].append((row["bytes"], speed))
    many = {name: systems for name, systems in found.items() if has_sizes(systems)}
    return dict(sorted(many.items(), key=lambda entry: -max(map(len, entry[1].values())))[:MOST_PANELS])


def has_sizes(systems):
    """True if there are at least three sizes, and the largest is at least four times the smallest."""
    sizes = {size for points in systems.values() for size, _ in points}
    return len(sizes) >= 3 and max(sizes) >= 4 * min(sizes)


def own_first(systems):
    return sorted(systems, key=lambda system: (system in STYLES, system != "sinter", system))


def draw_bandwidth(plt, rows, path):
    series = series_of(rows)
    if not series:
        return False
    columns = min(3, len(series))
    lines = math.ceil(len(series) / columns)
    figure, axes = plt.subplots(lines, columns, figsize=(5 * columns, 3.6 * lines), squeeze=False)
    for axis, (name, systems) in zip(axes.flat, series.items()):
        for system in own_first(systems):
            points = sorted(systems[system])
            style = STYLES.get(system, {"marker": "o"})
            axis.plot([size for size, _ in points], [speed for _, speed in points], label=system, linewidth=1.5,
                      markersize=4, **style)
        axis.set_title(name)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("bytes moved")
        axis.set_ylabel("TB/s")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    for axis in list(axes.flat)[len(series):]:
        axis.set_visible(False)
    save(plt, figure, path)
    return True


def draw_ratios(plt, rows, path):
    found = tables.times(rows, "K")
    groups = list(dict.fromkeys(row["group"] for row in rows if row["mode"] == "K"))
    bars = {}
    for system, of_system in found.items():
        shares = collections.defaultdict(list)
        for row in of_system.values():
            if row["of_copy"]:
                shares[row["group"]].append(row["of_copy"])
        if shares:
            bars[system] = [tables.geomean(shares[group]) if shares[group] else 0 for group in groups]
    if not bars:
        return False
    figure, axis = plt.subplots(figsize=(1.6 * len(groups) + 3, 4))
    width = 0.8 / len(bars)
    for i, system in enumerate(own_first(bars)):
        axis.bar([place + i * width for place in range(len(groups))], bars[system], width, label=system)
    axis.axhline(1, color="gray", linestyle="--", linewidth=1)
    axis.set_xticks([place + 0.4 - width / 2 for place in range(len(groups))], groups, rotation=20, ha="right")
    axis.set_ylabel("share of a copy of the same bytes")
    axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    save(plt, figure, path)
    return True


def save(plt, figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw(files, folder):
    """Draws all pictures for which there are results. Returns a line for the user that names them."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        return f"no pictures: {error}"
    rows = tables.rows_of(files)
    drawn = [name for name, picture in (("bandwidth.png", draw_bandwidth), ("ratios.png", draw_ratios))
             if picture(plt, rows, folder / name)]
    return f"pictures: {', '.join(drawn) or 'none, because mode K has no results'}"
