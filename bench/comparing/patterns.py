"""Makes cases of the patterns in tests/golden/patterns: graphs that people write, at the sizes at which the tests
prove them. tests/support/graphs/patterns.h explains their first lines."""

import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "patterns"
GROUP = "patterns"


def head(text, key):
    """The items of the list after `// KEY: `."""
    found = re.search(rf"^// {key}: (.*)$", text, re.M)
    return [word.strip() for word in found.group(1).split(",")] if found else []


def patterns():
    """Each pattern at each of its column counts. Patterns with a `chip` line, for imaginary GPUs, are left out."""
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
