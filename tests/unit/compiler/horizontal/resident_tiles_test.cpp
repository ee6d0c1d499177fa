// ResidentTiles: operands that a horizontally fused kernel keeps in shared memory between its
// phases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "compiler/body_building/build_body.h"
#include "compiler/horizontal/resident_tiles.h"
#include "compiler/plan.h"
#include "sinter/text.h"
#include "tests/support/graphs/resident_tile_graphs.h"

namespace sinter::resident_tiles_test {
namespace {

using test::batch_norm_backward;
using test::batch_norm_backward_of_sum;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Program planned(const std::string& text, const Target& target = *find_target("h200")) {
  return plan(parse(text), target, {.symbols = {}});
}

Source emitted(const Program& program) {
  const Kernel& kernel = program.kernels.at(0);
  return emit(program, kernel, kernel.schedule, kernel.name);
}

TEST(ResidentTilesTest, OperandsOfTwoPhasesAreReadOnce) {
  const Program program = planned(batch_norm_backward(512, 64, 49, true));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Schedule& schedule = program.kernels[0].schedule;
  ASSERT_TRUE(schedule.resident_tiles) << to_string(schedule);
  EXPECT_EQ(schedule.resident_tiles.rounds, 1);  // 6.4 MB fit in the shared memory of all SMs
  const Source source = emitted(program);
  constexpr std::int64_t kElements = 512 * 64 * 49;
  const std::int64_t read = evaluate(source.traffic.bytes_read, {});
  EXPECT_GE(read, 2 * 2 * kElements);
  EXPECT_LE(read, 2 * 2 * kElements + 600'000);  // and the sums of each image
  EXPECT_THAT(source.text, AllOf(HasSubstr("of 64 channels of dy, x for all phases"),
                                 HasSubstr("x_kept"), Not(HasSubstr("int round"))));
  EXPECT_TRUE(source.is_cooperative);
}

TEST(ResidentTilesTest, PointersStayWithinTheResidentTile) {
  const Program program = planned(batch_norm_backward(256, 96, 256, false));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const std::int64_t step = program.kernels[0].schedule.resident_tiles.channels * 256;
  // The section gets the tile's first element. It subtracts that element's index from each index.
  EXPECT_THAT(emitted(program).text,
              AllOf(ContainsRegex(R"(\(resident_tile[^)]*\), (number|group), block\);)"),
                    ContainsRegex(fmt::format(R"(\(x_kept, .* - tile_number \* {}\))", step)),
                    Not(ContainsRegex(R"(\(resident_tile[^)]*\) -)"))));
}

TEST(ResidentTilesTest, AnyArchitectureMayHaveThem) {
  Target target = *find_target("h200");
  for (const char* arch : {"sm_87", "sm_103", "sm_121", "sm_130"}) {
    target.arch = arch;
    const Program program = planned(batch_norm_backward(512, 64, 49, true), target);
    ASSERT_TRUE(program.kernels.at(0).schedule.resident_tiles) << arch;
    EXPECT_LE(emitted(program).shared_bytes, target.shared_per_block_opt_in) << arch;
  }
}

TEST(ResidentTilesTest, ResultsOfAnEarlierPhaseStayInItsTiles) {
  const Program program = planned(batch_norm_backward_of_sum(512, 64, 49));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Schedule& schedule = program.kernels[0].schedule;
  ASSERT_TRUE(schedule.resident_tiles) << to_string(schedule);
  EXPECT_EQ(schedule.resident_tiles.arrays, 2);
  const Source source = emitted(program);
  EXPECT_THAT(source.text, AllOf(HasSubstr("units of x for all phases"), HasSubstr("all_kept")));
  constexpr std::int64_t kElements = 512 * 64 * 49;
  const std::int64_t read = evaluate(source.traffic.bytes_read, {});
  EXPECT_GE(read, 2 * 3 * kElements) << "4 bytes of a and 2 of x per element";
  EXPECT_LE(read, 2 * 3 * kElements + 900'000);
}

TEST(ResidentTilesTest, PrefersTheMostBytesAmongSimilarlyFastChoices) {
  const auto choice = [](double bytes, double seconds) {
    return ResidentTileChoice{.schedule = {}, .bytes_saved = bytes, .seconds_saved = seconds};
  };
  constexpr double kKernel = 100e-6;
  const ResidentTileChoice choices[] = {choice(10, 8e-6), choice(20, 6e-6), choice(30, 4e-6),
                                        choice(20, 6.5e-6)};
  EXPECT_EQ(best_of(choices, kKernel), 3U) << "within 3 us of the fastest";
  EXPECT_EQ(best_of(choices, 0.1 * kKernel), 0U);
  EXPECT_EQ(best_of(choices, 2 * kKernel), 2U);
}

TEST(ResidentTilesTest, EachRoundHasSomeOfTheChannels) {
  const Program program = planned(batch_norm_backward(512, 960, 49, true));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const ResidentTileSchedule& resident_tiles = program.kernels[0].schedule.resident_tiles;
  ASSERT_TRUE(resident_tiles);
  EXPECT_GT(resident_tiles.rounds, 1);
  // All resident tiles of a round fit at once.
  const std::int64_t groups =
      (960 / resident_tiles.channels + resident_tiles.rounds - 1) / resident_tiles.rounds;
  EXPECT_GE(132 * program.kernels[0].schedule.blocks_per_sm * resident_tiles.per_block,
            512 * groups);
  EXPECT_THAT(
      emitted(program).text,
      HasSubstr(fmt::format("for (int round = 0; round < {}; ++round)", resident_tiles.rounds)));
}

TEST(ResidentTilesTest, BarriersOfAllRoundsLeaveTheCounterAtZero) {
  for (const int channels : {480, 720, 960, 1440}) {
    const Program program = planned(batch_norm_backward(512, channels, 49, true));
    ASSERT_THAT(program.kernels, SizeIs(1));
    const Kernel& kernel = program.kernels[0];
    ASSERT_TRUE(kernel.schedule.resident_tiles);
    const int barriers = kernel.schedule.resident_tiles.rounds * (phases(kernel) - 1);
    const bool departs = emitted(program).text.find("grid_depart") != std::string::npos;
    EXPECT_EQ(departs, barriers % 2 == 1) << channels;
  }
}

TEST(ResidentTilesTest, ContiguousRowsHaveResidentTiles) {
  const Program program = planned(batch_norm_backward(256, 96, 256, false));
  ASSERT_THAT(program.kernels, SizeIs(1));
  ASSERT_TRUE(program.kernels[0].schedule.resident_tiles) << to_string(program.kernels[0].schedule);
}

TEST(ResidentTilesTest, LaunchesThatShareResidentTilesAreFused) {
  const std::string text = batch_norm_backward(512, 1920, 196, true);
  const Program with = planned(text);
  ASSERT_THAT(with.kernels, SizeIs(1));
  EXPECT_TRUE(with.kernels[0].schedule.resident_tiles);
  // Too little shared memory for the resident tiles of one group of channels.
  Target small = *find_target("h200");
  small.shared_per_sm = small.shared_per_block_opt_in = 48 << 10;
  const Program without = planned(text, small);
  EXPECT_GT(without.kernels.size(), 1U);
  for (const Kernel& kernel : without.kernels) EXPECT_FALSE(kernel.schedule.resident_tiles);
}

TEST(ResidentTilesTest, ReductionsOverChannelsAllowOnlyOneRound) {
  // Each channel needs the sum of all channels.
  const auto mixed = [](int channels) {
    return fmt::format(R"(
graph mixed(x: bf16[512, {0}, 49] {{strides = [{1}, 1, {0}]}}) {{
  v = cast x {{to = f32}}
  s = sum v {{axes = [0, 2], keep = true}}
  t = sum s {{axes = [1], keep = true}}
  d = sub v, t
  y = cast d {{to = bf16}}
  return y
}})",
                       channels, channels * 49);
  };
  const Program few = planned(mixed(64));
  ASSERT_THAT(few.kernels, SizeIs(1));
  ASSERT_TRUE(few.kernels[0].schedule.resident_tiles);
  EXPECT_EQ(few.kernels[0].schedule.resident_tiles.rounds, 1);
  for (const Kernel& kernel : planned(mixed(1920)).kernels)
    EXPECT_EQ(kernel.schedule.resident_tiles.rounds, 1);
}

/// The tiles of `kernel` that do not stay, as a share of all.
double share_in_memory(const Kernel& kernel, std::int64_t elements, std::int64_t per_channel) {
  const ResidentTileSchedule& tiles = kernel.schedule.resident_tiles;
  const std::int64_t all = elements / (tiles.channels * per_channel * tiles.rounds);
  return static_cast<double>(all - tiles.kept) / static_cast<double>(all);
}

TEST(ResidentTilesTest, TilesThatDoNotFitAreReadAgain) {
  constexpr std::int64_t kElements = 1400 * 16 * 64;  // no round can have fewer channels
  constexpr int kSms = 12;
  Target target = *find_target("h200");
  target.sm_count = kSms;
  target.bandwidth = 1e11;
  target.bytes_in_flight = 1 << 10;
  const Program program = planned(batch_norm_backward(1400, 16, 64, true), target);
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  const ResidentTileSchedule& tiles = kernel.schedule.resident_tiles;
  ASSERT_GT(tiles.kept, 0) << to_string(kernel.schedule);
  EXPECT_EQ(tiles.kept, kSms * kernel.schedule.blocks_per_sm * tiles.per_block);
  const double share = share_in_memory(kernel, kElements, 64);
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 0.6);
  const Source source = emitted(program);
  const auto read = static_cast<double>(evaluate(source.traffic.bytes_read, {}));
  // Of the two arrays, those without tiles are read twice.
  const double reads = tiles.arrays * (1 + share) + (2 - tiles.arrays) * 2;
  const double of_arrays = reads * 2 * kElements;
  EXPECT_GE(read, of_arrays);
  EXPECT_LE(read, 1.1 * of_arrays) << "and the sums of each image";
  EXPECT_FALSE(source.traffic.is_bound);
  EXPECT_EQ(source.planned_blocks, kSms * kernel.schedule.blocks_per_sm);
  EXPECT_THAT(source.text, HasSubstr("_in_memory("));
}

TEST(ResidentTilesTest, ValuesThatASectionWritesAreNotInMemory) {
  constexpr std::int64_t kElements = 512 * 64 * 49;
  const Program program = planned(test::masked_batch_norm_backward(512, 64, 49));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Source source = emitted(program);
  EXPECT_LE(evaluate(source.traffic.bytes_read, {}), 4 * 2 * kElements + 600'000);
  EXPECT_LE(evaluate(source.traffic.bytes_written, {}), 2 * kElements + 600'000);
  // Blocks that have more tiles than places write and read the rest in memory.
  EXPECT_THAT(source.text, AllOf(HasSubstr("dy_kept"), HasSubstr("dy_out"), HasSubstr("dy_in")));
}

TEST(ResidentTilesTest, SomeValuesThatASectionWritesAreInMemory) {
  constexpr std::int64_t kElements = 2048 * 320 * 49;
  const Program program = planned(test::masked_batch_norm_backward(2048, 320, 49));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  ASSERT_GT(kernel.schedule.resident_tiles.kept, 0) << to_string(kernel.schedule);
  ASSERT_EQ(kernel.schedule.resident_tiles.arrays, 2) << to_string(kernel.schedule);
  const double share = share_in_memory(kernel, kElements, 49);
  const Source source = emitted(program);
  const auto written = static_cast<double>(evaluate(source.traffic.bytes_written, {}));
  EXPECT_GE(written, (1 + share) * 2 * kElements);
  EXPECT_LE(written, 1.15 * (1 + share) * 2 * kElements);
}

TEST(ResidentTilesTest, ArraysOfDifferentShapesHaveTilesOfTheSameImages) {
  constexpr std::int64_t kElements = 512 * 40 * 49;
  const Program program = planned(test::centred_widths(512, 40, 49));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const ResidentTileSchedule& tiles = program.kernels[0].schedule.resident_tiles;
  EXPECT_EQ(tiles.units, 512);
  EXPECT_EQ(tiles.arrays, 2);
  EXPECT_LE(evaluate(emitted(program).traffic.bytes_read, {}), 3 * 2 * kElements + 600'000);
}

TEST(ResidentTilesTest, ReducedRowsAreResidentAsAWhole) {
  for (const bool has_channels_last : {false, true}) {
    const Program program =
        planned(test::pooled_batch_norm("bf16", 128, 1280, 49, has_channels_last));
    ASSERT_THAT(program.kernels, SizeIs(1));
    const Schedule& schedule = program.kernels[0].schedule;
    ASSERT_TRUE(schedule.resident_tiles) << to_string(schedule);
    EXPECT_EQ(schedule.resident_tiles.rounds, 1);
    ASSERT_THAT(schedule.sections, SizeIs(2));
    EXPECT_FALSE(schedule.sections[0].in_shared);
    EXPECT_EQ(schedule.sections[1].strips.outer, 128);
    const Source source = emitted(program);
    constexpr std::int64_t kElements = 128 * 1280 * 49;
    EXPECT_LE(evaluate(source.traffic.bytes_read, {}), 2 * kElements + 100'000);
    // Copies that span several channels use vectors, although the rows are odd.
    EXPECT_GE(source.vector_bytes, 8);
  }
}

TEST(ResidentTilesTest, LittleDataUsesNearlyAllSms) {
  const Program program = planned(test::pooled_batch_norm("bf16", 4, 1024, 49, false));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const ResidentTileSchedule& resident_tiles = program.kernels[0].schedule.resident_tiles;
  ASSERT_TRUE(resident_tiles);
  EXPECT_GE(1024 / resident_tiles.channels, 128);
}

TEST(ResidentTilesTest, BlocksDoNotCrossResidentTiles) {
  // 336 channels are not a multiple of a tile of 32.
  const Program program = planned(batch_norm_backward(512, 336, 196, true));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  ASSERT_TRUE(kernel.schedule.resident_tiles);
  EXPECT_LT(kernel.schedule.resident_tiles.channels, 336);
  EXPECT_TRUE(std::ranges::any_of(kernel.schedule.sections, [](const Schedule& section) {
    return section.block_limit > 0;
  })) << to_string(kernel.schedule);
}

TEST(ResidentTilesTest, BlocksOfTheLastRoundStopAtTheLastChannel) {
  Target target = *find_target("h200");
  target.sm_count = 12;
  target.bandwidth = 1e11;
  target.bytes_in_flight = 1 << 10;
  target.barrier_seconds = target.tile_copy_seconds = 1e-8;
  target.tile_speedup = 100;
  const Program program = planned(batch_norm_backward(257, 48, 64, true), target);
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  Schedule schedule = kernel.schedule;
  ASSERT_EQ(schedule.resident_tiles.rounds, 2) << to_string(schedule);
  ASSERT_EQ(schedule.resident_tiles.channels, 16) << to_string(schedule);
  // The first round has 32 of 48 channels. Blocks that could have 64 stop at the end of their
  // round.
  Schedule& sums = schedule.sections[1];
  sums.threads_per_row = 4;
  sums.rows_per_block = 32;
  sums.vector = 2;
  sums.block_limit = 32;
  const Source source = emit(program, kernel, schedule, kernel.name);
  EXPECT_THAT(source.text, AllOf(HasSubstr("const int end = minimum((block + 1) * 32, 48);"),
                                 HasSubstr("if (round * 1 + block >= 2) break;")));
}

TEST(ResidentTilesTest, SegmentsOfAConcatAreStoresToItsBuffer) {
  // One position computes an element of each half: two stores of the body, one of the kernel.
  const Program program = planned(R"(
graph halves(g: f32[64, 128], x: f32[64, 256]) {
  a = slice x {axis = 1, begin = 0, end = 128}
  b = slice x {axis = 1, begin = 128, end = 256}
  p = mul g, a
  q = mul g, b
  y = concat q, p {axis = 1}
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  const Body body = body_of(program, kernel);
  ASSERT_GT(body.stores.size(), kernel.stores.size());
  int stores = 0;
  for (const ResidentTileAccess& access : accesses_of(program, kernel, body, TileAxes{})) {
    if (!access.is_store) continue;
    EXPECT_EQ(access.buffer, kernel.stores[0].buffer);
    ++stores;
  }
  EXPECT_EQ(stores, 2);
}

}  // namespace
}  // namespace sinter::resident_tiles_test
