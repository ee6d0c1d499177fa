"""Functions that compute gradients of functions."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import sinter

from . import function as jitted
from . import libraries, recording, tree
from .parameters import name_of
from .scalars import Scalar, weak

def _fresh(value: sinter.Tensor) -> sinter.Tensor:
    """The same value as a node of its own, so that other uses of the value do not add to its gradient."""
    return sinter.where(True, value, value)


class _Variables:
    """The leaves of arguments with respect to which a function is differentiated."""

    def __init__(self, what: str):
        self.what = what
        self.tensors: list[sinter.Tensor] = []

    def replace(self, path: str, leaf: Any) -> Any:
        from sinter.array_api import _operands

        if isinstance(leaf, float) and not isinstance(leaf, bool):
            leaf = Scalar("float", path, base=sinter.full(recording.graph_for(self.what), (), float(leaf), sinter.f64))
        if isinstance(leaf, Scalar) and leaf.kind == "float":
            self.tensors.append(_fresh(leaf.at(sinter.f64)))
            return Scalar("float", leaf.name, base=self.tensors[-1])
        if libraries.is_array(leaf):
            leaf = _operands.tensor_of_array(leaf)
        if not isinstance(leaf, sinter.Tensor) or not leaf.dtype.is_floating:
            kind = leaf.dtype.name if isinstance(leaf, sinter.Tensor) else _kind(leaf)
            raise sinter.UserError(
                f"{self.what} needs floating arguments, and {path} is {kind}; choose others with argnums, or convert it"
            )
        self.tensors.append(_fresh(leaf))
        return self.tensors[-1]

    def gradients(self, arguments: list[Any], cotangents: list[sinter.Tensor]) -> list[Any]:
        """The gradients in the structures of `arguments`, which hold the replaced leaves."""
        remaining = iter(cotangents)

        def gradient_of(_: str, leaf: Any) -> Any:
            cotangent = next(remaining)
            return weak(cotangent, "float", "a gradient") if isinstance(leaf, Scalar) else cotangent

        return [tree.map_leaves(gradient_of, argument) for argument in arguments]


def _kind(leaf: Any) -> str:
    if isinstance(leaf, (int, Scalar)):
        return "an int: pass 2.0 instead of 2"
    return libraries.type_name(leaf)


def _chosen(what: str, signature: inspect.Signature, argnums: Any) -> tuple[list[str], bool]:
    """The names of the chosen parameters, and whether they were given as one."""
    names = list(signature.parameters)
    is_single = isinstance(argnums, (int, str))
    chosen = []
    for argnum in (argnums,) if is_single else argnums:
        if isinstance(argnum, str) and argnum in names:
            chosen.append(argnum)
        elif isinstance(argnum, int) and -len(names) <= argnum < len(names):
            chosen.append(names[argnum])
        else:
            raise sinter.UserError(f"{what}: argnums has {argnum!r}, and the function has the parameters {', '.join(names)}")
    return chosen, is_single


def _result(what: str, result: Any, has_aux: bool) -> tuple[sinter.Tensor, Any, Any]:
    """The Tensor to differentiate, the value to return for it, and the auxiliary result."""
    aux = None
    if has_aux:
        if not isinstance(result, tuple) or len(result) != 2:
            raise sinter.UserError(f"{what} with has_aux=True: the function must return (value, aux), not {_shape(result)}")
        result, aux = result
    tensor = result.at(sinter.f64) if isinstance(result, Scalar) else result
    if not isinstance(tensor, sinter.Tensor) or tensor.rank != 0 or not tensor.dtype.is_floating:
        raise sinter.UserError(
            f"{what} differentiates one floating number, and the function returned {_shape(result)}; "
            "return for example xp.sum(result), or has_aux=True for further results"
        )
    return tensor, result, aux


def _shape(result: Any) -> str:
    if isinstance(result, sinter.Tensor):
        return f"{result.dtype.name}[{', '.join(map(str, result.shape))}]"
    return f"a {type(result).__name__}"


def _transform(what: str, function: Callable[..., Any], argnums: Any, has_aux: bool,
               select: Callable[[Any, Any, Any], Any], options: dict[str, Any]) -> jitted.Jit:
    signature = inspect.signature(function)
    names, is_single = _chosen(what, signature, argnums)

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        variables = _Variables(f"{what} of {name_of(function)}")
        for name in names:
            bound.arguments[name] = tree.map_leaves(variables.replace, bound.arguments[name], name)
        result = function(*bound.args, **bound.kwargs)
        output, value, aux = _result(variables.what, result, has_aux)
        cotangents = sinter.gradient(output, variables.tensors)
        gradients = variables.gradients([bound.arguments[name] for name in names], cotangents)
        return select(value, gradients[0] if is_single else tuple(gradients), aux)

    options = {**getattr(function, "_settings", {}), **options}
    return jitted.Jit(differentiated, **options)


def grad(function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> jitted.Jit:
    """A function that returns the gradient of `function`, which returns one floating number.

    The gradient has the structure, shapes and dtypes of the arguments `argnums`. These are the position or
    name of one, or a sequence of them for a tuple of gradients. With `has_aux`, the function returns
    (value, aux), and its gradient (gradient, aux). Other values that the function uses count as
    constants. The result is jitted with `options`; within another jitted function it is recorded
    there. Raises UserError for arguments that are not floating and for results of another rank than 0.
    """
    return _transform("grad", function, argnums, has_aux, lambda _, g, aux: (g, aux) if has_aux else g, options)


def value_and_grad(function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> jitted.Jit:
    """As grad, for a function that returns (value, gradient), or ((value, aux), gradient)."""
    return _transform("value_and_grad", function, argnums, has_aux,
                      lambda value, g, aux: ((value, aux), g) if has_aux else (value, g), options)


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple]]:
    """The result of `function(*primals)`, and a function from its cotangent to those of the primals.

    The cotangent has the structure of the result. Only in a recorded function: the second result
    records into its graph.
    """
    recording.graph_for("vjp")
    variables = _Variables(f"vjp of {name_of(function)}")
    arguments = [tree.map_leaves(variables.replace, primal, f"primals[{i}]") for i, primal in enumerate(primals)]
    result = function(*arguments)

    def pull(cotangent: Any) -> tuple:
        outputs, given = tree.leaves(result), tree.leaves(cotangent)
        if len(outputs) != len(given):
            raise sinter.UserError(f"{variables.what}: the result has {len(outputs)} arrays, and the cotangent {len(given)}")
        total: list[Any] = []
        for output, g in zip(outputs, given):
            if not isinstance(output, sinter.Tensor) or not output.dtype.is_floating:
                continue
            g = _cotangent(output, g)
            parts = sinter.gradient(output, variables.tensors, g)
            total = [a + b for a, b in zip(total, parts)] if total else list(parts)
        if not total:
            raise sinter.UserError(f"{variables.what}: no result is floating")
        return tuple(variables.gradients(arguments, total))

    return result, pull


def _cotangent(output: sinter.Tensor, g: Any) -> sinter.Tensor:
    """`g` with the dtype and shape of the output; it may be a number."""
    from sinter.array_api import _operands

    tensor = _operands.as_tensor(g, output.dtype, output.graph)
    return sinter.broadcast_to(sinter.cast(tensor, output.dtype), output.shape)
