"""Samples of PyTorch's op database as functions of flat lists of tensors."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "bool": torch.bool,
}


@dataclass
class Sample:
    """One call of an op. `leaves` are its arguments, flat; `tensors` the positions of tensors."""

    op: Any
    index: int
    leaves: list[Any]
    spec: Any
    needs_gradient: bool
    tensors: list[int] = field(default_factory=list)
    process: Any = None

    def __post_init__(self) -> None:
        self.tensors = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]

    def inputs(self, wide: bool = False) -> list[torch.Tensor]:
        """Fresh copies of the tensors; floats in f64 if `wide`."""
        copies = []
        for at in self.tensors:
            tensor = self.leaves[at]
            fresh = clone_with_strides(tensor.detach())
            if wide and fresh.is_floating_point():
                fresh = fresh.to(torch.float64)
            copies.append(fresh.requires_grad_(tensor.requires_grad))
        return copies

    def call(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The tensors among the op's results."""
        leaves = list(self.leaves)
        for at, tensor in zip(self.tensors, tensors):
            leaves[at] = tensor
        first, arguments, options = pytree.tree_unflatten(leaves, self.spec)
        result = self.op.op(first, *arguments, **options)
        if self.needs_gradient and self.process is not None:
            result = self.process(result)
        return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def clone_with_strides(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the strides of the tensor, also if elements overlap."""
    if tensor.layout != torch.strided or tensor.numel() == 0:
        return copy.deepcopy(tensor)
    offset = tensor.storage_offset()
    size = 1 + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    memory = tensor.as_strided([offset + size], [1], 0).clone()
    return memory.as_strided(tensor.shape, tensor.stride(), offset)


def ops_named(names: list[str] | None) -> list[Any]:
    """The ops of the database, or those with the given names, in order."""
    return [op for op in op_db if not names or op.full_name in names]


def samples_of(op: Any, dtype: torch.dtype, gradient: bool, most: int | None) -> list[Sample]:
    """At most `most` samples, evenly spread over all of them, with equal numbers each time."""
    torch.manual_seed(0)
    inputs = list(op.sample_inputs("cpu", dtype, requires_grad=gradient))
    if most is not None and len(inputs) > most:
        inputs = [inputs[i * (len(inputs) - 1) // max(most - 1, 1)] for i in range(most)]
    samples = []
    for index, given in enumerate(inputs):
        leaves, spec = pytree.tree_flatten((given.input, given.args, given.kwargs))
        samples.append(
            Sample(op, index, leaves, spec, gradient, process=given.output_process_fn_grad)
        )
    return samples


def has_gradient(op: Any, dtype: torch.dtype) -> bool:
    return bool(dtype.is_floating_point and op.supports_autograd and dtype in op.backward_dtypes)
