"""sinter: fused GPU kernels from recorded tensor operations.

Record a computation in a Graph, or write it as a function under `jit`. It runs on arrays of NumPy, PyTorch, JAX or
CuPy without copying them. Without a GPU the same kernels run on the CPU.
"""

from __future__ import annotations

import os as _os

from . import _core
from ._core import *  # noqa: F403
from ._core import _set_package_folder

_set_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)

from .arrays import asarray
from .places import location
from .methods import install as _install_methods
from .operators import install as _install_operators

_install_methods()
_install_operators()
__version__ = _core.__version__

# Parts that need more than the core. Their names are imported when they are used first.
_LAZY = {
    "jit": "tracing.function",
    "grad": "tracing.gradients",
    "value_and_grad": "tracing.gradients",
    "vjp": "tracing.gradients",
    "recording": "tracing.recording",
}
_MODULES = ("array_api", "torch")


def get_include() -> str:
    """The folder of the C++ headers, for programs that link the library of this package."""
    return _os.path.join(_os.path.dirname(__file__), "include")


def get_cmake_dir() -> str:
    """The folder of the CMake package, for `-Dsinter_DIR=`."""
    return _os.path.join(_os.path.dirname(__file__), "lib", "cmake", "sinter")


def __getattr__(name: str):
    import importlib

    if name in _LAZY:
        value = getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    elif name in _MODULES:
        value = importlib.import_module("." + name, __name__)
    else:
        raise AttributeError(f"module 'sinter' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY, *_MODULES])
