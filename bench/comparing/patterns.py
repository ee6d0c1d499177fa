"""The patterns of tests/golden/patterns as cases: graphs that people write, at the sizes that they
are proved at. tests/support/graphs/patterns.h says what their first lines mean."""

import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "patterns"
GROUP = "patterns"


def head(text, key):
    """The words of the list behind `// KEY: `."""
    found = re.search(rf"^// {key}: (.*)$", text, re.M)
    return [word.strip() for word in found.group(1).split(",")] if found else []


def patterns():
    """Each pattern at each of its numbers of columns. Those of a GPU that is not for sale are left out."""
    cases = []
    for path in sorted(FOLDER.glob("*.sinter")):
        text = path.read_text()
        if head(text, "chip"):
            continue
        symbols = [size.replace(" ", "") for size in head(text, "sizes")]
        for columns in head(text, "columns") or [""]:
            name = f"pattern_{path.stem}" + (f"_{columns}" if columns else "")
            cases.append({"name": name, "group": GROUP, "tiers": ["full"], "symbols": symbols,
                          "text": text.replace("COLUMNS", columns)})
    return cases
