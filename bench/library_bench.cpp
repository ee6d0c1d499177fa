// Measures matrix products and convolutions in TFLOP/s, as CUDA Graphs on the first GPU, or on the
// host device without one. A multiplication with its addition counts as two operations.
#include "sinter/sinter.h"

#include <functional>
#include <vector>

#include <benchmark/benchmark.h>

namespace sinter {
namespace {

/// The first GPU, or the host device.
const Device& device() {
  static const Device device = default_device();
  return device;
}

constexpr std::int64_t kChannels = 128;  ///< of convolutions

/// Replays `graph`, whose inputs are a and b and whose output is y.
void replay(benchmark::State& state, const Graph& graph, const Array& a, const Array& b,
            const Array& y, double operations) {
  const Stream stream = device().stream();
  for (const Array& array : {a, b})  // small numbers in every dtype, none of them denormal
    device().upload(array, std::vector<std::uint8_t>(array.bytes(), 0x38).data(), stream);
  Context context = compile(graph, device()).context();
  const Bindings bindings = context.bind({{"a", a}, {"b", b}}, {{"y", y}});
  context.replay(stream, bindings);
  stream.synchronize();
  const int replays = device().is_host() ? 1 : 20;
  const Event begin = device().event(), end = device().event();
  for (auto _ : state) {
    begin.record(stream);
    for (int i = 0; i < replays; ++i) context.replay(stream, bindings);
    end.record(stream);
    end.synchronize();
    state.SetIterationTime(static_cast<double>(end.elapsed_since(begin)) * 1e-3 / replays);
  }
  state.counters["tflop_per_s"] =
      benchmark::Counter(operations * 1e-12, benchmark::Counter::kIsIterationInvariantRate);
}

void product(benchmark::State& state, DType dtype, const MatmulOptions& options) {
  const std::int64_t n = state.range(0);
  Graph graph("product");
  const Tensor y =
      matmul(graph.input("a", dtype, {n, n}), graph.input("b", dtype, {n, n}), options);
  graph.output("y", y);
  replay(state, graph, device().empty(dtype, {n, n}), device().empty(dtype, {n, n}),
         device().empty(y.dtype(), {n, n}), 2.0 * static_cast<double>(n * n * n));
}

std::vector<Extent> extents_of(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

/// A convolution of 3 x 3 taps as in residual networks: 32 images of `range` squared pixels, or one
/// on the host device. `record` records it, or a gradient, with operands of these extents.
void convolve(benchmark::State& state, DType dtype, const std::vector<std::int64_t>& a,
              const std::vector<std::int64_t>& b, const std::vector<std::int64_t>& y,
              const std::function<Tensor(const Tensor& a, const Tensor& b)>& record) {
  Graph graph("convolution");
  graph.output(
      "y", record(graph.input("a", dtype, extents_of(a)), graph.input("b", dtype, extents_of(b))));
  const std::int64_t images = device().is_host() ? 1 : 32, size = state.range(0);
  replay(state, graph, device().empty(dtype, a), device().empty(dtype, b), device().empty(dtype, y),
         2.0 * static_cast<double>(images * kChannels * kChannels * 9 * size * size));
}

std::vector<std::int64_t> image_shape(const benchmark::State& state) {
  return {device().is_host() ? 1 : 32, kChannels, state.range(0), state.range(0)};
}
const std::vector<std::int64_t> kFilterShape = {kChannels, kChannels, 3, 3};

void convolution(benchmark::State& state, DType dtype, const ConvOptions& options) {
  const auto image = image_shape(state);
  convolve(state, dtype, image, kFilterShape, image,
           [&](const Tensor& x, const Tensor& w) { return conv(x, w, options); });
}

/// As many filters as the range says: such as fill no blocks of a library, and few.
void filters(benchmark::State& state, DType dtype, const ConvOptions& options) {
  const std::int64_t images = device().is_host() ? 1 : 32, size = 112, channels = 32,
                     count = state.range(0);
  Graph graph("convolution");
  const std::vector<std::int64_t> x = {images, channels, size, size}, w = {count, channels, 3, 3},
                                  y = {images, count, size, size};
  graph.output("y", conv(graph.input("a", dtype, extents_of(x)),
                         graph.input("b", dtype, extents_of(w)), options));
  replay(state, graph, device().empty(dtype, x), device().empty(dtype, w), device().empty(dtype, y),
         2.0 * static_cast<double>(images * channels * count * 9 * size * size));
}

void data_gradient(benchmark::State& state, DType dtype, const ConvOptions& options) {
  const auto image = image_shape(state);
  convolve(state, dtype, image, kFilterShape, image, [&](const Tensor& y, const Tensor& w) {
    return conv_data_gradient(y, w, extents_of(image), options);
  });
}

void weight_gradient(benchmark::State& state, DType dtype, const ConvOptions& options) {
  const auto image = image_shape(state);
  convolve(state, dtype, image, image, kFilterShape, [&](const Tensor& x, const Tensor& y) {
    return conv_weight_gradient(x, y, extents_of(kFilterShape), options);
  });
}

void sizes_of_products(benchmark::internal::Benchmark* benchmark) {
  for (const int n : {256, 1024, 4096})
    if (n < 4096 || !device().is_host()) benchmark->Arg(n);
  benchmark->UseManualTime()->Unit(benchmark::kMicrosecond);
}

void sizes_of_convolutions(benchmark::internal::Benchmark* benchmark) {
  for (const int size : {14, 56}) benchmark->Arg(size);
  benchmark->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(product, f32, f32, {})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(product, tf32, f32, {.allow_tf32 = true})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(product, f64, f64, {})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(product, f16, f16, {})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(product, bf16, bf16, {})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(product, i8, i8, {.transpose_b = true})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(product, f8, f8e4m3, {.transpose_b = true})->Apply(sizes_of_products);
BENCHMARK_CAPTURE(convolution, f32, f32, {.padding_begin = {1, 1}})->Apply(sizes_of_convolutions);
BENCHMARK_CAPTURE(convolution, tf32, f32, {.padding_begin = {1, 1}, .allow_tf32 = true})
    ->Apply(sizes_of_convolutions);
BENCHMARK_CAPTURE(convolution, f16, f16, {.padding_begin = {1, 1}})->Apply(sizes_of_convolutions);
BENCHMARK_CAPTURE(convolution, bf16, bf16, {.padding_begin = {1, 1}})->Apply(sizes_of_convolutions);
BENCHMARK_CAPTURE(filters, f32, f32, {.padding_begin = {1, 1}})
    ->Arg(3)
    ->Arg(24)
    ->Arg(32)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(data_gradient, f32, f32, {.padding_begin = {1, 1}})->Apply(sizes_of_convolutions);
BENCHMARK_CAPTURE(weight_gradient, f32, f32, {.padding_begin = {1, 1}})
    ->Apply(sizes_of_convolutions);

}  // namespace
}  // namespace sinter
