// Wave quantization: the cost of a partial last wave, and the schedules that avoid it.
#include "compiler/target/wave_quantization.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "tests/support/graphs/planned.h"

namespace sinter::wave_quantization_test {
namespace {

using test::planned;

const Target& h200() { return *find_target("h200"); }

TEST(WaveQuantizationTest, AreBlocksPerSmOverResidentBlocks) {
  EXPECT_DOUBLE_EQ(waves({.blocks_per_sm = 7.75, .resident = 5}), 1.55);
  EXPECT_DOUBLE_EQ(waves({.blocks_per_sm = 3, .resident = 8}), 0.375);
}

TEST(WaveQuantizationTest, HalfTheLoadsReachThreeQuartersOfTheBandwidth) {
  const auto all = static_cast<double>(h200().bytes_in_flight);
  EXPECT_DOUBLE_EQ(reached_bandwidth(h200(), all), h200().bandwidth);
  EXPECT_DOUBLE_EQ(reached_bandwidth(h200(), 2 * all), h200().bandwidth);
  EXPECT_DOUBLE_EQ(reached_bandwidth(h200(), all / 2), 0.75 * h200().bandwidth);
}

TEST(WaveQuantizationTest, PartialLastWaveIsSlow) {
  // Six blocks have enough bytes in flight for the full bandwidth. The seventh runs alone with one
  // sixth of them.
  const Grid grid{.blocks_per_sm = 7, .resident = 6, .bytes_in_flight = 8192};
  EXPECT_NEAR(slowdown(h200(), grid), (6 + 36.0 / 11) / 7, 1e-9);
  EXPECT_DOUBLE_EQ(slowdown(h200(), {12, 6, 8192}), 1);
  EXPECT_DOUBLE_EQ(slowdown(h200(), {7, 7, 8192}), 1);
  // One block has enough bytes in flight.
  EXPECT_DOUBLE_EQ(slowdown(h200(), {7, 6, 49152}), 1);
  // Not even the first wave is full.
  EXPECT_NEAR(slowdown(h200(), {3, 6, 8192}), 4.0 / 3, 1e-9);
}

TEST(WaveQuantizationTest, KeepsTheFirstGridUnlessAnotherIsClearlyBetter) {
  const Grid small_last{7, 6, 8192};
  const Grid all_at_once{7, 8, 8192};
  const Grid hardly_better{7, 6, 8500};
  const Grid many{70, 6, 8192};
  EXPECT_EQ(best_in_waves(h200(), std::vector{small_last, hardly_better}), 0U);
  EXPECT_EQ(best_in_waves(h200(), std::vector{small_last, hardly_better, all_at_once}), 2U);
  EXPECT_EQ(best_in_waves(h200(), std::vector{all_at_once, small_last}), 0U);
  EXPECT_EQ(best_in_waves(h200(), std::vector{many, all_at_once}), 0U);
}

Schedule first_schedule(const std::string& text) {
  const Program program = planned(text);
  EXPECT_EQ(program.kernels.size(), 1U);
  return program.kernels.at(0).schedule;
}

TEST(WaveQuantizationTest, PartsOfAFullReductionAreOneWave) {
  const auto threads = [](std::string_view reduction) {
    return first_schedule(
               fmt::format("graph f(x: f32[16777216]) {{\n  y = {} x\n  return y\n}}", reduction))
        .threads;
  };
  // 1,024 parts are 7.8 per SM. A part of a Welford reduction takes more registers.
  EXPECT_EQ(threads("sum"), 256);
  EXPECT_EQ(threads("var"), 128);
}

TEST(WaveQuantizationTest, RowsUseMoreThreadsToAvoidAPartialWave) {
  const auto per_row = [](int rows) {
    return first_schedule(fmt::format("graph f(x: f64[{}, 16384]) {{\n  y = argmax x {{axis = 1}}\n"
                                      "  return y\n}}",
                                      rows))
        .threads_per_row;
  };
  // An SM holds four blocks of 128 threads, so 640 blocks are 1.2 waves.
  EXPECT_EQ(per_row(640), 256);
  EXPECT_EQ(per_row(65536), 128);
}

TEST(WaveQuantizationTest, ThreadsUnrollMoreToAvoidAPartialWave) {
  const auto unroll = [](std::int64_t size) {
    return first_schedule(fmt::format("graph f(x: f32[{}]) {{\n  y = exp x\n  return y\n}}", size))
        .unroll;
  };
  // With vectors of 4, and 8 blocks of 256 threads per SM, about 2^20 elements are one wave.
  EXPECT_EQ(unroll(std::int64_t{2} << 20), 2);
  EXPECT_EQ(unroll((std::int64_t{2} << 20) * 5 / 4), 4);
  EXPECT_EQ(unroll(std::int64_t{64} << 20), 2);
}

TEST(WaveQuantizationTest, BlocksOfShortRowsMoveFourKilobytes) {
  const auto rows_of_block = [](int rows, int columns) {
    return first_schedule(
               fmt::format("graph f(x: f32[{}, {}]) {{\n  y = logsumexp x {{axes = [1]}}\n"
                           "  return y\n}}",
                           rows, columns))
        .rows_per_block;
  };
  EXPECT_EQ(rows_of_block(4096, 33), 32);   // 136 bytes each
  EXPECT_EQ(rows_of_block(65536, 8), 128);  // 36 bytes
  EXPECT_LE(rows_of_block(2048, 33), 16);   // more rows per block would leave SMs idle
  EXPECT_EQ(rows_of_block(65536, 256), 4);  // 1,028 bytes
}

}  // namespace
}  // namespace sinter::wave_quantization_test
