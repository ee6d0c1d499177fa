"""Compiled regions. Equal regions share one executable."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import sinter
import torch

from .options import BackendOptions
from .region import Region
from .telling import COUNTS, LOG

_lock = threading.Lock()
_programs: dict[Any, Future] = {}
_pool: ThreadPoolExecutor | None = None


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="sinter-compile")
    return _pool


def _forget_workers() -> None:
    """In the child of a fork, threads and executables of the parent are gone."""
    global _pool, _lock
    _pool = None
    _lock = threading.Lock()
    _programs.clear()


os.register_at_fork(after_in_child=_forget_workers)


def device_for(device: torch.device) -> Any:
    """sinter's device for one of torch's."""
    if device.type == "cuda":
        return sinter.cuda_device(device.index if device.index is not None else 0)
    return sinter.host_device(0)


def compile_region(region: Region, options: BackendOptions, shape_env: Any) -> Future:
    """A Future of the Executable of a region. Compilation runs in the background."""
    device = device_for(region.plan.device)
    settings = {"name": region.name, **options.compile}
    text = str(region.graph)
    hints = region.size_hints(shape_env)
    key = (text[text.index("(") :], str(device), repr(sorted(options.compile.items())))
    with _lock:
        known = _programs.get(key)
        if known is not None:
            return known
        settings.pop("name")
        future = _workers().submit(_compile, region, device, settings, hints)
        _programs[key] = future
    COUNTS.add("compiled_regions")
    return future


def _compile(region: Region, device: Any, settings: dict[str, Any], hints: dict[str, int]) -> Any:
    start = time.perf_counter()
    executable = sinter.compile(region.graph, device, **settings)
    if hints:
        executable.prepare(hints)
    seconds = time.perf_counter() - start
    COUNTS.add("compile_seconds", seconds)
    LOG.info("%s: compiled in %.2f s, %d kernels", region.name, seconds, kernel_count(executable))
    return executable


def kernel_count(executable: Any) -> int:
    """The launches of kernels per call, in the first size class that was planned."""
    variants = executable.report().variants
    return sum(kernel.launches for kernel in variants[0].kernels) if variants else 0


def moved_bytes(executable: Any) -> int:
    """The predicted bytes that the kernels of one call read and write."""
    variants = executable.report().variants
    return sum(k.bytes_read + k.bytes_written for k in variants[0].kernels) if variants else 0


def forget_programs() -> None:
    """Drops the executables that equal regions share; compiled models keep theirs."""
    with _lock:
        _programs.clear()
