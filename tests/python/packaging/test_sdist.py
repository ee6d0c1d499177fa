"""The source distribution has all sources of the library and of the package, and nothing else."""
from __future__ import annotations

import pathlib
import sys
import tarfile

import pytest

from commands import ROOT, run

FOLDERS = ("cmake", "codegen", "compiler", "ir", "python", "runtime")
FILES = {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "tools/setup"}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The paths in the source distribution, below its folder."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", folder, ROOT)
    (file,) = folder.glob("*.tar.gz")
    return {name.split("/", 1)[1] for name in tarfile.open(file).getnames()}


def test_has_every_source(names: set[str]) -> None:
    sources = {file.relative_to(ROOT).as_posix() for folder in FOLDERS for file in (ROOT / folder).rglob("*")
               if file.suffix in {".cpp", ".h", ".def", ".cuh", ".cmake", ".py", ".in", ".map", ".html", ".css", ".js"}}
    assert len(sources) > 500
    assert sources | FILES <= names


def test_has_nothing_else(names: set[str]) -> None:
    others = {name for name in names - FILES if name.split("/")[0] not in FOLDERS}
    binaries = {name for name in names if ".so" in pathlib.PurePath(name).suffixes or name.endswith(".pyc")}
    assert others | binaries == set()
