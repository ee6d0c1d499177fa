"""The Python snippets of guide pages run, in order, in one process per page."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import sinter

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide"
PAGES = [GUIDE / name for name in ("python.md", "torch.md") if (GUIDE / name).exists()]
TIME_LIMIT = 300  # seconds


def snippets(page):
    """The lines of all ```python blocks at their places in the page; other lines are empty."""
    kept, inside = [], False
    for line in page.read_text().splitlines():
        if re.match(r"```", line):
            inside = line.strip() == "```python"
            kept.append("")
        else:
            kept.append(line if inside else "")
    return kept


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page, tmp_path):
    lines = snippets(page)
    assert any(lines), f"{page.name} has no ```python blocks"
    if any(line.startswith("import torch") for line in lines):
        pytest.importorskip("torch")
    script = tmp_path / (page.stem + "_md.py")
    script.write_text("\n".join(lines) + "\n")
    package = pathlib.Path(sinter.__file__).parents[1]
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=TIME_LIMIT, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
    assert done.returncode == 0, f"line numbers are those of {page.name}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
