"""The example of torch.compile in README.md runs as it is printed."""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")

README = pathlib.Path(__file__).resolve().parents[3] / "README.md"


def examples() -> list[str]:
    """The Python blocks of README.md that compile with torch."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [block for block in blocks if 'backend="sinter"' in block]


def test_the_torch_example_runs(tmp_path: pathlib.Path) -> None:
    (example,) = examples()
    program = tmp_path / "example.py"
    program.write_text(example)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line for line in example.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 12
