// Measures the NVRTC compile time of a program with one schedule and a cold cache. The goal is at
// most 100 ms for a kernel of up to 50 ops. It is 200 ms if each thread keeps 16 or more vectors of
// its row, and for a launch of five kernels in phases (`multi_axis_batch_norm`). No GPU is needed.
// `ptx` stops before the assembler. `nothing` is the fixed cost of every compilation, and
// `whole_prelude` the cost of device code that is not needed. As JSON: --benchmark_out=FILE
// --benchmark_out_format=json.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/emit.h"
#include "codegen/prelude/prelude.h"
#include "codegen/prelude/select_prelude.h"
#include "compiler/plan.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/compile/nvrtc.h"
#include "sinter/text.h"

namespace sinter {
namespace {

/// A graph that plans to one kernel of the kind in its name; a very long one to several.
struct Case {
  const char* name;
  std::string graph;
  std::int64_t rows = 8192;
};

std::string chain_of(int ops) {
  std::string text = "graph chain(x: f32[rows, 1024]) {\n  v0 = mul x, 1.01\n";
  constexpr const char* kOps[] = {"add v{0}, 0.5", "tanh v{0}", "mul v{0}, v{0}", "neg v{0}",
                                  "maximum v{0}, -3.0"};
  for (int op = 1; op < ops; ++op)
    text += fmt::format("  v{} = {}\n", op, fmt::format(fmt::runtime(kOps[op % 5]), op - 1));
  return text + fmt::format("  return v{}\n}}", ops - 1);
}

std::vector<Case> cases() {
  return {
      {"pointwise_add",
       "graph add(a: f32[rows, 1024], b: f32[rows, 1024]) {\n  y = add a, b\n  return y\n}"},
      {"pointwise_50_ops", chain_of(50)},
      {"pointwise_4000_ops", chain_of(4000)},
      {"softmax", "graph softmax(x: f32[rows, 4096]) {\n  y = softmax x {axis = 1}\n  return y\n}"},
      {"layer_norm", R"(graph layer_norm(x: bf16[rows, 4096], weight: f32[4096], bias: f32[4096]) {
          h = cast x {to = f32}
          v, m = var_mean h {axes = [1], correction = 0, keep = true}
          c = sub h, m
          e = add v, 1e-5
          r = rsqrt e
          n = mul c, r
          s = mul n, weight
          t = add s, bias
          y = cast t {to = bf16}
          return y
        })"},
      {"rms_norm_backward",
       R"(graph rms_norm_backward(x: bf16[rows, 4096], g: bf16[rows, 4096], weight: f32[4096], r: f32[rows, 1]) {
          h = cast x {to = f32}
          d = cast g {to = f32}
          n = mul h, r
          gw = mul d, weight
          p = mul gw, n
          b = mean p {axes = [1], keep = true}
          t = mul n, b
          u = sub gw, t
          v = mul u, r
          dx = cast v {to = bf16}
          q = mul d, n
          dweight = sum q {axes = [0]}
          return dx, dweight
        })",
       16384},
      {"column_sum",
       "graph column_sum(x: f32[rows, 1024]) {\n  y = sum x {axes = [0]}\n  return y\n}", 16384},
      {"full_sum", "graph full_sum(x: f32[rows]) {\n  y = sum x {axes = [0]}\n  return y\n}",
       1 << 24},
      {"resident_16_vectors",
       "graph softmax(x: f32[rows, 16384]) {\n  y = softmax x {axis = 1}\n  return y\n}"},
      {"multi_axis_batch_norm", R"(graph batch_norm(x: bf16[128, 32, rows, 112]) {
          h = cast x {to = f32}
          v, m = var_mean h {axes = [0, 2, 3], correction = 0, keep = true}
          c = sub h, m
          e = add v, 1e-5
          r = rsqrt e
          n = mul c, r
          y = cast n {to = bf16}
          return y
        })",
       112},
  };
}

/// The emitted sources of `kernel`.
std::vector<Source> emit_case(const Case& kernel) {
  const Graph graph = parse(kernel.graph, kernel.name);
  const NamedSize sizes[] = {{"rows", kernel.rows}};
  const Program program =
      plan(graph, *find_target("h200"), {.symbols = symbols_from_sizes(graph, sizes)});
  std::vector<Source> sources;
  for (const Kernel& planned : program.kernels)
    sources.push_back(emit(program, planned, planned.schedule, planned.name));
  return sources;
}

void compile(benchmark::State& state, const std::vector<Source>& sources, std::string_view prelude,
             const std::string& arch) {
  if (!nvrtc().nvrtc) {
    state.SkipWithError(nvrtc().reason.c_str());
    return;
  }
  std::vector<SourcePart> parts;
  for (const Source& source : sources) parts.push_back({source.entry, source.text});
  NvrtcOutput output;
  for (auto _ : state) output = nvrtc().nvrtc->compile(prelude, parts, arch);
  state.counters["kernels"] = static_cast<double>(sources.size());
  for (const auto& [entry, kernel] : output.kernels) {
    state.counters["registers"] = kernel.registers;
    state.counters["instructions"] = static_cast<double>(kernel.instructions);
    state.counters["spill_bytes"] = static_cast<double>(kernel.spill_bytes);
  }
}

constexpr const char* kNothing = "extern \"C\" __global__ void nothing() {}\n";

void add(const std::string& name, std::vector<Source> sources, std::string prelude,
         const std::string& arch) {
  benchmark::RegisterBenchmark(
      name.c_str(), [=](benchmark::State& state) { compile(state, sources, prelude, arch); })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1)
      ->Repetitions(11)
      ->ReportAggregatesOnly();
}

const int kRegistered = [] {
  const std::vector<Source> nothing = {{.entry = "nothing", .text = kNothing}};
  add("nothing", nothing, "", "sm_90");
  add("whole_prelude", nothing, std::string(prelude_text(Prelude::cuda)), "sm_90");
  for (const Case& kernel : cases()) {
    const std::vector<Source> sources = emit_case(kernel);
    std::vector<std::string_view> texts;
    for (const Source& source : sources) texts.push_back(source.text);
    const std::string prelude = prelude_for(texts);
    add(kernel.name, sources, prelude, "sm_90");
    add(std::string(kernel.name) + "/ptx", sources, prelude, "compute_90");
  }
  return 0;
}();

}  // namespace
}  // namespace sinter
