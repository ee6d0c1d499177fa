// Resident tiles that blocks keep across phases: results within the oracle's bounds, and the same
// bits as the unfused graph and every other schedule. Tests run with and without rounds, and with
// more tiles than fit at once.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <tuple>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/graphs/resident_tile_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::test::resident_tiles_host_test {
namespace {

/// A device that can hold the resident tiles of some channels, and on which they pay off.
class SlowMemory {
 protected:
  SlowMemory() : device_(host::host_driver(), 0) {
    device_.target.sm_count = 12;  // can hold the resident tiles of 32 channels
    // The memory is so slow that saved reads outweigh grid barriers, and few threads saturate it.
    device_.target.bandwidth = 1e11;
    device_.target.bytes_in_flight = 1 << 10;
    device_.target.barrier_seconds = 1e-8;
    device_.target.tile_copy_seconds = 1e-8;
    device_.target.tile_speedup = 100;
  }

  /// Expects one launch with resident tiles, whose schedule contains `what`.
  void run(const std::string& text, const std::string& what) {
    const RunResult result = run_and_check_on(Device(&device_), parse(text), {}, {.replay = false});
    ASSERT_EQ(result.report.kernels.size(), 1U);
    const KernelReport& kernel = result.report.kernels[0];
    EXPECT_TRUE(kernel.schedule.find(" channel") != std::string::npos ||
                kernel.schedule.find(" unit") != std::string::npos)
        << kernel.schedule;
    EXPECT_NE(kernel.schedule.find(what), std::string::npos) << kernel.schedule;
  }

  DeviceState device_;
};

/// Runs with few workers, so that most blocks have more resident tiles than fit at once, and with
/// as many workers as blocks.
class ResidentTiles : public testing::TestWithParam<int>, protected SlowMemory {
 protected:
  ResidentTiles() { host::configure({.workers = GetParam()}); }
  ~ResidentTiles() override { host::configure({}); }
};

TEST_P(ResidentTiles, NeighbouringChannelsInRounds) {
  run(batch_norm_backward(257, 64, 64, true), "2 rounds");
}

TEST_P(ResidentTiles, LastRoundIsShorter) {
  run(batch_norm_backward(257, 48, 64, true), "2 rounds");
}

TEST_P(ResidentTiles, NeighbouringRows) { run(batch_norm_backward(266, 5, 64, false), "1 round"); }

TEST_P(ResidentTiles, SomeStay) { run(batch_norm_backward(1400, 16, 64, true), "in all, 1 round"); }

TEST_P(ResidentTiles, SomeOfEachRoundStay) {
  run(batch_norm_backward(700, 32, 64, true), "in all, 2 rounds");
}

TEST_P(ResidentTiles, ValuesThatASectionWritesStay) {
  run(masked_batch_norm_backward(257, 32, 64), "in all, 1 round");
}

TEST_P(ResidentTiles, SomeValuesThatASectionWritesStay) {
  run(masked_batch_norm_backward(701, 32, 64), "in all, 2 rounds");
}

TEST_P(ResidentTiles, UnitsOfArraysOfDifferentShapes) { run(centred_widths(401, 8, 49), " unit"); }

/// Arrays that an earlier phase of the launch writes. Most blocks have more resident tiles than fit
/// at once.
class WrittenResidentTiles : public ResidentTiles {};

TEST_P(WrittenResidentTiles, FromAnEarlierPhase) {
  run(batch_norm_backward_of_sum(257, 32, 64), "1 round");
}

TEST_P(WrittenResidentTiles, FromAnEarlierPhaseInRounds) {
  run(batch_norm_backward_of_sum(257, 64, 64), "rounds");
}

INSTANTIATE_TEST_SUITE_P(Workers, ResidentTiles, testing::Values(3, 40));
INSTANTIATE_TEST_SUITE_P(Workers, WrittenResidentTiles, testing::Values(3));

/// The maximum of each channel and its consumers, over odd and prime extents, for every kind of
/// accumulator. A sum over each channel shares the reduction.
class ResidentTilesOf : public testing::TestWithParam<const char*>, protected SlowMemory {};

TEST_P(ResidentTilesOf, EveryDType) {
  run(fmt::format(R"(
graph centred(x: {0}[61, 6, 271]) {{
  h = max x {{axes = [0, 2], keep = true}}
  s = sum x {{axes = [0, 2], keep = true}}
  t = cast s {{to = {0}}}
  a = sub x, h
  y = add a, t
  return y, s
}})",
                  GetParam()),
      "1 round");
}

INSTANTIATE_TEST_SUITE_P(DTypes, ResidentTilesOf,
                         testing::Values("f16", "bf16", "f32", "f64", "i32"));

/// Resident tiles across all images: channel statistics are taken over the whole tile, averages
/// image by image.
class ResidentTilesOfSegments : public testing::TestWithParam<std::tuple<const char*, bool, int>>,
                                protected SlowMemory {};

TEST_P(ResidentTilesOfSegments, AreReadOnce) {
  const auto& [dtype, has_channels_last, images] = GetParam();
  run(pooled_batch_norm(dtype, images, 64, 49, has_channels_last), "strips of");
}

INSTANTIATE_TEST_SUITE_P(DTypes, ResidentTilesOfSegments,
                         testing::Combine(testing::Values("f16", "f64"), testing::Bool(),
                                          testing::Values(64)));
INSTANTIATE_TEST_SUITE_P(OddImages, ResidentTilesOfSegments,
                         testing::Combine(testing::Values("bf16", "f32"), testing::Bool(),
                                          testing::Values(61)));

/// With the default host device, which also counts bytes.
TEST(ResidentTilesOfTheHost, AreReadOnce) {
  const RunResult result =
      run_and_check(batch_norm_backward(257, 32, 64, true), {}, {.replay = false});
  ASSERT_EQ(result.report.kernels.size(), 1U);
  const KernelReport& kernel = result.report.kernels[0];
  EXPECT_NE(kernel.schedule.find(" channel"), std::string::npos) << kernel.schedule;
  EXPECT_LE(kernel.bytes_read + kernel.bytes_written, 1.2 * double(kernel.minimal_bytes));
}

}  // namespace
}  // namespace sinter::test::resident_tiles_host_test
