// Kernels of a replayed CUDA Graph read what the kernels before them have written, in thousands of
// launches. From CUDA 12.3 on they start early, behind programmatic edges.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::test::early_edges_gpu_test {
namespace {

/// Without fusion: a chain of kernels with branches.
constexpr const char* kChain = R"(
graph chain(x: f32[n], value: f32) {
  a = add x, value
  b = mul a, a
  c = sub b, a
  d = mul c, 0.5
  e = add d, b
  f = sub e, x
  return f
})";

/// The element of the result if all elements of x are 0.
float chain(float value) {
  const float b = value * value;
  return (b - value) * 0.5F + b;
}

TEST(EarlyEdgesGpu, ReplaysReadWhatTheKernelsBeforeThemWrite) {
  const Device device = default_device();
  if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
  const bool is_virtual = device.name().starts_with("virtual GPU");
  const std::int64_t elements = is_virtual ? 4096 : 1 << 20;
  const int rounds = is_virtual ? 2 : 50;
  constexpr int kReplays = 20;  // between two checks
  const Stream stream = device.stream();
  Context context = compile(parse(kChain), device, {.tune = Tune::off, .fuse = false}).context();
  const Array x = device.empty(f32, {elements});
  device.upload(x, std::vector<float>(static_cast<std::size_t>(elements), 0.0F), stream);
  std::vector<Array> results;
  for (int i = 0; i < kReplays; ++i) results.push_back(device.empty(f32, {elements}));
  for (int round = 0; round < rounds; ++round) {
    const auto value_of = [&](int i) { return static_cast<float>((round * 7 + i) % 64); };
    for (int i = 0; i < kReplays; ++i)
      context.replay(stream, {{"x", x}, {"value", value_of(i)}},
                     {{"f", results[static_cast<std::size_t>(i)]}});
    for (int i = 0; i < kReplays; ++i) {
      const std::vector<float> expected(static_cast<std::size_t>(elements), chain(value_of(i)));
      ASSERT_EQ(device.download<float>(results[static_cast<std::size_t>(i)], stream), expected)
          << "replay " << i << " of round " << round;
    }
  }
  EXPECT_EQ(context.counters().graph_builds, 1);
}

}  // namespace
}  // namespace sinter::test::early_edges_gpu_test
