"""Results of samples: outputs, and the gradients of the inputs for fixed cotangents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from .samples import Sample


@dataclass
class Results:
    outputs: list[torch.Tensor]
    gradients: list[torch.Tensor | None]


def cotangent_of(output: torch.Tensor, index: int) -> torch.Tensor:
    """Fixed numbers in [0.5, 1.5) in the shape of the output."""
    generator = torch.Generator().manual_seed(index)
    numbers = torch.rand(output.shape, generator=generator, dtype=torch.float64) + 0.5
    return numbers.to(output.dtype)


def gradients_of(outputs: list[torch.Tensor], inputs: list[torch.Tensor]
                 ) -> list[torch.Tensor | None]:
    """The gradients of the inputs that need one; None for others."""
    given = [output for output in outputs if output.requires_grad]
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    if not given or not wanted:
        return [None] * len(inputs)
    cotangents = [cotangent_of(output, i) for i, output in enumerate(given)]
    found = iter(torch.autograd.grad(given, wanted, cotangents, allow_unused=True))
    return [next(found) if tensor.requires_grad else None for tensor in inputs]


def run_eagerly(sample: Sample, wide: bool = False) -> Results:
    inputs = sample.inputs(wide)
    outputs = sample.call(inputs)
    gradients = gradients_of(outputs, inputs) if sample.needs_gradient else []
    return Results([output.detach() for output in outputs], gradients)


def run_batch(function: Callable[..., list[torch.Tensor]], samples: list[Sample]
              ) -> list[Results]:
    """Runs a function of the tensors of all samples, which returns the outputs of all of them."""
    inputs = [sample.inputs() for sample in samples]
    flat = [tensor for tensors in inputs for tensor in tensors]
    outputs, counts = function(*flat)
    results, at = [], 0
    every_given, every_wanted, every_cotangent = [], [], []
    for sample, tensors, count in zip(samples, inputs, counts):
        own = outputs[at : at + count]
        at += count
        none = [None] * len(tensors) if sample.needs_gradient else []
        results.append(Results([output.detach() for output in own], none))
        given = [output for output in own if output.requires_grad]
        wanted = [tensor for tensor in tensors if tensor.requires_grad]
        if sample.needs_gradient and given and wanted:
            every_given += given
            every_wanted += wanted
            every_cotangent += [cotangent_of(output, i) for i, output in enumerate(given)]
    if every_given:
        found = torch.autograd.grad(every_given, every_wanted, every_cotangent, allow_unused=True)
        gradient_of = {id(tensor): g for tensor, g in zip(every_wanted, found)}
        for result, tensors in zip(results, inputs):
            if result.gradients:
                result.gradients = [gradient_of.get(id(tensor)) for tensor in tensors]
    return results
