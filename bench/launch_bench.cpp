// How much of a call is our own work? A program of three kernels is run and replayed over a driver
// table whose calls do nothing. Goal: at most 1000 ns per steady-state call.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "compiler/rewrite.h"
#include "runtime/executable_state.h"
#include "runtime/make_variant.h"
#include "sinter/sinter.h"
#include "tests/support/null_driver.h"

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

/// Planned and emitted as ever, but not compiled: nobody will run it.
std::shared_ptr<const Variant> variant_without_code(const Graph& graph,
                                                    const VariantRequest& request) {
  auto variant = std::make_shared<Variant>();
  variant->alignment = request.alignment;
  variant->program = plan(graph, known_targets()[0], {.symbols = request.symbols}, {.fuse = false});
  for (const Kernel& kernel : variant->program.kernels)
    variant->kernels.push_back({.source = emit_candidates(variant->program, kernel, 1).sources[0]});
  return variant;
}

/// The program on a device that does nothing, and two sets of arrays to run it on.
struct Fixture {
  Fixture()
      : device_state(test::null_driver(), 0),
        device(&device_state),
        graph(std::make_shared<Graph>(three_ops())),
        executable(make_executable()),
        context(executable.context()),
        stream(device.stream()) {
    executable.prepare({{"rows", 64}});
    ensure(executable.state()->variants()[0]->kernels.size() == 3, "the program has three kernels");
    for (int i = 0; i < 2; ++i) {
      x.push_back(device.empty(f32, {64, 1024}));
      bias.push_back(device.empty(f32, {1024}));
      y.push_back(device.empty(f32, {64, 1024}));
    }
  }

  Executable make_executable() {
    auto state = std::make_shared<ExecutableState>(device_state, interface_of(*graph, {}));
    state->check_sizes = [](std::span<const std::int64_t>) {};
    state->make_variant = [this](const VariantRequest& request) {
      return variant_without_code(*graph, request);
    };
    return Executable(std::move(state));
  }

  void run(int set, float scale) {
    const auto i = static_cast<std::size_t>(set);
    context.run(stream, {{"x", x[i]}, {"bias", bias[i]}, {"scale", scale}}, {{"y", y[i]}});
  }
  void replay(int set, float scale) {
    const auto i = static_cast<std::size_t>(set);
    context.replay(stream, {{"x", x[i]}, {"bias", bias[i]}, {"scale", scale}}, {{"y", y[i]}});
  }

  DeviceState device_state;
  Device device;
  std::shared_ptr<Graph> graph;
  Executable executable;
  Context context;
  Stream stream;
  std::vector<Array> x, bias, y;
};

void run_prepared(benchmark::State& state) {
  Fixture f;
  const Bindings bindings =
      f.context.bind({{"x", f.x[0]}, {"bias", f.bias[0]}, {"scale", 0.5F}}, {{"y", f.y[0]}});
  for (auto _ : state) f.context.run(f.stream, bindings);
}
BENCHMARK(run_prepared);

void run_by_name(benchmark::State& state) {
  Fixture f;
  for (auto _ : state) f.run(0, 0.5F);
}
BENCHMARK(run_by_name);

void run_by_name_with_a_new_scalar(benchmark::State& state) {
  Fixture f;
  float scale = 0;
  for (auto _ : state) f.run(0, scale += 1);
}
BENCHMARK(run_by_name_with_a_new_scalar);

void run_by_name_with_two_sets_of_arrays_in_turn(benchmark::State& state) {
  Fixture f;
  int set = 0;
  for (auto _ : state) f.run(set ^= 1, 0.5F);
}
BENCHMARK(run_by_name_with_two_sets_of_arrays_in_turn);

void replay_prepared(benchmark::State& state) {
  Fixture f;
  const Bindings bindings =
      f.context.bind({{"x", f.x[0]}, {"bias", f.bias[0]}, {"scale", 0.5F}}, {{"y", f.y[0]}});
  for (auto _ : state) f.context.replay(f.stream, bindings);
}
BENCHMARK(replay_prepared);

void replay_by_name(benchmark::State& state) {
  Fixture f;
  for (auto _ : state) f.replay(0, 0.5F);
}
BENCHMARK(replay_by_name);

void replay_by_name_with_two_sets_of_arrays_in_turn(benchmark::State& state) {
  Fixture f;
  int set = 0;
  for (auto _ : state) f.replay(set ^= 1, 0.5F);
}
BENCHMARK(replay_by_name_with_two_sets_of_arrays_in_turn);

}  // namespace
}  // namespace sinter
