// The tests of tests/host that need no access counting, on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sinter/sinter.h"
#include "tests/support/run/run.h"

namespace sinter::executable_gpu_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
  void check(std::string_view text, std::vector<Size> sizes) {
    test::run_and_check_on(default_device(), parse(text), std::move(sizes), {.misaligned = true});
  }
};

TEST_F(Gpu, RunsPointwise) {
  check(R"(
graph bias_gelu(x: bf16[rows, columns], bias: bf16[columns]) {
  sum = add x, bias
  y   = gelu sum
  return y
})",
        {{"rows", 301}, {"columns", 1000}});
}

TEST_F(Gpu, RunsSoftmax) {
  // An interpreter of PTX takes long for many rows.
  const std::int64_t rows = default_device().name().starts_with("virtual GPU") ? 5 : 64;
  for (const std::int64_t columns : {7, 128, 4096, 50257})
    check(R"(
graph softmax(x: f32[rows, columns]) {
  y = softmax x {axis = 1}
  return y
})",
          {{"rows", rows}, {"columns", columns}});
}

TEST_F(Gpu, RunsColumnAndFullReductions) {
  check(R"(
graph sums(x: f32[rows, 384]) {
  columns = sum x {axes = [0]}
  total   = sum x
  largest = max x
  return columns, total, largest
})",
        {{"rows", 5001}});
}

TEST_F(Gpu, UpdatesInPlace) {
  check(R"(
graph step(p: f32[n], g: f32[n], lr: f32) {
  scaled = mul g, lr
  new    = sub p, scaled
  update p, new
})",
        {{"n", 1 << 17}});
}

TEST_F(Gpu, TuningKeepsTheBits) {
  Graph graph("rms");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, 2048});
  graph.output("y", x * rsqrt(mean(x * x, {-1}, keep) + 1e-6));
  const Device device = default_device();
  const Stream stream = device.stream();
  // An interpreter of PTX takes long for the many launches of tuning.
  const std::int64_t rows_here = device.name().starts_with("virtual GPU") ? 4 : 512;
  std::vector<float> values(static_cast<std::size_t>(rows_here * 2048));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i % 1013)) / 500.0F - 1.0F;
  const Array array = device.empty(f32, {rows_here, 2048});
  device.upload(array, values, stream);
  const auto run = [&](Tune tune) {
    const Executable executable = compile(graph, device, {.tune = tune});
    Context context = executable.context();
    const Outputs outputs = context.run(stream, {{"x", array}});
    for (const KernelReport& kernel : executable.report().kernels) {
      EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
      for (const CandidateReport& candidate : kernel.candidates)
        EXPECT_FALSE(candidate.differs) << candidate.schedule << ": " << candidate.problem;
    }
    return device.download<float>(outputs["y"], stream);
  };
  EXPECT_EQ(run(Tune::off), run(Tune::quick));
}

TEST_F(Gpu, OverlapsCopiesAndKernelsOnTwoStreams) {
  Graph graph("accumulate");
  const Extent n = graph.extent("n");
  const Tensor total = graph.input("total", f32, {n});
  graph.update(total, total + graph.input("x", f32, {n}));
  const Device device = default_device();
  const Executable executable = compile(graph, device, {.tune = Tune::off});
  Context context = executable.context();
  const Stream compute = device.stream();
  const Stream copies = device.stream();
  const std::int64_t size = 1 << 20;
  const Array sum = device.empty(f32, {size});
  device.upload(sum, std::vector<float>(static_cast<std::size_t>(size), 0), compute);
  std::vector<PinnedArray> pinned;
  std::vector<Array> batches;
  std::vector<Event> copied;
  std::vector<Event> used;
  for (int i = 0; i < 2; ++i) {
    pinned.push_back(device.pinned(f32, {size}));
    batches.push_back(device.empty(f32, {size}));
    copied.push_back(device.event());
    used.push_back(device.event());
  }
  for (std::size_t step = 0; step < 10; ++step) {
    const std::size_t i = step % 2;
    copied[i].synchronize();  // the pinned memory can be reused
    for (float& value : pinned[i].elements_as<float>()) value = static_cast<float>(step);
    copies.wait(used[i]);
    device.upload(batches[i], pinned[i], copies);
    copied[i].record(copies);
    compute.wait(copied[i]);
    context.replay(compute, {{"total", sum}, {"x", batches[i]}}, {});
    used[i].record(compute);
  }
  EXPECT_THAT(device.download<float>(sum, compute), Each(45));
}

}  // namespace
}  // namespace sinter::executable_gpu_test
