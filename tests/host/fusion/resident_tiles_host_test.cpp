// ResidentTiles that blocks keep from phase to phase: the oracle's bounds, and the bits of the
// unfused graph and of every other schedule, with rounds and without, whether or not all resident
// tiles find a place.
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

/// A device with place for the resident tiles of some channels, where these pay.
class SlowMemory {
 protected:
  SlowMemory() : device_(host::host_driver(), 0) {
    device_.target.sm_count = 12;  // has place for the resident tiles of 32 channels
    // So slow a memory is worth some barriers, and needs few threads.
    device_.target.bandwidth = 1e11;
    device_.target.bytes_in_flight = 1 << 10;
  }

  /// Expects one launch with resident tiles, whose schedule says `what`.
  void run(const std::string& text, const std::string& what) {
    const RunResult result = run_and_check_on(Device(&device_), parse(text), {}, {.replay = false});
    ASSERT_EQ(result.report.kernels.size(), 1U);
    const KernelReport& kernel = result.report.kernels[0];
    EXPECT_NE(kernel.schedule.find(" channel"), std::string::npos) << kernel.schedule;
    EXPECT_NE(kernel.schedule.find(what), std::string::npos) << kernel.schedule;
  }

  DeviceState device_;
};

/// Few workers, so that most blocks have more resident tiles than places; and as many as there are
/// blocks.
class ResidentTiles : public testing::TestWithParam<int>, protected SlowMemory {
 protected:
  ResidentTiles() { host::configure({.workers = GetParam()}); }
  ~ResidentTiles() override { host::configure({}); }
};

TEST_P(ResidentTiles, OfNeighbouringChannelsInRounds) {
  run(batch_norm_backward(257, 64, 64, true), "2 rounds");
}

TEST_P(ResidentTiles, InRoundsOfWhichOneIsShorter) {
  run(batch_norm_backward(257, 48, 64, true), "2 rounds");
}

TEST_P(ResidentTiles, OfNeighbouringRows) {
  run(batch_norm_backward(266, 5, 64, false), "1 round");
}

/// Arrays that the launch itself writes; most blocks have more resident tiles than places.
class WrittenResidentTiles : public ResidentTiles {};

TEST_P(WrittenResidentTiles, OfAnEarlierPhase) {
  run(batch_norm_backward_of_sum(257, 32, 64), "1 round");
}

TEST_P(WrittenResidentTiles, OfAnEarlierPhaseInRounds) {
  run(batch_norm_backward_of_sum(257, 64, 64), "rounds");
}

INSTANTIATE_TEST_SUITE_P(Workers, ResidentTiles, testing::Values(3, 40));
INSTANTIATE_TEST_SUITE_P(Workers, WrittenResidentTiles, testing::Values(3));

/// The largest of each channel and what is made of it, over odd and prime extents, of every kind of
/// accumulator; the sum of a whole image goes along.
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

/// ResidentTiles with all images: what the statistics are taken of at once is averaged image by
/// image.
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

/// On the host device as it is: bytes are counted too.
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
