"""Fixtures that make the distributions of the package, from the library that is built already."""
from __future__ import annotations

import os
import pathlib
import sys
import venv

import pytest

from commands import ROOT, run


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build tree, whose library and module are tested."""
    if "SINTER_BUILD" not in os.environ:
        pytest.skip("SINTER_BUILD names no build tree; run these tests by ctest")
    return pathlib.Path(os.environ["SINTER_BUILD"])


@pytest.fixture(scope="session")
def wheel(build: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The wheel that `pip wheel` makes of the project."""
    folder = tmp_path_factory.mktemp("wheel")
    prefix = folder / "prefix"
    for component in ("sinter", "python"):
        run("cmake", "--install", build, "--prefix", prefix, "--component", component)
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder,
        f"-Ccmake.define.SINTER_PREBUILT={prefix}", f"-Cbuild-dir={folder / 'build'}", ROOT, cwd=folder)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="session")
def installed(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The Python of a clean environment with nothing but the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    # The path has the build tree's package, which pip would take for an installed one.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, env=clean)
    return python
