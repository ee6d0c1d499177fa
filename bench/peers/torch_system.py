"""The System that all torch scripts share."""

import math

import torch

from formulas import FORMULAS
from checking import TOLERANCE, error_scale
from system import Missing, System
from operations import TorchOps


def foreach_adamw(arrays):
    """AdamW with torch's functions for lists of tensors, as in torch's own optimizers."""
    count = len(arrays) // 4
    w, g, m, v = ([arrays[f"{kind}{i}"] for i in range(count)] for kind in "wgmv")
    torch._foreach_mul_(m, 0.9)
    torch._foreach_add_(m, g, alpha=0.1)
    torch._foreach_mul_(v, 0.999)
    torch._foreach_addcmul_(v, g, g, 0.001)
    root = torch._foreach_sqrt(v)
    torch._foreach_add_(root, 1e-8)
    torch._foreach_mul_(w, 0.99999)
    torch._foreach_addcdiv_(w, m, root, -0.001)
    return {name: array for name, array in arrays.items() if not name.startswith("g")}


class TorchSystem(System):
    """Runs formulas through `compiled`, which transforms a function, for example with torch.compile."""

    def __init__(self, name, arguments, compiled=lambda function: function, modes="KLE"):
        if arguments.device == "cuda" and not torch.cuda.is_available():
            raise Missing("torch sees no GPU")
        self.name = name
        self.version = torch.__version__
        self.device = torch.device(arguments.device)
        self.is_gpu = arguments.device == "cuda"
        self.device_name = torch.cuda.get_device_name(0) if self.is_gpu else "cpu"
        self.operations = TorchOps(torch)
        self.compiled = compiled
        self.modes = modes

    def arrays(self, inputs):
        arrays = {}
        for one in inputs:
            part = torch.from_numpy(one.part.copy()).to(self.device).to(self.operations.dtypes[one.dtype])
            count = math.prod(one.shape)
            memory = torch.empty(count + one.offset, dtype=part.dtype, device=self.device)[one.offset:]
            done = min(part.numel(), count)
            memory[:done] = part[:done]
            while done < count:  # repeats the part
                more = min(done, count - done)
                memory[done:done + more] = memory[:more]
                done += more
            arrays[one.name] = memory.view(one.shape)
        return arrays

    def function(self, op, case):
        if case["op"].startswith("foreach_adamw"):
            return self.compiled(foreach_adamw)
        formula = FORMULAS[case["op"]]
        updates = op["updates"]
        operations = self.operations

        def step(arrays):
            results = formula(operations, **arrays)
            for name in updates:
                arrays[name].copy_(results[name])
            return {name: arrays[name] if name in updates else value for name, value in results.items()}

        return self.compiled(step)

    def worst_error_on_device(self, op, case, dtypes, arrays, function):
        wide = {name: array.double() if array.is_floating_point() else array for name, array in arrays.items()}
        expected = FORMULAS[case["op"]](self.operations, **wide)
        del wide
        results = function(arrays)
        largest = max(value.numel() for value in expected.values())
        worst = 0.0
        for name, wanted in expected.items():
            actual, wanted = results[name].reshape(-1), wanted.reshape(-1)
            if dtypes[name] == "i64":
                worst = max(worst, 0.0 if torch.equal(actual.long(), wanted.long()) else float("inf"))
                continue
            scale = wanted.abs() + wanted.square().mean().sqrt() + error_scale(case, wanted.numel(), largest)
            error = (actual.double() - wanted).abs() / (TOLERANCE[dtypes[name]] * scale + 1e-30)
            worst = max(worst, float("inf") if error.isnan().any() else error.max().item())
        return worst

    def to_numpy(self, array):
        return array.detach().double().cpu().numpy()

    def try_device(self):
        torch.ones(1, device=self.device).add_(1)
        self.synchronize()

    def synchronize(self):
        if self.is_gpu:
            torch.cuda.synchronize()

    def elapsed_us(self, work):
        if not self.is_gpu:
            return super().elapsed_us(work)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        return 1e3 * start.elapsed_time(end)

    def captured(self, call, calls):
        if not self.is_gpu:
            raise Missing("the CPU has no CUDA Graphs")
        if "K" not in self.modes:
            raise Missing(f"{self.name} makes CUDA Graphs of its own")
        call(0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(calls):
                call(i)
        return graph.replay

    def copy_call(self, case_bytes, sets):
        half = max(case_bytes // 2, 1)
        pairs = [[torch.randint(0, 255, (half,), dtype=torch.uint8, device=self.device) for _ in range(2)]
                 for _ in range(sets)]
        return lambda i: pairs[i % sets][1].copy_(pairs[i % sets][0])

    def free_bytes(self):
        return torch.cuda.mem_get_info()[0] if self.is_gpu else None

    def l2_bytes(self):
        properties = torch.cuda.get_device_properties(0) if self.is_gpu else None
        return getattr(properties, "L2_cache_size", 60 << 20)

    def release(self):
        if self.is_gpu:
            torch.cuda.empty_cache()
