"""The callable of a region: allocates outputs and runs the executable."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import sinter
import sympy
import torch

from .errors import BackendError
from .options import BackendOptions
from .region import Argument, Region
from .subgraph import torch_function
from .symbols import python_text, symbols_in
from .telling import COUNTS, LOG, place_text

_numbers = itertools.count()


class Launcher:
    """Runs a region. `function(*values)` takes the values of `parameters`, in their order, and
    returns the tuple of results."""

    def __init__(self, region: Region, compiled: Callable[[], Future], options: BackendOptions):
        self.region = region
        self.options = options
        self.parameters = _parameters(region)
        self.symbols = _symbols(region)
        self.uses_seed = any(a.kind == "seed" for a in region.arguments)
        self.failure: Exception | None = None
        self._compiled = compiled
        self._contexts: list[Any] = []
        self._torch: Callable[..., Any] | None = None
        self._stream = _stream_of(region.plan.device)
        self.function = self._generate()

    def executable(self) -> Any:
        """The Executable. Waits for the compilation; raises its error."""
        return self._compiled().result()

    def _generate(self) -> Callable[..., Any]:
        region = self.region
        names = {node: f"a{i}" for i, node in enumerate(self.parameters)}
        parameters = [*names.values(), *map(str, self.symbols)] + ["seed"] * self.uses_seed
        scope: dict[str, Any] = {
            "launch": self._launch,
            "as_carrier": _carrier,
            "empty": torch.empty_strided,
            "device": region.plan.device,
        }
        is_cpu = region.plan.device.type == "cpu"
        fast = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", None) if is_cpu else None
        if fast:
            scope["empty_cpu"] = fast
        lines = []
        for i, result in enumerate(region.results):
            scope[f"dtype{i}"] = result.dtype
            shape, strides = _tuple_text(result.shape), _tuple_text(result.strides)
            lines.append(
                f"y{i} = empty_cpu({shape}, {strides}, dtype{i})"
                if fast
                else f"y{i} = empty({shape}, {strides}, dtype=dtype{i}, device=device)"
            )
        inputs = ", ".join(_argument_text(a, names) for a in region.arguments)
        outputs = ", ".join(f"y{i}" for i in range(len(region.results)))
        lines.append(f"values = ({', '.join(parameters)}{',' if parameters else ''})")
        lines.append(f"launch([{inputs}], [{outputs}], values)")
        lines.append(f"return ({outputs}{',' if region.results else ''})")
        name = f"{region.name}_{next(_numbers)}"
        text = f"def {name}({', '.join(parameters)}):\n    " + "\n    ".join(lines) + "\n"
        exec(compile(text, f"<{region.name}>", "exec"), scope)
        function = scope[name]
        function.__module__ = __name__
        function.source = text
        return function

    def _launch(self, inputs: list[Any], outputs: list[Any], values: tuple[Any, ...]) -> None:
        try:
            context = self._contexts.pop()
        except IndexError:
            try:
                context = self._new_context()
            except BackendError:
                raise
            except Exception as error:  # any failure of sinter: torch takes over
                self._fail(error)
            if self.failure is not None:
                self._run_torch(outputs, values)
                return
        try:
            context.call(inputs, outputs, self._stream())
        except sinter.UserError as error:  # nothing was launched
            self._call_differently(context, inputs, outputs, values, error)
        self._contexts.append(context)

    def _call_differently(
        self,
        context: Any,
        inputs: list[Any],
        outputs: list[Any],
        values: tuple[Any, ...],
        error: Exception,
    ) -> None:
        """A call whose arrays do not fit: with copies in the expected layout, else in torch."""
        fixed = self._with_expected_layout(inputs, values)
        if fixed is not None:
            context.call(fixed, outputs, self._stream())
            self._copy_updates_back(inputs, fixed)
        elif self.options.fallback:
            LOG.warning("%s: torch runs a call that does not fit: %s", self.region.name, error)
            self._run_torch(outputs, values)
        else:
            raise BackendError(f"{self.region.name}: a call does not fit: {error}") from error

    def _new_context(self) -> Any:
        if self.failure is not None:
            return None
        return self.executable().context()

    def _with_expected_layout(
        self, inputs: list[Any], values: tuple[Any, ...]
    ) -> list[Any] | None:
        """Inputs copied to the layout of the trace where theirs differs; None if none does."""
        symbols = dict(zip(self.symbols, values[len(self.parameters) :]))
        fixed, changed = list(inputs), False
        for i, argument in enumerate(self.region.arguments):
            if argument.kind != "tensor":
                continue
            assert argument.node is not None
            fake = argument.node.meta["val"]
            shape = [evaluate(size, symbols) for size in fake.shape]
            strides = [evaluate(stride, symbols) for stride in fake.stride()]
            tensor = inputs[i]
            if list(tensor.shape) != shape or list(tensor.stride()) == strides:
                continue
            LOG.info(
                "%s: %s has strides %s instead of %s and is copied",
                self.region.name, argument.node.name, list(tensor.stride()), strides,
            )  # fmt: skip
            COUNTS.add("copied_inputs")
            fixed[i] = torch.empty_strided(
                shape, strides, dtype=tensor.dtype, device=tensor.device
            ).copy_(tensor)
            changed = True
        return fixed if changed else None

    def _copy_updates_back(self, inputs: list[Any], fixed: list[Any]) -> None:
        """Writes the updates of copied inputs into the inputs themselves."""
        targets = {update.target for update in self.region.plan.updates}
        for i, argument in enumerate(self.region.arguments):
            if argument.node in targets and fixed[i] is not inputs[i]:
                inputs[i].copy_(fixed[i])

    def _fail(self, error: Exception) -> None:
        plan = self.region.plan
        first = plan.outputs[0] if plan.outputs else plan.updates[0].value
        text = (
            f"sinter cannot run the region {self.region.name}, with the result {first.name} of "
            f"{place_text(first)}: {type(error).__name__}: {error}"
        )
        if not self.options.fallback:
            raise BackendError(text) from error
        self.failure = error
        COUNTS.add("fallbacks")
        warnings.warn(
            f"{text}\ntorch runs it instead; options={{'fallback': False}} makes this an error",
            stacklevel=2,
        )

    def _run_torch(self, outputs: list[Any], values: tuple[Any, ...]) -> None:
        if self._torch is None:
            self._torch = torch_function(self.region.plan, self.parameters)
        symbols = dict(zip(self.symbols, values[len(self.parameters) :]))
        results = self._torch(values[: len(self.parameters)], symbols)
        targets = [values[self.parameters.index(u.target)] for u in self.region.plan.updates]
        for output, result in zip([*outputs, *targets], results):
            output.copy_(result)


def _stream_of(device: torch.device) -> Callable[[], int | None]:
    """A function that gives torch's current stream as a number; None on the CPU."""
    if device.type != "cuda":
        return lambda: None
    return lambda: torch.cuda.current_stream(device).cuda_stream


def _parameters(region: Region) -> list[torch.fx.Node]:
    found = {a.node: None for a in region.arguments if a.node is not None}
    found.update(dict.fromkeys(region.plan.inputs))
    return list(found)


def _symbols(region: Region) -> list[sympy.Symbol]:
    """The symbols whose values a call needs."""
    sizes: list[Any] = [a.size for a in region.arguments]
    for result in region.results:
        sizes += [*result.shape, *result.strides]
    for node in (*region.plan.nodes, *region.plan.inputs):
        parts = node.meta.get("val")
        for part in parts if isinstance(parts, (list, tuple)) else [parts]:
            if isinstance(part, torch.Tensor):
                sizes += [s.node.expr for s in (*part.shape, *part.stride()) if is_symbolic(s)]
        for source in node.all_input_nodes:
            if is_symbolic(source.meta.get("val")):
                sizes.append(source.meta["val"].node.expr)
    return sorted(symbols_in(sizes), key=str)


def is_symbolic(value: Any) -> bool:
    return isinstance(value, torch.SymInt)


def evaluate(size: Any, symbols: dict[sympy.Symbol, int]) -> int:
    """The value of an int or a SymInt, given those of its symbols."""
    return int(size.node.expr.xreplace(symbols)) if is_symbolic(size) else int(size)


def _tuple_text(sizes: tuple[Any, ...]) -> str:
    return "(" + "".join(f"{python_text(size)}, " for size in sizes) + ")"


def _argument_text(argument: Argument, names: dict[torch.fx.Node, str]) -> str:
    if argument.kind == "tensor" or argument.kind == "number":
        return names[argument.node]  # type: ignore[index]
    if argument.kind == "item":
        return f"{names[argument.node]}.item()"  # type: ignore[index]
    if argument.kind == "size":
        return python_text(argument.size)
    if argument.kind == "carrier":
        return f"as_carrier({python_text(argument.size)}, device)"
    return "seed"


def _carrier(size: int, device: torch.device) -> torch.Tensor:
    """An array of `size` equal elements, in the memory of one."""
    return torch.zeros(1, dtype=torch.uint8, device=device).expand(size)
