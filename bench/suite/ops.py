"""The ops of the suite. Each has a graph in sinter's text form, with $names for its dtype and sizes. It also has
its outputs, and sizes that are small enough for the oracle. peers/formulas.py has the same computations in Python."""

from dataclasses import dataclass, field


@dataclass
class Op:
    name: str
    group: str
    text: str
    outputs: dict  # name: (dtype, shape), with $names
    tiny: dict  # sizes
    dtypes: list = field(default_factory=lambda: ["f32", "bf16"])
    updates: list = field(default_factory=list)  # inputs that are also written
    untouched: dict = field(default_factory=dict)  # input: n if only one of n elements is read
    kernels: int = 1  # per call; more than 1 means one per op, to measure launches


OPS = {}


def op(group, name, inputs, body, outputs, tiny, **more):
    returned = f"\n  return {', '.join(outputs)}" if outputs else ""
    text = f"graph {name}({inputs}) {{\n{body.strip(chr(10))}{returned}\n}}\n"
    OPS[name] = Op(name, group, text, outputs, tiny, **more)


FLOATS = ["f32", "bf16", "f16"]
FLAT = {"y": ("$dtype", ["$n"])}
MATRIX = {"y": ("$dtype", ["$rows", "$columns"])}
ODD = {"rows": 7, "columns": 37}

# --- elementwise --------------------------------------------------------------------------------

op("elementwise", "scale", "x: $dtype[$n]", """
  y = mul x, 0.75""", FLAT, {"n": 1003}, dtypes=FLOATS)

op("elementwise", "add", "x: $dtype[$n], z: $dtype[$n]", """
  y = add x, z""", FLAT, {"n": 1003}, dtypes=FLOATS)

op("elementwise", "axpby_relu", "x: $dtype[$n], z: $dtype[$n]", """
  a = mul x, 0.75
  b = mul z, 1.25
  s = add a, b
  y = maximum s, 0.0""", FLAT, {"n": 1003}, dtypes=FLOATS)

op("elementwise", "bias_gelu_residual",
   "x: $dtype[$rows, $columns], bias: $dtype[$columns], residual: $dtype[$rows, $columns]", """
  b = add x, bias
  g = gelu_tanh b
  y = add g, residual""", MATRIX, ODD, dtypes=FLOATS)

op("elementwise", "silu_mul", "x: $dtype[$n], z: $dtype[$n]", """
  s = silu x
  y = mul s, z""", FLAT, {"n": 1003}, dtypes=FLOATS)


def chain(length):
    """The statements of a chain of cheap ops from x to y that no compiler can shorten."""
    lines, last = [], "x"
    for i in range(length):
        step = ("mul {}, 0.75", "add {}, 0.25", "maximum {}, x", "sub {}, 0.5", "minimum {}, 1.5")[i % 5]
        last = "y" if i == length - 1 else f"v{i}"
        lines.append(f"  {last} = {step.format('x' if i == 0 else previous)}")
        previous = last
    return "\n".join(lines)


op("elementwise", "chain10", "x: $dtype[$n]", chain(10), FLAT, {"n": 1003})
op("elementwise", "chain50", "x: $dtype[$n]", chain(50), FLAT, {"n": 1003}, dtypes=["f32"])


def adamw_statements(i=""):
    return f"""  a{i} = mul m{i}, 0.9
  b{i} = mul g{i}, 0.1
  mn{i} = add a{i}, b{i}
  c{i} = mul v{i}, 0.999
  gg{i} = mul g{i}, g{i}
  d{i} = mul gg{i}, 0.001
  vn{i} = add c{i}, d{i}
  r{i} = sqrt vn{i}
  e{i} = add r{i}, 1e-8
  q{i} = div mn{i}, e{i}
  st{i} = mul q{i}, 0.001
  wd{i} = mul w{i}, 0.99999
  wn{i} = sub wd{i}, st{i}
  update w{i}, wn{i}
  update m{i}, mn{i}
  update v{i}, vn{i}
"""


def adamw_inputs(shape, i=""):
    squares = f"v{i}: f32{shape} {{range = [0.0, 1.0]}}"
    return f"w{i}: f32{shape}, g{i}: f32{shape}, m{i}: f32{shape}, {squares}"


op("elementwise", "adamw", adamw_inputs("[$n]"), adamw_statements(), {}, {"n": 1003}, dtypes=["f32"],
   updates=["w", "m", "v"])

for source, target in [("f32", "bf16"), ("bf16", "f32"), ("f32", "f16"), ("i32", "f32"), ("i8", "f32")]:
    op("elementwise", f"cast_{source}_{target}", f"x: {source}[$n]", f"""
  y = cast x {{to = {target}}}""", {"y": (target, ["$n"])}, {"n": 1003}, dtypes=[source])

# --- broadcast and layout -----------------------------------------------------------------------

op("broadcast", "row_bias", "x: $dtype[$rows, $columns], bias: $dtype[$columns]", """
  y = add x, bias""", MATRIX, ODD)

op("broadcast", "column_scale", "x: $dtype[$rows, $columns], s: $dtype[$rows, 1]", """
  y = mul x, s""", MATRIX, ODD)

op("broadcast", "middle_broadcast", "x: $dtype[$outer, $middle, $inner], s: $dtype[$outer, 1, $inner]", """
  y = add x, s""", {"y": ("$dtype", ["$outer", "$middle", "$inner"])}, {"outer": 3, "middle": 5, "inner": 17})

op("broadcast", "transpose_add", "x: $dtype[$rows, $columns], z: $dtype[$columns, $rows]", """
  t = permute z {axes = [1, 0]}
  y = add x, t""", MATRIX, ODD)

op("broadcast", "strided_slice", "x: $dtype[$rows, $columns], z: $dtype[$rows, $half]", """
  s = slice x {axis = 1, begin = 0, end = $columns, step = 2}
  y = add s, z""", {"y": ("$dtype", ["$rows", "$half"])}, {"rows": 7, "columns": 38, "half": 19}, untouched={"x": 2})

# --- reductions ---------------------------------------------------------------------------------


# Sums of bf16 accumulate in f32, as in all systems.
WIDE = ("f32", [])

op("full reduce", "full_sum", "x: $dtype[$n]", """
  h = cast x {to = f32}
  y = sum h""", {"y": WIDE}, {"n": 5003})

op("full reduce", "full_max", "x: $dtype[$n]", """
  y = max x""", {"y": ("$dtype", [])}, {"n": 5003})

op("full reduce", "full_mean", "x: $dtype[$n]", """
  h = cast x {to = f32}
  y = mean h""", {"y": WIDE}, {"n": 5003})

op("full reduce", "dot", "x: $dtype[$n], z: $dtype[$n]", """
  a = cast x {to = f32}
  b = cast z {to = f32}
  p = mul a, b
  y = sum p""", {"y": WIDE}, {"n": 5003})

op("full reduce", "distance", "x: $dtype[$n], z: $dtype[$n]", """
  a = cast x {to = f32}
  b = cast z {to = f32}
  d = sub a, b
  q = mul d, d
  s = sum q
  y = sqrt s""", {"y": WIDE}, {"n": 5003})

for axis, along, kept in [(1, "row", "rows"), (0, "column", "columns")]:
    group = f"{along} reduce"
    statistic = ("f32", [f"${kept}"])
    op(group, f"{along}_sum", "x: $dtype[$rows, $columns]", f"""
  h = cast x {{to = f32}}
  y = sum h {{axes = [{axis}]}}""", {"y": statistic}, ODD)
    op(group, f"{along}_var_mean", "x: $dtype[$rows, $columns]", f"""
  h = cast x {{to = f32}}
  y, m = var_mean h {{axes = [{axis}], correction = 0}}""", {"y": statistic, "m": statistic}, ODD)

op("row reduce", "row_max", "x: $dtype[$rows, $columns]", """
  y = max x {axes = [1]}""", {"y": ("$dtype", ["$rows"])}, ODD)

op("row reduce", "row_argmax", "x: $dtype[$rows, $columns]", """
  y = argmax x {axis = 1}""", {"y": ("i64", ["$rows"])}, ODD, dtypes=["f32"])

op("row reduce", "row_logsumexp", "x: $dtype[$rows, $columns]", """
  h = cast x {to = f32}
  y = logsumexp h {axes = [1]}""", {"y": ("f32", ["$rows"])}, ODD)

# --- normalisation ------------------------------------------------------------------------------


def norm(name, inputs, body, outputs):
    op("normalisation", name, inputs, body, outputs, ODD)


X = "x: $dtype[$rows, $columns]"
G = "g: $dtype[$rows, $columns]"

for kind in ("softmax", "log_softmax"):
    norm(kind, X, f"""
  h = cast x {{to = f32}}
  s = {kind} h {{axis = 1}}
  y = cast s {{to = $dtype}}""", MATRIX)

RMS = """
  q = mul h, h
  a = mean q {axes = [1], keep = true}
  e = add a, 1e-6
  r = rsqrt e
  n = mul h, r
  s = mul n, weight
  y = cast s {to = $dtype}"""

norm("rms_norm", f"{X}, weight: f32[$columns]", f"""
  h = cast x {{to = f32}}{RMS}""", MATRIX)

norm("add_rms_norm", f"{X}, residual: $dtype[$rows, $columns], weight: f32[$columns]", f"""
  z = add x, residual
  h = cast z {{to = f32}}{RMS}""", MATRIX | {"z": MATRIX["y"]})

norm("layer_norm", f"{X}, weight: f32[$columns], bias: f32[$columns]", """
  h = cast x {to = f32}
  v, m = var_mean h {axes = [1], correction = 0, keep = true}
  c = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul c, r
  s = mul n, weight
  t = add s, bias
  y = cast t {to = $dtype}""", MATRIX)

norm("softmax_backward", f"p: $dtype[$rows, $columns], {G}", """
  h = cast p {to = f32}
  d = cast g {to = f32}
  q = mul h, d
  s = sum q {axes = [1], keep = true}
  t = sub d, s
  u = mul t, h
  y = cast u {to = $dtype}""", MATRIX)

norm("rms_norm_backward", f"{X}, {G}, weight: f32[$columns], r: f32[$rows, 1]", """
  h = cast x {to = f32}
  d = cast g {to = f32}
  n = mul h, r
  gw = mul d, weight
  p = mul gw, n
  b = mean p {axes = [1], keep = true}
  t = mul n, b
  u = sub gw, t
  v = mul u, r
  y = cast v {to = $dtype}
  q = mul d, n
  dweight = sum q {axes = [0]}""", MATRIX | {"dweight": ("f32", ["$columns"])})

norm("layer_norm_backward",
     f"{X}, {G}, weight: f32[$columns], mean: f32[$rows, 1], r: f32[$rows, 1]", """
  h = cast x {to = f32}
  d = cast g {to = f32}
  c = sub h, mean
  n = mul c, r
  gw = mul d, weight
  a = mean gw {axes = [1], keep = true}
  p = mul gw, n
  b = mean p {axes = [1], keep = true}
  t = mul n, b
  u = sub gw, a
  k = sub u, t
  w = mul k, r
  y = cast w {to = $dtype}
  q = mul d, n
  dweight = sum q {axes = [0]}
  dbias = sum d {axes = [0]}""",
     MATRIX | {"dweight": ("f32", ["$columns"]), "dbias": ("f32", ["$columns"])})

op("cross-entropy", "cross_entropy", f"{X}, label: i64[$rows, 1]", """
  h = cast x {to = f32}
  l = logsumexp h {axes = [1], keep = true}
  p = take_along_axis h, label {axis = 1}
  y = sub l, p""", {"y": ("f32", ["$rows", 1])}, ODD)

# --- many tensors, many launches ----------------------------------------------------------------


def foreach_adamw(layers):
    """AdamW over a transformer's weights: each layer has a matrix and a vector of two shapes each."""
    shapes = ["[$width, $width]", "[$width]", "[$wide, $width]", "[$wide]"] * layers
    inputs = ",".join("\n    " + adamw_inputs(shape, i) for i, shape in enumerate(shapes))
    body = "".join(adamw_statements(i) for i in range(len(shapes)))
    op("foreach", f"foreach_adamw_{layers}", inputs, body, {}, {"width": 5, "wide": 9}, dtypes=["f32"],
       updates=[f"{kind}{i}" for i in range(len(shapes)) for kind in "wmv"])


foreach_adamw(6)
foreach_adamw(25)

for length in (1, 5, 20, 100):
    op("latency", f"latency{length}", "x: $dtype[$n]", chain(length), FLAT, {"n": 1003}, dtypes=["f32"],
       kernels=length)
