// Measures the host cost of recording an op. Goal: at most 100 ns per op (items_per_second above 10
// million). `chain` appends new nodes, `again` finds existing nodes.
#include "sinter/ops.h"
#include "sinter/text.h"

#include <benchmark/benchmark.h>

namespace {

using namespace sinter;

constexpr int kOps = 1000;

/// Alternates binary and unary ops over one shape; every op is a new node.
Tensor record_chain(Tensor x, Tensor bias) {
  Tensor y = x;
  for (int i = 0; i < kOps / 4; ++i) {
    y = add(y, bias);
    y = tanh(y);
    y = mul(y, x);
    y = exp(y);
  }
  return y;
}

void set_rate(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kOps);
  state.counters["per_op"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kOps,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void record_chain_of_new_ops(benchmark::State& state) {
  for (auto _ : state) {
    Graph graph("chain");
    const Extent rows = graph.extent("rows");
    const Tensor x = graph.input("x", f32, {rows, 4096});
    const Tensor bias = graph.input("bias", f32, {4096});
    benchmark::DoNotOptimize(record_chain(x, bias));
  }
  set_rate(state);
}
BENCHMARK(record_chain_of_new_ops);

void record_chain_again(benchmark::State& state) {
  Graph graph("chain");
  const Tensor x = graph.input("x", f32, {graph.extent("rows"), 4096});
  const Tensor bias = graph.input("bias", f32, {4096});
  record_chain(x, bias);
  for (auto _ : state) benchmark::DoNotOptimize(record_chain(x, bias));
  set_rate(state);
}
BENCHMARK(record_chain_again);

/// Repeats `step`, which records `ops` ops.
void record_steps(benchmark::State& state, int ops, auto step) {
  for (auto _ : state) {
    Graph graph("steps");
    Tensor y = graph.input("x", f32, {64, 4096});
    for (int i = 0; i < kOps / ops; ++i) y = step(y);
    benchmark::DoNotOptimize(y);
  }
  set_rate(state);
}

void record_ops_with_numbers(benchmark::State& state) {
  record_steps(state, 2, [](const Tensor& y) { return exp(y * 0.5); });
}
BENCHMARK(record_ops_with_numbers);

void record_softmax_rows(benchmark::State& state) {
  record_steps(state, 6, [](const Tensor& y) { return softmax(y); });
}
BENCHMARK(record_softmax_rows);

void parse_statements(benchmark::State& state) {
  std::string text = "graph g(x: f32[64, 4096]) {\n  v0 = exp x\n";
  for (int i = 1; i < kOps; ++i)
    text += "  v" + std::to_string(i) + " = add v" + std::to_string(i - 1) + ", x\n";
  text += "  return v" + std::to_string(kOps - 1) + "\n}\n";
  for (auto _ : state) benchmark::DoNotOptimize(parse(text));
  set_rate(state);
}
BENCHMARK(parse_statements);

}  // namespace
