"""The package needs nothing but Python 3.10 and its standard library."""
from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = sorted(file for folder in ("python", "tests/python") for file in (ROOT / folder).rglob("*.py"))
LOADED = """
import sys
import sinter
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_has_the_syntax_of_python_3_10(file: pathlib.Path) -> None:
    ast.parse(file.read_text(), filename=str(file), feature_version=(3, 10))


def test_import_loads_only_the_standard_library() -> None:
    done = subprocess.run([sys.executable, "-S", "-c", LOADED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) - sys.stdlib_module_names - {"__main__"} == {"sinter"}
