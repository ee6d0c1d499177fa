"""The decompositions that AOTAutograd applies before regions are cut.

They are PyTorch's core ATen decompositions and some more, without the ops that have a lowering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from ..registry import LOWERINGS

aten = torch.ops.aten

# Ops outside of the core table whose decompositions consist of ops with lowerings.
_MORE = [
    aten._batch_norm_no_update,
    aten._batch_norm_with_update,
    aten._batch_norm_with_update_functional,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional,
    aten._native_batch_norm_legit_no_training,
    aten._upsample_nearest_exact1d,
    aten._upsample_nearest_exact2d,
    aten._upsample_nearest_exact3d,
    aten.batch_norm_backward,
    aten.dist,
    aten.grid_sampler_2d,
    aten.hann_window,
    aten.ldexp,
    aten.narrow_copy,
    aten.native_batch_norm,
    aten.native_group_norm,
    aten.rrelu_with_noise_backward,
    aten.tril_indices,
    aten.triu_indices,
    aten.unbind_copy.int,
    aten.upsample_bicubic2d,
    aten.upsample_bilinear2d,
    aten.upsample_nearest1d,
    aten.upsample_nearest2d,
    aten.upsample_nearest3d,
    aten.upsample_trilinear3d,
]

# Decompositions that would cost accuracy or speed; PyTorch computes these ops.
_KEPT = [
    aten._scaled_dot_product_flash_attention_for_cpu.default,
    aten.baddbmm.default,
]


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The table from ops to functions, for `aot_autograd`."""
    table = {**core_aten_decompositions(), **get_decompositions(_MORE)}
    kept = set(_KEPT)
    return {
        op: function
        for op, function in table.items()
        if op not in LOWERINGS and op not in kept
    }
