// Measures sinter's host overhead per call. Programs run and replay over a driver table whose calls
// do nothing. Goals per steady-state call: at most 500 ns for one kernel, and 1,000 ns for 20
// kernels in one graph. A changed pointer may cost 300 ns per node (`per_node`). New sizes of the
// same class may cost 5,000 ns and 300 ns per node (`over_5_us_per_node`). As JSON:
// --benchmark_out=FILE --benchmark_out_format=json.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>

#include "compiler/simplify/graph_sweep.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/make_variant.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/null_driver.h"

namespace sinter {
namespace {

/// y = exp((x + bias) * scale), one kernel per op.
Graph three_ops() {
  Graph graph("three_ops");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, 1024});
  const Tensor bias = graph.input("bias", f32, {1024});
  const Tensor scale = graph.scalar("scale", f32);
  graph.output("y", exp((x + bias) * scale));
  return graph;
}

/// A chain of `kernels` kernels, one per op. The first kernel reads `x`, all kernels read `scale`.
Graph chain_of(int kernels) {
  Graph graph("chain");
  const Extent rows = graph.extent("rows");
  const Tensor scale = graph.scalar("scale", f32);
  Tensor y = graph.input("x", f32, {rows, 1024});
  for (int i = 0; i < kernels; ++i) y = y * scale;
  graph.output("y", y);
  return graph;
}

/// A variant that is planned and emitted but not compiled, because its kernels never run.
std::shared_ptr<const Variant> variant_without_code(const Graph& graph,
                                                    const VariantRequest& request) {
  auto variant = std::make_shared<Variant>();
  variant->alignment = request.alignment;
  variant->program = plan(graph, known_targets()[0], {.symbols = request.symbols}, {.fuse = false});
  for (const Kernel& kernel : variant->program.kernels)
    variant->kernels.push_back({.source = emit_candidates(variant->program, kernel, 1).sources[0]});
  return variant;
}

Executable executable_of(DeviceState& device, const std::shared_ptr<const Graph>& graph) {
  auto state = std::make_shared<ExecutableState>(device, interface_of(*graph, {}));
  state->check_sizes = [](std::span<const std::int64_t>) {};
  state->make_variant = [graph](const VariantRequest& request) {
    return variant_without_code(*graph, request);
  };
  return Executable(std::move(state));
}

/// A program with a kernel per op, on a device whose calls do nothing.
struct Prepared {
  Prepared(Graph graph, int kernels)
      : device_state(test::null_driver(), 0),
        device(&device_state),
        executable(executable_of(device_state, std::make_shared<Graph>(std::move(graph)))),
        context(executable.context()),
        stream(device.stream()) {
    executable.prepare({{"rows", 64}});
    ensure(executable.state()->variants()[0]->kernels.size() == static_cast<std::size_t>(kernels),
           "the program has a kernel per op");
  }

  DeviceState device_state;
  Device device;
  Executable executable;
  Context context;
  Stream stream;
};

/// three_ops() and two sets of arrays for it. A call runs the program or replays its graph.
template <bool replays>
struct ThreeOps : Prepared {
  ThreeOps() : Prepared(three_ops(), 3) {
    for (int i = 0; i < 2; ++i) {
      x.push_back(device.empty(f32, {64, 1024}));
      bias.push_back(device.empty(f32, {1024}));
      y.push_back(device.empty(f32, {64, 1024}));
    }
  }

  void call(int set, float scale) {
    const auto i = static_cast<std::size_t>(set);
    if constexpr (replays)
      context.replay(stream, {{"x", x[i]}, {"bias", bias[i]}, {"scale", scale}}, {{"y", y[i]}});
    else
      context.run(stream, {{"x", x[i]}, {"bias", bias[i]}, {"scale", scale}}, {{"y", y[i]}});
  }

  std::vector<Array> x, bias, y;
};

/// A chain of kernels, and arrays for it.
struct Chain : Prepared {
  explicit Chain(int kernels) : Prepared(chain_of(kernels), kernels) {}

  Array array(std::int64_t rows = 64) const { return device.empty(f32, {rows, 1024}); }
  Bindings bind(const Array& x, const Array& y, float scale = 0.5F) const {
    return context.bind({{"x", x}, {"scale", scale}}, {{"y", y}});
  }
  /// Times calls that replay the two `bindings` alternately.
  void replay_in_turn(benchmark::State& state, const std::vector<Bindings>& bindings) {
    std::size_t turn = 0;
    for (auto _ : state) context.replay(stream, bindings[turn ^= 1]);
  }
};

template <bool replays>
void prepared(benchmark::State& state) {
  ThreeOps<replays> f;
  const Bindings bindings =
      f.context.bind({{"x", f.x[0]}, {"bias", f.bias[0]}, {"scale", 0.5F}}, {{"y", f.y[0]}});
  for (auto _ : state)
    replays ? f.context.replay(f.stream, bindings) : f.context.run(f.stream, bindings);
}

template <bool replays>
void by_name(benchmark::State& state) {
  ThreeOps<replays> f;
  for (auto _ : state) f.call(0, 0.5F);
}

void by_name_with_a_new_scalar(benchmark::State& state) {
  ThreeOps<false> f;
  float scale = 0;
  for (auto _ : state) f.call(0, scale += 1);
}

template <bool replays>
void by_name_with_two_sets_of_arrays_in_turn(benchmark::State& state) {
  ThreeOps<replays> f;
  int set = 0;
  for (auto _ : state) f.call(set ^= 1, 0.5F);
}

template <bool replays>
void kernels(benchmark::State& state) {
  Chain chain(static_cast<int>(state.range(0)));
  const Bindings bindings = chain.bind(chain.array(), chain.array());
  for (auto _ : state)
    replays ? chain.context.replay(chain.stream, bindings)
            : chain.context.run(chain.stream, bindings);
}

BENCHMARK(prepared<false>)->Name("run_prepared");
BENCHMARK(by_name<false>)->Name("run_by_name");
BENCHMARK(by_name_with_a_new_scalar)->Name("run_by_name_with_a_new_scalar");
BENCHMARK(by_name_with_two_sets_of_arrays_in_turn<false>)
    ->Name("run_by_name_with_two_sets_of_arrays_in_turn");
BENCHMARK(prepared<true>)->Name("replay_prepared");
BENCHMARK(by_name<true>)->Name("replay_by_name");
BENCHMARK(by_name_with_two_sets_of_arrays_in_turn<true>)
    ->Name("replay_by_name_with_two_sets_of_arrays_in_turn");
BENCHMARK(kernels<false>)->Name("run_kernels")->Arg(1)->Arg(20);
BENCHMARK(kernels<true>)->Name("replay_kernels")->Arg(1)->Arg(20);

void count_per_node(benchmark::State& state, std::int64_t nodes) {
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(nodes), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["nodes_patched_per_call"] =
      static_cast<double>(nodes) / static_cast<double>(state.iterations());
}

/// Creates an Array from pooled memory, uses it on a stream and drops it.
void make_and_drop_an_array(benchmark::State& state) {
  Chain chain(1);
  chain.device_state.memory_pool->set_idle_limit(std::int64_t{1} << 30);
  const float number = 0;
  for (auto _ : state) chain.device.upload(chain.device.empty(f32, {}), &number, chain.stream);
  ensure(chain.device_state.memory_pool->idle_bytes() == 512, "it is one piece of memory");
}
BENCHMARK(make_and_drop_an_array);

/// Runs with an output that the run allocates and the caller drops.
void run_with_fresh_outputs(benchmark::State& state) {
  Chain chain(1);
  chain.device_state.memory_pool->set_idle_limit(std::int64_t{1} << 30);
  const Array x = chain.array();
  for (auto _ : state)
    benchmark::DoNotOptimize(chain.context.run(chain.stream, {{"x", x}, {"scale", 0.5F}}));
}
BENCHMARK(run_with_fresh_outputs);

/// Replays a graph of 100 nodes; one node gets another pointer with every call.
void patch_one_node_of_100(benchmark::State& state) {
  Chain chain(100);
  const Array y = chain.array();
  const std::vector<Bindings> bindings = {chain.bind(chain.array(), y),
                                          chain.bind(chain.array(), y)};
  chain.replay_in_turn(state, bindings);
  ensure(chain.context.counters().graph_builds == 1, "the graph is built once");
  count_per_node(state, chain.context.counters().patched_nodes);
}
BENCHMARK(patch_one_node_of_100);

/// Replays a graph of 100 nodes; a scalar that all nodes take changes with every call.
void patch_all_nodes_of_100(benchmark::State& state) {
  Chain chain(100);
  const Array x = chain.array(), y = chain.array();
  chain.replay_in_turn(state, {chain.bind(x, y, 0.5F), chain.bind(x, y, 0.25F)});
  ensure(chain.context.counters().graph_builds == 1, "the graph is built once");
  count_per_node(state, chain.context.counters().patched_nodes);
}
BENCHMARK(patch_all_nodes_of_100);

/// Replays a graph of 100 nodes with other sizes of the same class in every call.
void new_sizes_of_100_nodes(benchmark::State& state) {
  Chain chain(100);
  const std::vector<Bindings> bindings = {chain.bind(chain.array(), chain.array()),
                                          chain.bind(chain.array(80), chain.array(80))};
  const auto start = std::chrono::steady_clock::now();
  chain.replay_in_turn(state, bindings);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  ensure(chain.executable.state()->variants().size() == 1, "the sizes are of one class");
  state.counters["graph_builds"] = static_cast<double>(chain.context.counters().graph_builds);
  state.counters["over_5_us_per_node"] =
      (spent.count() / static_cast<double>(state.iterations()) - 5e-6) / 100;
}
BENCHMARK(new_sizes_of_100_nodes);

}  // namespace
}  // namespace sinter
