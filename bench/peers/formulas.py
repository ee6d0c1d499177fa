"""The computation of each op of the suite, written once for all systems. `w` has the operations of a system
(operations.py). Each formula returns its results by name, including inputs that the graph updates. The graphs are in
bench/suite/ops.py."""

CHAIN = (lambda w, y, x: y * 0.75, lambda w, y, x: y + 0.25, lambda w, y, x: w.maximum(y, x), lambda w, y, x: y - 0.5,
         lambda w, y, x: w.clip_above(y, 1.5))


def chain(length):
    def steps(w, x):
        y = x
        for i in range(length):
            y = CHAIN[i % len(CHAIN)](w, y, x)
        return {"y": y}

    return steps


def adamw(w, given, i=""):
    weight, g, m, v = (given[kind + i] for kind in "wgmv")
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + (g * g) * 0.001
    step = m / (w.sqrt(v) + 1e-8)
    return {f"w{i}": weight * 0.99999 - step * 0.001, f"m{i}": m, f"v{i}": v}


def foreach_adamw(w, /, **given):
    results = {}
    for i in range(len(given) // 4):
        results |= adamw(w, given, str(i))
    return results


def cast(target):
    return lambda w, x: {"y": w.cast(x, target)}


def distance(w, x, z):
    d = w.wide(x) - w.wide(z)
    return {"y": w.sqrt(w.sum(d * d, None))}


def add_rms_norm(w, x, residual, weight):
    z = x + residual
    return {"y": w.rms_norm(z, weight), "z": z}


def rms_norm_backward(w, x, g, weight, r):
    d = w.wide(g)
    n = w.wide(x) * r
    gw = d * weight
    v = (gw - n * w.kept_mean(gw * n)) * r
    return {"y": w.like(v, x), "dweight": w.sum(d * n, 0)}


def layer_norm_backward(w, x, g, weight, mean, r):
    d = w.wide(g)
    n = (w.wide(x) - mean) * r
    gw = d * weight
    v = (gw - w.kept_mean(gw) - n * w.kept_mean(gw * n)) * r
    return {"y": w.like(v, x), "dweight": w.sum(d * n, 0), "dbias": w.sum(d, 0)}


FORMULAS = {
    # elementwise
    "scale": lambda w, x: {"y": x * 0.75},
    "add": lambda w, x, z: {"y": x + z},
    "axpby_relu": lambda w, x, z: {"y": w.relu(x * 0.75 + z * 1.25)},
    "bias_gelu_residual": lambda w, x, bias, residual: {"y": w.gelu_tanh(x + bias) + residual},
    "silu_mul": lambda w, x, z: {"y": w.silu(x) * z},
    "adamw": lambda w, /, **given: adamw(w, given),
    **{f"foreach_adamw_{layers}": foreach_adamw for layers in (6, 25)},
    **{f"chain{length}": chain(length) for length in (10, 50)},
    **{f"latency{length}": chain(length) for length in (1, 5, 20, 100)},
    **{f"cast_{source}_{target}": cast(target)
       for source, target in [("f32", "bf16"), ("bf16", "f32"), ("f32", "f16"), ("i32", "f32"), ("i8", "f32")]},
    # broadcast and layout
    "row_bias": lambda w, x, bias: {"y": x + bias},
    "column_scale": lambda w, x, s: {"y": x * s},
    "middle_broadcast": lambda w, x, s: {"y": x + s},
    "transpose_add": lambda w, x, z: {"y": x + z.T},
    "strided_slice": lambda w, x, z: {"y": x[:, ::2] + z},
    # reductions: narrow dtypes accumulate in f32
    "full_sum": lambda w, x: {"y": w.sum(x, None)},
    "full_max": lambda w, x: {"y": w.max(x, None)},
    "full_mean": lambda w, x: {"y": w.mean(x, None)},
    "dot": lambda w, x, z: {"y": w.sum(w.wide(x) * w.wide(z), None)},
    "distance": distance,
    "row_sum": lambda w, x: {"y": w.sum(x, 1)},
    "column_sum": lambda w, x: {"y": w.sum(x, 0)},
    "row_var_mean": lambda w, x: dict(zip("ym", w.var_mean(x, 1))),
    "column_var_mean": lambda w, x: dict(zip("ym", w.var_mean(x, 0))),
    "row_max": lambda w, x: {"y": w.max(x, 1)},
    "row_argmax": lambda w, x: {"y": w.argmax(x, 1)},
    "row_logsumexp": lambda w, x: {"y": w.logsumexp(w.wide(x), 1)},
    # normalisation
    "softmax": lambda w, x: {"y": w.softmax(x)},
    "log_softmax": lambda w, x: {"y": w.log_softmax(x)},
    "rms_norm": lambda w, x, weight: {"y": w.rms_norm(x, weight)},
    "add_rms_norm": add_rms_norm,
    "layer_norm": lambda w, x, weight, bias: {"y": w.layer_norm(x, weight, bias)},
    "softmax_backward": lambda w, p, g: {"y": w.softmax_backward(p, g)},
    "rms_norm_backward": rms_norm_backward,
    "layer_norm_backward": layer_norm_backward,
    "cross_entropy": lambda w, x, label: {"y": w.cross_entropy(x, label)},
}
