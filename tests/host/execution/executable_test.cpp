// Graphs through the whole runtime: all execution modes give the same bits, predicted bytes and
// launches.
#include "sinter/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/compile/nvrtc_units.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::executable_test {
namespace {

using test::run_and_check;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Executable, RunsPointwise) {
  run_and_check(R"(
graph bias_relu(x: f32[rows, columns], bias: f32[columns]) {
  sum = add x, bias
  y   = maximum sum, 0.0
  return y
})",
                {{"rows", 37}, {"columns", 20}}, {.misaligned = true});
}

TEST(Executable, RunsRowReductionsWithAnEpilogue) {
  run_and_check(R"(
graph rms_norm(x: bf16[rows, 96], weight: bf16[96]) {
  h  = cast x {to = f32}
  sq = mul h, h
  ms = mean sq {axes = [-1], keep = true}
  e  = add ms, 1e-6
  r  = rsqrt e
  n  = mul h, r
  w  = cast weight {to = f32}
  s  = mul n, w
  y  = cast s {to = bf16}
  return y
})",
                {{"rows", 7}}, {.misaligned = true});
}

TEST(Executable, RunsColumnReductions) {
  run_and_check(R"(
graph columns(x: f32[rows, 40]) {
  total   = sum x {axes = [0]}
  largest = max x {axes = [0]}
  return total, largest
})",
                {{"rows", 65}});
}

TEST(Executable, RunsAFullReduction) {
  run_and_check(R"(
graph total(x: f32[n]) {
  y = sum x
  return y
})",
                {{"n", 70001}});
}

TEST(Executable, UpdatesInPlaceAfterAllReads) {
  run_and_check(R"(
graph step(p: f32[n, 8], g: f32[n, 8], lr: f32) {
  scaled = mul g, lr
  new    = sub p, scaled
  before = sum p {axes = [1]}
  update p, new
  return before
})",
                {{"n", 9}});
}

TEST(Executable, TakesStridedInputs) {
  run_and_check(R"(
graph strided(x: f32[rows, 5] {strides = [8, 1]}, t: f32[6, rows] {strides = [1, 6]}) {
  y = sum x {axes = [1]}
  z = sum t {axes = [0]}
  s = add y, z
  return s
})",
                {{"rows", 11}});
}

TEST(Executable, RunsZeroSizes) {
  const test::RunResult result = run_and_check(R"(
graph nothing(x: f32[rows, 4]) {
  y = exp x
  t = sum x {axes = [0]}
  return y, t
})",
                                               {{"rows", 0}});
  EXPECT_EQ(result.results.at("y").size(), 0);
  EXPECT_EQ(result.results.at("t").real(std::vector<std::int64_t>{3}), 0.0);
}

TEST(Executable, RunsNonFiniteConstants) {
  run_and_check(R"(
graph masked(x: f32[n], keep: bool[n]) {
  m = where keep, x, -inf
  q = where keep, x, nan
  y = max m
  return y, q
})",
                {{"n", 33}});
}

TEST(Executable, CompilesAtOnceIfAllSizesAreKnown) {
  Graph graph("fixed");
  graph.output("y", exp(graph.input("x", f32, {16})));
  const Executable executable = compile(graph, host_device(), {.tune = Tune::off});
  ASSERT_THAT(executable.report().variants, SizeIs(1));
  EXPECT_EQ(executable.report().variants[0].reason, "the first");
  EXPECT_THAT(executable.report().kernels, SizeIs(1));
}

TEST(Executable, ReportsKernels) {
  const test::RunResult result = run_and_check(R"(
graph bias_relu(x: f32[64, 32], bias: f32[32]) {
  sum = add x, bias
  y   = maximum sum, 0.0
  return y
})");
  ASSERT_THAT(result.report.kernels, SizeIs(1));
  const KernelReport& kernel = result.report.kernels[0];
  EXPECT_THAT(kernel.name, StartsWith("bias_relu_"));
  EXPECT_EQ(kernel.kind, "pointwise");
  EXPECT_THAT(kernel.nodes, ElementsAre("sum = add x, bias", "y = maximum sum, 0.0"));
  EXPECT_THAT(kernel.places, Each(StartsWith("text:")));
  EXPECT_THAT(kernel.source, HasSubstr("extern \"C\" __global__"));
  EXPECT_EQ(kernel.launches, 1);
  EXPECT_EQ(kernel.bytes_read + kernel.bytes_written, 64 * 32 * 8 + 32 * 4);
  EXPECT_EQ(kernel.minimal_bytes, 64 * 32 * 8 + 32 * 4);
  EXPECT_EQ(kernel.vector_bytes, 16);
  EXPECT_EQ(result.report.recorded_ops, 2);
}

TEST(Executable, ReportsNvrtcResults) {
  if (const std::string reason = nvrtc_problem(); !reason.empty()) GTEST_SKIP() << reason;
  Graph graph("normal");
  const Tensor x = graph.input("x", f32, {64, 256});
  graph.output("y", x * rsqrt(mean(x * x, {-1}, keep) + 1e-6));
  const Executable executable = compile(graph, host_device(), {.also_nvrtc = true});
  for (const KernelReport& kernel : executable.report().kernels) {
    EXPECT_EQ(kernel.cubin.arch, "sm_90");
    EXPECT_GT(kernel.registers, 0);
    EXPECT_EQ(kernel.registers, kernel.cubin.registers);
    EXPECT_EQ(kernel.spill_bytes, 0);
    EXPECT_GT(kernel.cubin.instructions, 0);
    EXPECT_GT(kernel.compile_ms, 0);
  }
}

TEST(Executable, RejectsAnUnknownTarget) {
  Graph graph("g");
  graph.output("y", exp(graph.input("x", f32, {16})));
  EXPECT_THAT(test::error_of([&] { compile(graph, host_device(), {.target = "h300"}); }),
              StartsWith("options.target: there is no GPU h300; known are sm_90, h200, "));
}

TEST(Executable, PreparesOnlyKnownSizes) {
  Graph graph("g");
  const Extent n = graph.extent("n");
  graph.output("y", exp(graph.input("x", f32, {n})));
  const Executable executable = compile(graph, host_device(), {.tune = Tune::off});
  EXPECT_EQ(test::error_of([&] {
              executable.prepare({{"m", 4}});
            }),
            "prepare g: there is no size m; the sizes are n");
  EXPECT_EQ(test::error_of([&] { executable.prepare({}); }),
            "prepare g: the size n is not given; give it a value");
  EXPECT_EQ(test::error_of([&] {
              executable.prepare({{"n", -1}});
            }),
            "prepare g: the size n is -1; it must not be negative");
  executable.prepare({{"n", 4}});
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

}  // namespace
}  // namespace sinter::executable_test
