"""The place in the user's source that errors and reports show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import _core


@contextmanager
def location(file: str, line: int) -> Iterator[None]:
    """Ops that this thread records inside of the block have the place `file:line`.

    Outside of such a block, an op has the place of the first Python frame that is not in the package sinter.
    """
    previous = _core._replace_location(file, line)
    try:
        yield
    finally:
        _core._replace_location(*previous)
