// Loads and stores that use transpose tiles, and the sectors that the tiles save. Flat vectors.
#include "compiler/tiling/transpose_tiles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/body_building/build_body.h"
#include "compiler/plan.h"
#include "compiler/tiling/coalescing.h"
#include "sinter/text.h"

namespace sinter::transpose_tiles_test {
namespace {

Program planned(std::string_view text, std::vector<std::int64_t> symbols = {}) {
  return plan(parse(text), *find_target("h200"), {.symbols = std::move(symbols)});
}

/// The best candidate without tiles.
const Schedule& direct(const Kernel& kernel) {
  return *std::ranges::find(kernel.candidates, 0, &Schedule::tile);
}

Sectors sectors(const Program& program, const Schedule& schedule) {
  return sectors_of(body_of(program, program.kernels[0]), schedule, program.facts);
}

constexpr const char* kTranspose = R"(
graph transpose_add(a: f32[4096, 4096], b: f32[4096, 4096]) {
  t = permute b {axes = [1, 0]}
  y = add a, t
  return y
})";

TEST(FlatVectors, CrossTheEndsOfOddRows) {
  const auto of = [](int columns) {
    return planned(fmt::format(R"(
graph biased(x: bf16[4096, {0}], bias: bf16[{0}], scale: bf16[4096, 1]) {{
  b = add x, bias
  y = mul b, scale
  return y
}})",
                               columns))
        .kernels.at(0)
        .schedule;
  };
  EXPECT_TRUE(of(3073).is_flat);
  EXPECT_EQ(of(3073).vector, 8);
  // Rows that only 2 or 4 divides are also flat, with vectors of 8.
  EXPECT_TRUE(of(3074).is_flat);
  EXPECT_EQ(of(3074).vector, 8);
  EXPECT_TRUE(of(3076).is_flat);
  EXPECT_FALSE(of(3072).is_flat);
  // As many bytes have another row length as have the row length of the iteration space.
  EXPECT_FALSE(planned(R"(
graph part(x: f32[4096, 1023], y: f32[4096, 1025]) {
  s = slice y {axis = 1, begin = 1, end = 1024, step = 1}
  z = add x, s
  return z
})")
                   .kernels.at(0)
                   .schedule.is_flat);
}

TEST(FlatVectors, AreNotTheDefaultIfRowsShareMuchWork) {
  const auto of = [](std::string_view shared) {
    return planned(fmt::format(R"(
graph scaled(x: bf16[4096, 3076], variance: f32[4096, 1]) {{
  h = cast x {{to = f32}}
  s = {} variance
  m = mul h, s
  y = cast m {{to = bf16}}
  return y
}})",
                               shared))
        .kernels.at(0);
  };
  const auto is_flat = [](const Schedule& schedule) { return schedule.is_flat; };
  EXPECT_TRUE(of("neg").schedule.is_flat);
  const Kernel heavy = of("lgamma");
  EXPECT_FALSE(heavy.schedule.is_flat);
  EXPECT_TRUE(std::ranges::any_of(heavy.candidates, is_flat));
  EXPECT_FALSE(std::ranges::all_of(of("neg").candidates, is_flat));
  EXPECT_LE(heavy.candidates.size(), 12U);
}

TEST(Tiles, TransposedOperandsUseTiles) {
  const Program program = planned(kTranspose);
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 64);
  EXPECT_EQ(kernel.schedule.vector, 4);
  EXPECT_EQ(kernel.schedule, kernel.candidates.list()[0]);
  EXPECT_LE(kernel.candidates.size(), 12U);
  EXPECT_EQ(direct(kernel).tile, 0);
  EXPECT_TRUE(kernel.notes.empty());
  const Body body = body_of(program, kernel);
  const TiledAccesses tiled = tiled_accesses(body, program.facts);
  EXPECT_EQ(tiled.axis, 0);
  ASSERT_EQ(tiled.loads.size(), 1U);
  EXPECT_TRUE(tiled.stores.empty());
  EXPECT_EQ(tile_vector(body, 0, load_of(body, tiled.loads[0]), kernel.schedule, program.facts), 4);
}

/// The three arrays have 3 × 2^21 sectors. A warp of the kernel without tiles reads 4 × 32 sectors
/// of `b` for 16 sectors of data.
TEST(Tiles, TilesRequestTheFewestSectors) {
  const Program program = planned(kTranspose);
  const Kernel& kernel = program.kernels[0];
  const double fewest = 3.0 * 4096 * 4096 * 4 / 32;
  const Sectors tiled = sectors(program, kernel.schedule);
  EXPECT_EQ(tiled.requested, fewest);
  EXPECT_EQ(tiled.minimum, fewest);
  const Sectors without = sectors(program, direct(kernel));
  EXPECT_EQ(without.requested, fewest / 3 * (1 + 1 + 8));
}

/// In a small iteration space, all warps are counted.
TEST(Tiles, SectorsOfASmallSpaceAreExact) {
  const Program program = planned(R"(
graph small(x: f32[16, 24]) {
  t = permute x {axes = [1, 0]}
  y = neg t
  return y
})");
  const Schedule schedule{.threads = 64, .vector = 1};
  // The result is 24 × 16. A warp reads two neighbouring elements of each of 16 lines of 96 bytes,
  // and stores 128 bytes.
  const Sectors found = sectors(program, schedule);
  EXPECT_EQ(found.requested, 12 * (16 + 4));
  EXPECT_EQ(found.minimum, 12 * (4 + 4));
}

TEST(Tiles, ChannelsLastConversionsUseTiles) {
  const Program program = planned(R"(
graph to_channels_last(x: bf16[batch, 64, 56, 56], scale: f32[64]) {
  p = permute x {axes = [0, 2, 3, 1]}
  h = cast p {to = f32}
  s = mul h, scale
  y = cast s {to = bf16}
  return y
})",
                                  {64});
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 64);
  EXPECT_GT(sectors(program, direct(kernel)).requested,
            2 * sectors(program, kernel.schedule).requested);
}

TEST(Tiles, FewChannelsNeedNoTiles) {
  const Program program = planned(R"(
graph image(x: f32[32, 3, 224, 224]) {
  p = permute x {axes = [0, 2, 3, 1]}
  y = mul p, 2.0
  return y
})");
  EXPECT_EQ(program.kernels[0].schedule.tile, 0);
}

TEST(Tiles, PermutationsThatKeepTheLastAxisNeedNoTiles) {
  const Program program = planned(R"(
graph heads(x: bf16[8, 128, 16, 64]) {
  p = permute x {axes = [0, 2, 1, 3]}
  y = mul p, 0.125
  return y
})");
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 0);
  EXPECT_TRUE(tiled_accesses(body_of(program, kernel), program.facts).empty());
}

TEST(Tiles, OperandsShareTheTiledAxis) {
  const Program program = planned(R"(
graph three(a: f32[32, 512, 256], b: bf16[32, 512, 256], c: f32[32, 256, 512]) {
  p = permute a {axes = [0, 2, 1]}
  h = cast b {to = f32}
  q = permute h {axes = [0, 2, 1]}
  s = add p, q
  y = mul s, c
  return y
})");
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 64);
  EXPECT_EQ(tiled_accesses(body_of(program, kernel), program.facts).loads.size(), 2U);
}

/// Half of the channels come from each array. Both loads use tiles.
TEST(Tiles, ConcatSegmentsUseTiles) {
  const Program program = planned(R"(
graph splits(a: bf16[64, 80, 30, 30] {strides = [72000, 1, 2400, 80]}, b: bf16[64, 80, 30, 30] {strides = [72000, 1, 2400, 80]}) {
  c = concat a, b {axis = 1}
  y = relu c
  return y
})");
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 32);
  const Body body = body_of(program, kernel);
  const TiledAccesses tiled = tiled_accesses(body, program.facts);
  ASSERT_EQ(tiled.loads.size(), 2U);
  for (const int load : tiled.loads)
    EXPECT_EQ(tile_vector(body, tiled.axis, load_of(body, load), {.threads = 128, .tile = 32},
                          program.facts),
              8);
}

/// The row index combines two axes, so only 128 consecutive rows are contiguous in the operand.
TEST(Tiles, ShortContiguousRunsUseTiles) {
  const Program program = planned(R"(
graph runs(x: bf16[32, 6, 64, 128]) {
  p = permute x {axes = [0, 3, 1, 2]}
  v = reshape p {shape = [4096, 384]}
  y = neg v
  return y
})");
  EXPECT_GT(program.kernels[0].schedule.tile, 0);
}

TEST(Tiles, TransposedResultsUseTiles) {
  const Program program = planned(R"(
graph both(a: f32[2048, 2048], b: f32[2048, 2048]) {
  s = add a, b
  u = mul s, 2.0
  return s, u {strides = [1, 2048]}
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 64);
  const TiledAccesses tiled = tiled_accesses(body_of(program, kernel), program.facts);
  EXPECT_TRUE(tiled.loads.empty());
  EXPECT_EQ(tiled.stores.size(), 1U);
  const Sectors sectors_with = sectors(program, kernel.schedule);
  EXPECT_EQ(sectors_with.requested, sectors_with.minimum);
  // Without tiles, each element of `u` is stored to a separate sector.
  EXPECT_EQ(sectors(program, direct(kernel)).requested, sectors_with.minimum / 4 * (3 + 8));
}

TEST(Tiles, SmallSpacesHaveSmallTiles) {
  const Program program = planned(R"(
graph small(a: f32[512, 512]) {
  t = permute a {axes = [1, 0]}
  y = neg t
  return y
})");
  EXPECT_EQ(program.kernels[0].schedule.tile, 32);
}

TEST(Tiles, OddExtentsAreTiledByElements) {
  const Program program = planned(R"(
graph odd(a: f32[1021, 2053]) {
  t = permute a {axes = [1, 0]}
  y = neg t
  return y
})");
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 64);
  EXPECT_EQ(kernel.schedule.vector, 1);
  // A warp reads 128 bytes at any alignment, so it touches five sectors instead of four.
  const Sectors tiled = sectors(program, kernel.schedule);
  EXPECT_LT(tiled.requested, 1.3 * tiled.minimum);
  EXPECT_GT(sectors(program, direct(kernel)).requested, 4 * tiled.minimum);
}

}  // namespace
}  // namespace sinter::transpose_tiles_test
