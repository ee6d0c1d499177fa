"""The options of torch.compile(backend="sinter", options={...})."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import sinter


@dataclass(frozen=True)
class BackendOptions:
    """Options of the backend itself. All other names are options of sinter.compile."""

    fallback: bool = True
    """False: an error in sinter ends the program. True: what failed runs in torch, with a warning.
    """
    fallback_random: bool = False
    """True: random ops stay with torch, with torch's own numbers."""
    lazy: bool = False
    """True: a region is compiled when it first runs, not in the background."""
    min_ops: int = 1
    """Regions of fewer ops, views aside, stay with torch."""
    keep: tuple[str, ...] = ()
    """Ops that stay with torch, by name: `aten.exp` or `aten.exp.default`."""
    compile: Mapping[str, Any] = field(default_factory=dict)
    """The options for sinter.compile."""


SINTER_OPTIONS: tuple[str, ...] = sinter.Options.fields
DEFAULTS = {"tune": "off", "rounding": "wide"}


def parse_options(options: Mapping[str, Any] | None, mode: str | None = None) -> BackendOptions:
    """The options by name, with `mode="max-autotune"` as tune="quick". Raises ValueError for a name
    or a mode that does not exist."""
    own_names = [f.name for f in fields(BackendOptions) if f.name != "compile"]
    own: dict[str, Any] = {}
    compile_options = dict(DEFAULTS)
    if mode == "max-autotune":
        compile_options["tune"] = "quick"
    elif mode not in (None, "default"):
        raise ValueError(
            f'torch.compile(backend="sinter") has no mode {mode!r}; it has "default" and '
            '"max-autotune", which times schedules'
        )
    for name, value in (options or {}).items():
        if name in own_names:
            own[name] = tuple(value) if name == "keep" else value
        elif name in SINTER_OPTIONS:
            compile_options[name] = value
        else:
            raise ValueError(
                f'torch.compile(backend="sinter") has no option {name!r}; the backend has '
                f"{', '.join(own_names)}, and sinter.compile has {', '.join(SINTER_OPTIONS)}"
            )
    return BackendOptions(**own, compile=compile_options)
