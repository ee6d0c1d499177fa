"""Trains one model with one backend in a process of its own, and prints the figures as JSON.

  worker.py MODEL BACKEND FILE.pt STEPS    (BACKEND: eager, sinter or inductor)

FILE.pt gets the gradients of the first step and the losses of all steps."""

import json
import sys
import time

import torch
from models import MODELS, loss_of


# Batch norm over few elements amplifies rounding: at higher rates the losses of any two systems part.
RATES = {"resnet18": 0.0002}


def main():
    name, backend, path, steps = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    torch.manual_seed(1)
    model, draw, classes = MODELS[name]()
    model.train()
    batches = [draw() for _ in range(steps)]
    optimizer = torch.optim.SGD(model.parameters(), lr=RATES.get(name, 0.002), momentum=0.9)
    collect = COLLECTORS[backend]()
    compiled = model if backend == "eager" else torch.compile(model, backend=backend)
    losses, seconds, gradients = [], [], {}
    for step, batch in enumerate(batches):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(compiled, (batch, classes))
        loss.backward()
        seconds.append(time.perf_counter() - start)
        if step == 0:
            gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
        losses.append(loss.item())
    torch.save({"losses": losses, "gradients": gradients, "buffers": dict(model.named_buffers())}, path)
    steady = sorted(seconds[1:])[len(seconds[1:]) // 2]
    print(json.dumps({
        "first_step_seconds": seconds[0], "step_seconds": steady, "compile_seconds": seconds[0] - steady,
        "losses": losses, **collect(),
    }))  # fmt: skip


def collect_nothing():
    return dict


def collect_sinter():
    import sinter.torch
    from sinter.torch import compiler
    from sinter.torch.explain import describe

    graphs = []
    compiler._listeners.append(graphs.append)

    def figures():
        explanation = describe(graphs)
        library = sum(is_library(row.op) for row in explanation.torch_ops)
        others = [row.op for row in explanation.torch_ops if not is_library(row.op)]
        return {
            "regions": len(explanation.regions), "kernels": explanation.kernels, "bytes": explanation.bytes,
            "library_calls": library, "other_torch_ops": others, "counters": sinter.torch.counters(),
        }  # fmt: skip

    return figures


def is_library(op):
    """True for products, convolutions and attention, which are library calls in every system."""
    words = ("mm.", "addmm", "bmm", "convolution", "scaled_dot_product", ".mv.", ".dot.")
    return any(word in op for word in words)


def collect_inductor():
    import re

    import torch._inductor.metrics as metrics
    from torch._inductor.graph import GraphLowering
    from torch._inductor.scheduler import ExternKernelSchedulerNode, NopKernelSchedulerNode
    from torch._inductor.virtualized import V

    graphs, texts = [], []
    GraphLowering.save_output_code = staticmethod(texts.append)
    compile_to_module = GraphLowering.compile_to_module

    def compile_and_note(graph):
        graphs.append(graph)
        return compile_to_module(graph)

    GraphLowering.compile_to_module = compile_and_note

    def graph_bytes(graph):
        with V.set_graph_handler(graph):
            return sum(
                node.get_read_write_buffers_sizes()
                for node in graph.scheduler.nodes
                if not isinstance(node, (ExternKernelSchedulerNode, NopKernelSchedulerNode))
            )

    def figures():
        library = [n for graph in graphs for n in graph.scheduler.nodes if isinstance(n, ExternKernelSchedulerNode)]
        return {
            "kernels": metrics.generated_kernel_count, "library_calls": len(library),
            "function_calls": sum(len(re.findall(r"^ +(?:cpp|triton)_\w+\(", text, re.MULTILINE)) for text in texts),
            "bytes": sum(graph_bytes(graph) for graph in graphs),
        }  # fmt: skip

    return figures


COLLECTORS = {"eager": collect_nothing, "sinter": collect_sinter, "inductor": collect_inductor}

if __name__ == "__main__":
    main()
