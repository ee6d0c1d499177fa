// Measures the speed of the host device. Softmax over f32[4096, 4096] should take at most 2 s per
// run on two cores. Chains of pointwise ops over 64 MiB should reach 1 GB/s, counting bytes read
// and written.
#include "sinter/sinter.h"

#include <vector>

#include <benchmark/benchmark.h>

namespace sinter {
namespace {

/// Runs `graph` on the host device. Its only input x and its only output y have shape `shape`.
void run_on_host(benchmark::State& state, const Graph& graph, Sizes shape) {
  const Device device = host_device();
  const Stream stream = device.stream();
  const Array x = device.empty(f32, shape);
  const Array y = device.empty(f32, shape);
  std::vector<float> values(static_cast<std::size_t>(x.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 2654435761U % 4096) / 1024 - 2;
  device.upload(x, values, stream);

  const Executable executable = compile(graph, device);
  Context context = executable.context();
  const Bindings bindings = context.bind({{"x", x}}, {{"y", y}});
  for (auto _ : state) {
    context.run(stream, bindings);
    stream.synchronize();
  }
  std::int64_t bytes = 0;
  for (const KernelReport& kernel : executable.report().kernels)
    bytes += kernel.bytes_read + kernel.bytes_written;
  state.counters["gb_per_s"] = benchmark::Counter(static_cast<double>(bytes) * 1e-9,
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void softmax_rows(benchmark::State& state) {
  Graph graph("softmax");
  graph.output("y", softmax(graph.input("x", f32, {4096, 4096})));
  run_on_host(state, graph, {4096, 4096});
}
BENCHMARK(softmax_rows)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

constexpr std::int64_t kElements = 16 << 20;

/// Repeats y = maximum(y * 0.75 + 0.5, x); three ops per repetition.
void cheap_chain(benchmark::State& state) {
  Graph graph("cheap_chain");
  const Tensor x = graph.input("x", f32, {kElements});
  Tensor y = x;
  for (int i = 0; i < state.range(0); i += 3) y = maximum(y * 0.75F + 0.5F, x);
  graph.output("y", y);
  run_on_host(state, graph, {kElements});
}
BENCHMARK(cheap_chain)
    ->Arg(3)
    ->Arg(9)
    ->Arg(30)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// An op whose arithmetic costs more than its memory accesses.
void gelu_chain(benchmark::State& state) {
  Graph graph("gelu_chain");
  graph.output("y", gelu(graph.input("x", f32, {kElements})));
  run_on_host(state, graph, {kElements});
}
BENCHMARK(gelu_chain)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace sinter
