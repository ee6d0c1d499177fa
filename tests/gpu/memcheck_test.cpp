// Small runs of one kernel of each kind, with masked tails. bench/gpu.sh runs them under
// compute-sanitizer.
#include "compiler/target/target.h"
#include "sinter/error.h"
#include "tests/support/run/run.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::memcheck_test {
namespace {

using testing::HasSubstr;

class Memcheck : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = cuda_device();
    } catch (const DriverError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Returns the only kernel.
  KernelReport check(std::string_view text, std::vector<Size> sizes) const {
    const Report report =
        test::run_and_check_on(*device_, parse(text), std::move(sizes), {.misaligned = true})
            .report;
    EXPECT_EQ(report.kernels.size(), 1U);
    return report.kernels.empty() ? KernelReport() : report.kernels[0];
  }
  bool has_clusters() const { return compute_capability_of(device_->arch()) >= 90; }

 private:
  std::optional<Device> device_;
};

TEST_F(Memcheck, Pointwise) {
  check(R"(
graph bias_relu(x: f32[rows, columns], bias: f32[columns]) {
  sum = add x, bias
  y   = maximum sum, 0.0
  return y
})",
        {{"rows", 37}, {"columns", 19}});
}

TEST_F(Memcheck, RowReduce) {
  check(R"(
graph softmax(x: f32[rows, columns]) {
  y = softmax x {axis = -1}
  return y
})",
        {{"rows", 13}, {"columns", 1003}});
}

// Loops over the parts of a row are not unrolled, so the states of parts wait in shared memory. The
// states of an argmax have padding.
TEST_F(Memcheck, RowsOfManyParts) {
  check(R"(
graph place_of_maximum(x: f32[rows, 65536]) {
  y = argmax x {axis = 1}
  return y
})",
        {{"rows", 9}});
}

TEST_F(Memcheck, ColumnReduce) {
  check(R"(
graph column_sum(x: f32[rows, columns]) {
  y = sum x {axes = [0]}
  return y
})",
        {{"rows", 301}, {"columns", 45}});
}

TEST_F(Memcheck, FullReduce) {
  check(R"(
graph full_sum(x: f32[size]) {
  y = sum x
  return y
})",
        {{"size", 100003}});
}

/// Rows are split among blocks, which find the sum of earlier blocks by decoupled look-back.
TEST_F(Memcheck, Scan) {
  const KernelReport kernel = check(R"(
graph scan(x: f32[rows, columns]) {
  y = cumsum x {axis = -1}
  return y
})",
                                    {{"rows", 2}, {"columns", 5003}});
  EXPECT_EQ(kernel.kind, "scan");
  EXPECT_THAT(kernel.schedule, HasSubstr("split"));
}

/// One launch whose phases are separated by barriers of the grid.
TEST_F(Memcheck, Cooperative) {
  const KernelReport kernel = check(R"(
graph shares(x: f32[size]) {
  s = sum x
  y = div x, s
  return y
})",
                                    {{"size", 1000003}});
  EXPECT_THAT(kernel.source, HasSubstr("grid_barrier"));
}

/// Blocks of a cluster share rows through their shared memory.
TEST_F(Memcheck, Cluster) {
  const KernelReport kernel = check(R"(
graph cluster_softmax(x: f32[2, 65533]) {
  y = softmax x {axis = -1}
  return y
})",
                                    {});
  if (has_clusters()) {
    EXPECT_GT(kernel.cluster, 1) << kernel.schedule;
  }
}

TEST_F(Memcheck, Gather) {
  check(R"(
graph pick(x: f32[rows, columns], at: i64[picks]) {
  y = take x, at {axis = 0}
  return y
})",
        {{"rows", 11}, {"columns", 5}, {"picks", 29}});
}

TEST_F(Memcheck, Update) {
  check(R"(
graph decay(x: f32[size], g: f32[size]) {
  step = mul g, 0.1
  new = sub x, step
  update x, new
})",
        {{"size", 1001}});
}

}  // namespace
}  // namespace sinter::memcheck_test
