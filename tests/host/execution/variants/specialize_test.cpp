// Options::specialize: sizes that keep coming back get kernels of their own, with the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/driver/host/host_driver.h"
#include "sinter/counters.h"
#include "sinter/sinter.h"

namespace sinter::specialize_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// Each factor gives different kernels.
Graph softmax_of_rows(double factor) {
  Graph graph("softmax");
  const Extent rows = graph.extent("rows");
  const Extent columns = graph.extent("columns");
  graph.output("y", softmax(graph.input("x", f32, {rows, columns}) * factor, -1));
  return graph;
}

class Specialize : public ::testing::Test {
 protected:
  struct Matrix {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    Array x;
  };
  Matrix matrix(std::int64_t rows, std::int64_t columns) const {
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i * 7919 % 1000) / 100;
    const Array x = device.empty(f32, {rows, columns});
    device.upload(x, values, stream);
    return {rows, columns, x};
  }
  std::vector<float> run(Context& context, const Matrix& matrix) const {
    const Outputs outputs = context.run(stream, {{"x", matrix.x}});
    return device.download<float>(outputs[0], stream);
  }
  static bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
  Executable compiled(double factor, Options options = {.tune = Tune::off, .specialize = 3}) const {
    return compile(softmax_of_rows(factor), device, options);
  }

  const Device device = host_device();
  const Stream stream = device.stream();
};

TEST_F(Specialize, SizesThatComeBackGetTheirOwnKernels) {
  const Executable executable = compiled(0.5);
  Context context = executable.context();
  const Matrix small = matrix(5, 100);
  const Matrix other = matrix(6, 100);
  const std::vector<float> before = run(context, small);
  run(context, small);
  run(context, other);
  const std::int64_t plans = counters().plans;
  executable.await_background();
  EXPECT_EQ(counters().plans, plans);
  EXPECT_TRUE(is_same(run(context, small), before));  // the third run with these sizes
  executable.await_background();
  EXPECT_EQ(counters().plans, plans + 1);

  const Report report = executable.report();
  ASSERT_THAT(report.variants, SizeIs(2));
  EXPECT_EQ(report.variants[1].reason, "3 runs of a Context had these sizes");
  EXPECT_THAT(report.variants[0].kernels.at(0).source, HasSubstr("const int columns"));
  EXPECT_THAT(report.variants[1].kernels.at(0).source, Not(HasSubstr("const int columns")));

  EXPECT_TRUE(is_same(run(context, small), before));
  run(context, other);
  run(context, small);
  executable.await_background();
  EXPECT_EQ(counters().plans, plans + 1);
}

TEST_F(Specialize, ReplaysAndOtherContextsUseThem) {
  const Executable executable = compiled(0.25);
  Context context = executable.context();
  const Matrix x = matrix(7, 64);
  const Array y = device.empty(f32, {7, 64});
  const auto replayed = [&] {
    context.replay(stream, {{"x", x.x}}, {{"y", y}});
    return device.download<float>(y, stream);
  };
  const std::vector<float> before = replayed();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_same(replayed(), before));
  executable.await_background();
  EXPECT_THAT(executable.report().variants, SizeIs(2));
  const std::uint64_t graphs = host::calls("cuGraphInstantiateWithFlags");
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_same(replayed(), before));
  EXPECT_EQ(host::calls("cuGraphInstantiateWithFlags"), graphs + 1);
  Context second = executable.context();
  const std::int64_t plans = counters().plans;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_same(run(second, x), before));
  executable.await_background();
  EXPECT_EQ(counters().plans, plans);
}

TEST_F(Specialize, AnExecutableHasAtMostSixteen) {
  const Executable executable = compiled(0.125, {.tune = Tune::off, .specialize = 1});
  Context context = executable.context();
  for (std::int64_t rows = 1; rows <= 18; ++rows) run(context, matrix(rows, 100));
  executable.await_background();
  EXPECT_THAT(executable.report().variants, SizeIs(1 + 16));
}

TEST_F(Specialize, IsOffByDefault) {
  const Executable executable = compiled(0.5, {.tune = Tune::off});
  Context context = executable.context();
  const Matrix x = matrix(3, 50);
  for (int i = 0; i < 200; ++i) run(context, x);
  executable.await_background();
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

TEST_F(Specialize, AFailureLeavesTheKernelsOfTheClass) {
  std::string lines;
  const Executable executable =
      compiled(0.0625, {.tune = Tune::off,
                        .log = [&](std::string_view line) { lines += std::string(line) + "\n"; },
                        .specialize = 2});
  Context context = executable.context();
  const Matrix x = matrix(4, 70);
  const std::vector<float> before = run(context, x);
  host::inject_fault("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  run(context, x);
  executable.await_background();
  const Report report = executable.report();
  ASSERT_THAT(report.variants, SizeIs(1));
  EXPECT_THAT(report.variants[0].background_problem, HasSubstr("cuModuleLoadData failed"));
  EXPECT_THAT(lines, HasSubstr("softmax: the kernels of the size class stay, because specializing "
                               "them in the background failed: cuModuleLoadData failed"));
  EXPECT_TRUE(is_same(run(context, x), before));
}

}  // namespace
}  // namespace sinter::specialize_test
