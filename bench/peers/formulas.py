"""The computation of each op of the suite, written once for all systems. `w` has the operations of a system
(operations.py). Each formula returns its results by name, including inputs that the graph updates. The graphs are in
bench/suite/ops.py."""

FORMULAS = {}


def formula(function):
    FORMULAS[function.__name__] = function
    return function


# --- elementwise --------------------------------------------------------------------------------


@formula
def scale(w, x):
    return {"y": x * 0.75}


@formula
def add(w, x, z):
    return {"y": x + z}


@formula
def axpby_relu(w, x, z):
    return {"y": w.relu(x * 0.75 + z * 1.25)}


@formula
def bias_gelu_residual(w, x, bias, residual):
    return {"y": w.gelu_tanh(x + bias) + residual}


@formula
def silu_mul(w, x, z):
    return {"y": w.silu(x) * z}


def chain(length):
    def steps(w, x):
        y = x
        for i in range(length):
            kind = i % 5
            if kind == 0:
                y = y * 0.75
            elif kind == 1:
                y = y + 0.25
            elif kind == 2:
                y = w.maximum(y, x)
            elif kind == 3:
                y = y - 0.5
            else:
                y = w.clip_above(y, 1.5)
        return {"y": y}

    return steps


for count in (10, 50):
    FORMULAS[f"chain{count}"] = chain(count)
for count in (1, 5, 20, 100):
    FORMULAS[f"latency{count}"] = chain(count)


@formula
def adamw(w, /, **given):
    return adamw_step(w, given, "")


def adamw_step(w, given, i):
    weight, g, m, v = (given[kind + i] for kind in "wgmv")
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + (g * g) * 0.001
    step = m / (w.sqrt(v) + 1e-8)
    return {f"w{i}": weight * 0.99999 - step * 0.001, f"m{i}": m, f"v{i}": v}


def foreach_adamw(w, /, **given):
    results = {}
    for i in range(len(given) // 4):
        results |= adamw_step(w, given, str(i))
    return results


for layers in (6, 25):
    FORMULAS[f"foreach_adamw_{layers}"] = foreach_adamw


def cast(target):
    return lambda w, x: {"y": w.cast(x, target)}


for source, target in [("f32", "bf16"), ("bf16", "f32"), ("f32", "f16"), ("i32", "f32"), ("i8", "f32")]:
    FORMULAS[f"cast_{source}_{target}"] = cast(target)

# --- broadcast and layout -----------------------------------------------------------------------


@formula
def row_bias(w, x, bias):
    return {"y": x + bias}


@formula
def column_scale(w, x, s):
    return {"y": x * s}


@formula
def middle_broadcast(w, x, s):
    return {"y": x + s}


@formula
def transpose_add(w, x, z):
    return {"y": x + z.T}


@formula
def strided_slice(w, x, z):
    return {"y": x[:, ::2] + z}


# --- reductions: narrow dtypes accumulate in f32 ------------------------------------------------


@formula
def full_sum(w, x):
    return {"y": w.sum(x, None)}


@formula
def full_max(w, x):
    return {"y": w.max(x, None)}


@formula
def full_mean(w, x):
    return {"y": w.mean(x, None)}


@formula
def dot(w, x, z):
    return {"y": w.sum(w.wide(x) * w.wide(z), None)}


@formula
def distance(w, x, z):
    d = w.wide(x) - w.wide(z)
    return {"y": w.sqrt(w.sum(d * d, None))}


@formula
def row_sum(w, x):
    return {"y": w.sum(x, 1)}


@formula
def column_sum(w, x):
    return {"y": w.sum(x, 0)}


@formula
def row_var_mean(w, x):
    return dict(zip("ym", w.var_mean(x, 1)))


@formula
def column_var_mean(w, x):
    return dict(zip("ym", w.var_mean(x, 0)))


@formula
def row_max(w, x):
    return {"y": w.max(x, 1)}


@formula
def row_argmax(w, x):
    return {"y": w.argmax(x, 1)}


@formula
def row_logsumexp(w, x):
    return {"y": w.logsumexp(w.wide(x), 1)}


# --- normalisation ------------------------------------------------------------------------------


@formula
def softmax(w, x):
    return {"y": w.softmax(x)}


@formula
def log_softmax(w, x):
    return {"y": w.log_softmax(x)}


@formula
def rms_norm(w, x, weight):
    return {"y": w.rms_norm(x, weight)}


@formula
def add_rms_norm(w, x, residual, weight):
    z = x + residual
    return {"y": w.rms_norm(z, weight), "z": z}


@formula
def layer_norm(w, x, weight, bias):
    return {"y": w.layer_norm(x, weight, bias)}


@formula
def softmax_backward(w, p, g):
    return {"y": w.softmax_backward(p, g)}


@formula
def rms_norm_backward(w, x, g, weight, r):
    d = w.wide(g)
    n = w.wide(x) * r
    gw = d * weight
    v = (gw - n * w.kept_mean(gw * n)) * r
    return {"y": w.like(v, x), "dweight": w.sum(d * n, 0)}


@formula
def layer_norm_backward(w, x, g, weight, mean, r):
    d = w.wide(g)
    n = (w.wide(x) - mean) * r
    gw = d * weight
    v = (gw - w.kept_mean(gw) - n * w.kept_mean(gw * n)) * r
    return {"y": w.like(v, x), "dweight": w.sum(d * n, 0), "dbias": w.sum(d, 0)}


@formula
def cross_entropy(w, x, label):
    return {"y": w.cross_entropy(x, label)}
