// Graphs through the whole runtime: in every form the same bits, the predicted bytes and launches.
#include "sinter/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "runtime/host_driver/host_driver.h"
#include "runtime/nvrtc_units.h"
#include "sinter/sinter.h"
#include "tests/support/errors.h"
#include "tests/support/run.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using test::run_and_check;

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

TEST(Executable, CompilesAtOnceWhereAllSizesAreKnown) {
  Graph graph("fixed");
  graph.output("y", exp(graph.input("x", f32, {16})));
  const Executable executable = compile(graph, host_device(), {.tune = Tune::off});
  ASSERT_THAT(executable.report().variants, SizeIs(1));
  EXPECT_EQ(executable.report().variants[0].reason, "the first");
  EXPECT_THAT(executable.report().kernels, SizeIs(1));
}

TEST(Executable, ReportsWhatEachKernelIs) {
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

TEST(Executable, ReportsWhatNvrtcMakesOfEachKernel) {
  if (const std::string why_not = why_no_nvrtc(); !why_not.empty()) GTEST_SKIP() << why_not;
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

TEST(Executable, RefusesAnUnknownTarget) {
  Graph graph("g");
  graph.output("y", exp(graph.input("x", f32, {16})));
  EXPECT_THAT(test::error_of([&] { compile(graph, host_device(), {.target = "h300"}); }),
              StartsWith("options.target: there is no GPU h300; known are h200, "));
}

TEST(Executable, PreparesOnlyKnownSizes) {
  Graph graph("g");
  const Extent n = graph.extent("n");
  graph.output("y", exp(graph.input("x", f32, {n})));
  const Executable executable = compile(graph, host_device(), {.tune = Tune::off});
  EXPECT_EQ(test::error_of([&] { executable.prepare({{"m", 4}}); }),
            "prepare g: there is no size m; the sizes are n");
  EXPECT_EQ(test::error_of([&] { executable.prepare({}); }),
            "prepare g: the size n is not given; give it a value");
  EXPECT_EQ(test::error_of([&] { executable.prepare({{"n", -1}}); }),
            "prepare g: the size n is -1; it must not be negative");
  executable.prepare({{"n", 4}});
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

/// y = x * scale + bias[rows], and what a test needs to call it.
class ExecutableCalls : public ::testing::Test {
 protected:
  static Graph graph() {
    Graph graph("affine");
    const Extent n = graph.extent("n");
    const Tensor x = graph.input("x", f32, {n});
    const Tensor scale = graph.scalar("scale", f32);
    graph.output("y", x * scale + 1.0);
    return graph;
  }
  Array upload(const std::vector<float>& values) {
    const Array array = device.empty(f32, {static_cast<std::int64_t>(values.size())});
    device.upload(array, values, stream);
    return array;
  }
  std::vector<float> download(const Array& array) { return device.download<float>(array, stream); }

  Device device = host_device();
  Stream stream = device.stream();
  Executable executable = compile(graph(), device, {.tune = Tune::off});
  Context context = executable.context();
};

TEST_F(ExecutableCalls, MakeOutputsWhereNoneAreBound) {
  const Outputs outputs = context.run(stream, {{"x", upload({1, 2, 3})}, {"scale", 2}});
  EXPECT_EQ(outputs.size(), 1);
  EXPECT_THAT(download(outputs["y"]), ElementsAre(3, 5, 7));
  EXPECT_EQ(outputs[0].pointer(), outputs["y"].pointer());
}

TEST_F(ExecutableCalls, SeeNewScalarsAndArrays) {
  const Array y = device.empty(f32, {2});
  context.run(stream, {{"x", upload({1, 2})}, {"scale", 2.0F}}, {{"y", y}});
  EXPECT_THAT(download(y), ElementsAre(3, 5));
  context.run(stream, {{"scale", 3.0F}, {"x", upload({1, 2})}}, {{"y", y}});
  EXPECT_THAT(download(y), ElementsAre(4, 7));
  const Array z = device.empty(f32, {2});
  context.run(stream, {{"x", upload({5, 6})}, {"scale", 3.0F}}, {{"y", z}});
  EXPECT_THAT(download(z), ElementsAre(16, 19));
  EXPECT_THAT(download(y), ElementsAre(4, 7));
}

TEST_F(ExecutableCalls, RepeatPreparedBindings) {
  const Array y = device.empty(f32, {2});
  Bindings bindings = context.bind({{"x", upload({1, 2})}, {"scale", 2.0F}}, {{"y", y}});
  context.run(stream, bindings);
  EXPECT_THAT(download(y), ElementsAre(3, 5));
  bindings.set("scale", 4.0F);
  context.run(stream, bindings);
  EXPECT_THAT(download(y), ElementsAre(5, 9));
  bindings.set("x", upload({0, 1}));
  Context other = executable.context();
  other.replay(stream, bindings);
  EXPECT_THAT(download(y), ElementsAre(1, 5));
}

TEST_F(ExecutableCalls, ShareAVariantAmongSizesOfOneClass) {
  EXPECT_THAT(executable.report().variants, IsEmpty());
  (void)context.run(stream, {{"x", upload(std::vector<float>(64))}, {"scale", 2.0F}});
  (void)context.run(stream, {{"x", upload(std::vector<float>(128))}, {"scale", 2.0F}});
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

TEST_F(ExecutableCalls, PlanAVariantForWhatTheFirstCannotServe) {
  Graph biased("biased");
  const Extent columns = biased.extent("columns");
  biased.output("y", biased.input("x", f32, {2, columns}) + biased.input("bias", f32, {columns}));
  const Executable two = compile(biased, device, {.tune = Tune::off});
  Context two_context = two.context();
  const auto run = [&](std::int64_t size) {
    const std::vector<float> ones(static_cast<std::size_t>(size), 1);
    const Array x = device.empty(f32, {2, size});
    device.upload(x, std::vector<float>(ones.size() * 2, 2), stream);
    const Outputs outputs = two_context.run(stream, {{"x", x}, {"bias", upload(ones)}});
    EXPECT_THAT(download(outputs["y"]), Each(3));
  };
  run(64);  // in vectors of four
  run(63);  // in single elements, since rows start anywhere
  run(128);
  const Report report = two.report();
  ASSERT_THAT(report.variants, SizeIs(2));
  EXPECT_EQ(report.variants[0].reason, "the first");
  EXPECT_THAT(report.variants[1].reason, HasSubstr("columns"));
  EXPECT_THAT(report.variants[1].sizes, ElementsAre("columns = 63"));
}

TEST_F(ExecutableCalls, PlanAVariantForLessAlignedPointers) {
  const Array memory = upload({9, 1, 2, 3, 4});
  (void)context.run(stream, {{"x", memory.view(0, f32, {4})}, {"scale", 2.0F}});
  const Outputs outputs = context.run(stream, {{"x", memory.view(4, f32, {4})}, {"scale", 2.0F}});
  EXPECT_THAT(download(outputs["y"]), ElementsAre(3, 5, 7, 9));
  ASSERT_THAT(executable.report().variants, SizeIs(2));
  EXPECT_EQ(executable.report().variants[1].reason,
            "a pointer is a multiple of 4 bytes, not of 16");
  EXPECT_EQ(executable.report().variants[1].alignment, 4);
}

TEST_F(ExecutableCalls, WorkInManyThreadsWithAContextEach) {
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] {
      const Stream own = device.stream();
      Context own_context = executable.context();
      const Array x = device.empty(f32, {64});
      device.upload(x, std::vector<float>(64, static_cast<float>(i)), own);
      const Array y = device.empty(f32, {64});
      for (int k = 0; k < 20; ++k)
        own_context.run(own, {{"x", x}, {"scale", static_cast<float>(k)}}, {{"y", y}});
      results[i] = device.download<float>(y, own);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_THAT(results[i], Each(static_cast<float>(i) * 19 + 1));
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

TEST(ExecutableContext, RefusesASecondUserAtOnce) {
  // The log is written in the middle of a call: a good moment to call again.
  Context* context = nullptr;
  std::string error;
  const Device device = host_device();
  const Stream stream = device.stream();
  const Array x = device.empty(f32, {8});
  const Array y = device.empty(f32, {8});
  Graph graph("g");
  const Extent n = graph.extent("n");
  graph.output("y", exp(graph.input("x", f32, {n})));
  Options options{.tune = Tune::off};
  options.log = [&](std::string_view) {
    error = test::error_of([&] { context->run(stream, {{"x", x}}, {{"y", y}}); });
  };
  const Executable executable = compile(graph, device, options, "model.cpp", 5);
  Context own = executable.context();
  context = &own;
  own.run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_EQ(error,
            "g: another thread is in this Context; make one Context per thread (compiled at "
            "model.cpp:5)");
}

}  // namespace
}  // namespace sinter
