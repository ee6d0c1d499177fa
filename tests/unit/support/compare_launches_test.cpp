// Tests that launches are compared with predictions one by one, in order.
#include "tests/support/run/compare_launches.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::test::compare_launches_test {
namespace {

KernelReport predicted(std::string name, std::int64_t read, std::int64_t written) {
  return {.name = std::move(name), .launches = 1, .bytes_read = read, .bytes_written = written};
}

host::Launch counted(std::string name, std::uint64_t read, std::uint64_t written) {
  return {.kernel = std::move(name), .bytes_read = read, .bytes_written = written};
}

bool holds(std::vector<KernelReport> kernels, std::vector<host::Launch> launches) {
  Report report;
  report.kernels = std::move(kernels);
  return as_predicted(report, launches);
}

TEST(CompareLaunchesTest, NamesMayDifferInAllButTheCode) {
  EXPECT_TRUE(holds({predicted("a_0_c1", 8, 4)}, {counted("b_7_c1", 8, 4)}));
  EXPECT_FALSE(holds({predicted("a_0_c1", 8, 4)}, {counted("a_0_c2", 8, 4)}));
}

/// Two kernels of one code, each of which moved what was predicted of the other.
TEST(CompareLaunchesTest, KernelsOfOneCodeAreNotMixedUp) {
  const std::vector<KernelReport> kernels = {predicted("a_c1", 8, 4), predicted("b_c1", 16, 8)};
  EXPECT_TRUE(holds(kernels, {counted("a_c1", 8, 4), counted("a_c1", 16, 8)}));
  EXPECT_FALSE(holds(kernels, {counted("a_c1", 16, 8), counted("a_c1", 8, 4)}));
}

TEST(CompareLaunchesTest, BoundsAreOfTheirOwnKernel) {
  std::vector<KernelReport> kernels = {predicted("a_c1", 8, 4), predicted("b_c1", 16, 8)};
  for (KernelReport& kernel : kernels) kernel.bytes_are_bounds = true;
  EXPECT_TRUE(holds(kernels, {counted("a_c1", 6, 4), counted("a_c1", 16, 8)}));
  EXPECT_FALSE(holds(kernels, {counted("a_c1", 9, 4), counted("a_c1", 7, 8)}));
  EXPECT_FALSE(holds(kernels, {counted("a_c1", 8, 3), counted("a_c1", 16, 8)}))
      << "what is written is no bound";
  for (KernelReport& kernel : kernels) kernel.writes_are_bounds = true;
  EXPECT_TRUE(holds(kernels, {counted("a_c1", 8, 3), counted("a_c1", 16, 8)}));
}

TEST(CompareLaunchesTest, FewerBlocksThanPlannedMoveMore) {
  std::vector<KernelReport> kernels = {predicted("a_c1", 8, 4)};
  kernels[0].planned_blocks = 3;
  host::Launch launch = counted("a_c1", 10, 4);
  launch.grid[0] = 2;
  EXPECT_TRUE(holds(kernels, {launch}));
  launch.bytes_read = 7;
  EXPECT_FALSE(holds(kernels, {launch}));
  launch.bytes_read = 10;
  launch.grid[0] = 3;
  EXPECT_FALSE(holds(kernels, {launch}));
}

TEST(CompareLaunchesTest, EveryLaunchIsPredictedAndCounted) {
  std::vector<KernelReport> kernels = {predicted("a_c1", 8, 4)};
  EXPECT_FALSE(holds(kernels, {}));
  EXPECT_FALSE(holds(kernels, {counted("a_c1", 8, 4), counted("a_c1", 8, 4)}));
  kernels[0].launches = 2;
  EXPECT_TRUE(holds(kernels, {counted("a_c1", 8, 4), counted("a_c1", 8, 4)}));
  kernels[0].launches = 0;
  EXPECT_TRUE(holds(kernels, {}));
}

}  // namespace
}  // namespace sinter::test::compare_launches_test
