// How near do kernels on a GPU come to the speed of a copy? Each works on arrays of 1 GiB; in every
// iteration a device-to-device copy that moves as many bytes runs beside it. Counters: gb_per_s,
// bytes read and written by the median time, and of_copy, that by the copy's.
#include "sinter/sinter.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>

namespace sinter {
namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 28;  // 1 GiB of f32
constexpr std::int64_t kColumns = 4096;
constexpr std::int64_t kRows = kElements / kColumns;
constexpr int kIterations = 30;
constexpr int kLaunches = 4;  // between two events, so that the time of an event does not count

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

class Timer {
 public:
  explicit Timer(const Stream& stream)
      : stream_(stream), start_(stream.device().event()), end_(stream.device().event()) {}

  /// Seconds of one `launch`.
  double time(const auto& launch) const {
    start_.record(stream_);
    for (int i = 0; i < kLaunches; ++i) launch();
    end_.record(stream_);
    end_.synchronize();
    return static_cast<double>(end_.elapsed_since(start_)) * 1e-3 / kLaunches;
  }

 private:
  Stream stream_;
  Event start_;
  Event end_;
};

/// Times `graph`, all of whose inputs have `shape` and whose one output, y, has `result`.
void measure(benchmark::State& state, const Graph& graph, std::vector<std::string_view> inputs,
             Sizes shape, Sizes result) {
  std::optional<Device> device;
  try {
    device = cuda_device();
  } catch (const DriverError& error) {
    state.SkipWithError(error.what());
    return;
  }
  const Stream stream = device->stream();
  std::vector<Array> arrays;
  const std::vector<float> values(kElements, 0.5F);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arrays.push_back(device->empty(f32, shape));
    device->upload(arrays.back(), values, stream);
  }
  const Array y = device->empty(f32, result);
  std::vector<Binding> bound;
  for (std::size_t i = 0; i < inputs.size(); ++i) bound.emplace_back(inputs[i], arrays[i]);

  const Executable executable = compile(graph, *device);
  Context context = executable.context();
  const Bindings bindings = context.bind(bound, {{"y", y}});
  std::int64_t bytes = 0;
  for (const KernelReport& kernel : executable.report().kernels)
    bytes += kernel.bytes_read + kernel.bytes_written;
  const Array from = device->empty(boolean, {bytes / 2});
  const Array to = device->empty(boolean, {bytes / 2});

  const Timer timer(stream);
  const auto run = [&] { context.run(stream, bindings); };
  const auto copy = [&] { device->copy(from, to, stream); };
  timer.time(run);
  timer.time(copy);
  std::vector<double> run_times;
  std::vector<double> copy_times;
  for (auto _ : state) {
    run_times.push_back(timer.time(run));
    copy_times.push_back(timer.time(copy));
    state.SetIterationTime(run_times.back());
  }
  state.counters["gb_per_s"] = static_cast<double>(bytes) * 1e-9 / median(run_times);
  state.counters["of_copy"] = median(copy_times) / median(run_times);
}

void copy(benchmark::State& state) {
  Graph graph("copy");
  graph.output("y", graph.input("x", f32, {kElements}));
  measure(state, graph, {"x"}, {kElements}, {kElements});
}

void add(benchmark::State& state) {
  Graph graph("add");
  const Tensor a = graph.input("a", f32, {kElements});
  graph.output("y", a + graph.input("b", f32, {kElements}));
  measure(state, graph, {"a", "b"}, {kElements}, {kElements});
}

void softmax_of_4096(benchmark::State& state) {
  Graph graph("softmax");
  graph.output("y", softmax(graph.input("x", f32, {kRows, kColumns})));
  measure(state, graph, {"x"}, {kRows, kColumns}, {kRows, kColumns});
}

void full_sum(benchmark::State& state) {
  Graph graph("full_sum");
  graph.output("y", sum(graph.input("x", f32, {kElements})));
  measure(state, graph, {"x"}, {kElements}, {});
}

BENCHMARK(copy)->UseManualTime()->Iterations(kIterations);
BENCHMARK(add)->UseManualTime()->Iterations(kIterations);
BENCHMARK(softmax_of_4096)->UseManualTime()->Iterations(kIterations);
BENCHMARK(full_sum)->UseManualTime()->Iterations(kIterations);

}  // namespace
}  // namespace sinter
