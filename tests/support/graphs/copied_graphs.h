// Graphs of one kernel whose contiguous operands can be copied to shared memory asynchronously.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan.h"
#include "compiler/target/target.h"
#include "sinter/sinter.h"
#include "sinter/text.h"

namespace sinter::test {

struct CopiedGraph {
  std::string name;
  std::string text;
  std::vector<Size> sizes;
};

inline void PrintTo(const CopiedGraph& graph, std::ostream* out) { *out << graph.name; }

/// Pointwise kernels. On a GPU with few SMs, blocks have complete and incomplete tiles, and fill
/// their stages several times.
inline std::vector<CopiedGraph> copied_graphs() {
  return {
      {"one_input_of_odd_size",
       R"(
graph scaled(x: f32[n]) {
  y = mul x, 0.5
  return y
})",
       {{"n", 100003}}},
      {"whole_tiles",
       R"(
graph product(x: bf16[64, 2048], w: bf16[64, 2048]) {
  y = mul x, w
  return y
})",
       {}},
      {"bias",
       R"(
graph bias_relu(x: f32[rows, 384], bias: f32[384]) {
  s = add x, bias
  y = maximum s, 0.0
  return y
})",
       {{"rows", 331}}},
      {"flat_rows",
       R"(
graph flat_bias(x: bf16[331, 387], bias: bf16[387]) {
  y = add x, bias
  return y
})",
       {}},
      {"several_dtypes",
       R"(
graph mixed(a: f32[n], b: bf16[n], c: i8[n], d: f16[n]) {
  h = cast b {to = f32}
  i = cast c {to = f32}
  j = cast d {to = f32}
  s = add a, h
  t = mul i, j
  y = sub s, t
  return y
})",
       {{"n", 65538}}},
      {"eight_inputs",
       R"(
graph sum_of_eight(a: f32[n], b: f32[n], c: f32[n], d: f32[n], e: f32[n], f: f32[n], g: f32[n], h: f32[n]) {
  p = add a, b
  q = add c, d
  r = add e, f
  s = add g, h
  t = add p, q
  u = add r, s
  y = add t, u
  return y
})",
       {{"n", 50001}}},
      {"update_in_place",
       R"(
graph momentum(w: f32[n], v: f32[n], g: f32[n]) {
  a = mul v, 0.9
  b = add a, g
  c = mul b, 0.01
  d = sub w, c
  update v, b
  update w, d
})",
       {{"n", 40000}}},
      {"strided_input",
       R"(
graph gated(x: f32[300, 512], both: f32[300, 1024]) {
  g = slice both {axis = 1, begin = 512, end = 1024, step = 1}
  y = mul x, g
  return y
})",
       {}},
      {"offset_input",
       R"(
graph shifted(x: f32[n + 8]) {
  a = slice x {axis = 0, begin = 8, end = n + 8, step = 1}
  b = slice x {axis = 0, begin = 0, end = n, step = 1}
  y = sub a, b
  return y
})",
       {{"n", 40000}}},
      {"doubles",
       R"(
graph squared(x: f64[n]) {
  y = mul x, x
  return y
})",
       {{"n", 30001}}},
  };
}

/// Kernels whose rows stay in registers. On a GPU with few SMs, blocks have several groups of rows,
/// and the last groups are incomplete.
inline std::vector<CopiedGraph> copied_row_graphs() {
  return {
      {"softmax",
       R"(
graph softmax(x: f32[rows, 1000]) {
  y = softmax x {axis = 1}
  return y
})",
       {{"rows", 211}}},
      {"layer_norm",
       R"(
graph layer_norm(x: bf16[rows, 1024], weight: bf16[1024], bias: bf16[1024]) {
  y = layer_norm x, weight, bias {axes = [1], eps = 1e-5}
  return y
})",
       {{"rows", 203}}},
      {"softmax_backward",
       R"(
graph softmax_backward(y: f32[300, 256], g: f32[300, 256]) {
  p = mul y, g
  s = sum p {axes = [1], keep = true}
  d = sub g, s
  dx = mul d, y
  return dx
})",
       {}},
      {"residual",
       R"(
graph residual_norm(h: f32[rows, 512], r: f32[rows, 512]) {
  s = add h, r
  q = mul s, s
  m = mean q {axes = [1], keep = true}
  e = add m, 1e-6
  i = rsqrt e
  y = mul s, i
  return y, s
})",
       {{"rows", 401}}},
      {"one_row_per_block",
       R"(
graph long_rows(x: f32[rows, 6400]) {
  y = log_softmax x {axis = 1}
  return y
})",
       {{"rows", 23}}},
  };
}

/// The GPU of `arch` with `sm_count` SMs, so that small arrays fill it.
inline Target with_few_sms(std::string_view arch, int sm_count = 1) {
  Target target = *find_target(arch);
  target.bandwidth *= static_cast<double>(sm_count) / target.sm_count;
  target.sm_count = sm_count;
  return target;
}

/// The number of candidates of the only kernel of `graph` with copies of one kind.
inline std::ptrdiff_t candidates_with(Copies copies, const CopiedGraph& graph,
                                      const Target& target) {
  std::vector<std::int64_t> symbols;
  for (const Size& size : graph.sizes) symbols.push_back(size.value);
  const Program program = plan(parse(graph.text), target, {.symbols = symbols}, {});
  if (program.kernels.size() != 1) return -1;
  return std::ranges::count(program.kernels[0].candidates, copies, &Schedule::copies);
}

}  // namespace sinter::test
