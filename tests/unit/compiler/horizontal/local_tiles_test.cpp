// Local tiles: phases without grid barriers, and values that never reach memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "compiler/horizontal/memory_units.h"
#include "compiler/horizontal/resident_tiles.h"
#include "compiler/plan.h"
#include "sinter/text.h"
#include "tests/support/graphs/resident_tile_graphs.h"

namespace sinter::local_tiles_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Program planned(const std::string& text) {
  return plan(parse(text), *find_target("h200"), {.symbols = {}});
}

Source emitted(const Program& program) {
  const Kernel& kernel = program.kernels.at(0);
  return emit(program, kernel, kernel.schedule, kernel.name);
}

TEST(LocalTilesTest, BlocksProcessTheirChannelsWithoutGridBarriers) {
  const Program program = planned(test::mirrored_instance_norm("bf16", 256, 64, 64));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Schedule& schedule = program.kernels[0].schedule;
  ASSERT_TRUE(schedule.resident_tiles.is_local) << to_string(schedule);
  EXPECT_EQ(schedule.resident_tiles.units, 256);
  const Source source = emitted(program);
  EXPECT_FALSE(source.is_cooperative);
  EXPECT_TRUE(source.has_barrier);
  EXPECT_THAT(source.text, AllOf(HasSubstr("x_kept"), Not(HasSubstr("grid_barrier"))));
  EXPECT_EQ(source.grid, Extent(256 / schedule.resident_tiles.channels));
  EXPECT_LE(evaluate(source.traffic.bytes_read, {}), 256 * (64 * 64 * 2 + 2 * 4));
}

TEST(LocalTilesTest, InternalBuffersNeverReachMemory) {
  const Program program = planned(test::group_norm_backward(128, 32, 4, 16));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  ASSERT_TRUE(kernel.schedule.resident_tiles.is_local) << to_string(kernel.schedule);
  EXPECT_EQ(kernel.schedule.resident_tiles.units, 128);
  EXPECT_FALSE(kernel.internal_buffers.empty());
  const Source source = emitted(program);
  // The sum over images needs a grid barrier. No section reads the sum.
  EXPECT_TRUE(source.is_cooperative);
  constexpr std::int64_t kElements = 128 * 128 * 16;
  // The result, and the channel sums of all images. The f32 gradient is not an argument.
  EXPECT_LE(evaluate(source.traffic.bytes_written, {}), kElements * 2 + 128 * 128 * 4 + 128 * 4);
  EXPECT_THAT(source.text, HasSubstr("d_kept"));
  EXPECT_THAT(source.text, Not(HasSubstr("d_out")));
}

TEST(LocalTilesTest, ReadersOfOtherChannelsPreventLocalTiles) {
  // The gather reorders channels, so a block reads channels of other blocks.
  const Program program = planned(R"(
graph turned(x: bf16[256, 4096], at: i64[256]) {
  h = cast x {to = f32}
  m = max h {axes = [1], keep = true}
  d = sub h, m
  s = sum d {axes = [1], keep = true}
  e = sub d, s
  y = cast e {to = bf16}
  z = index y, at {axes = [0]}
  return y, z
})");
  for (const Kernel& kernel : program.kernels)
    EXPECT_FALSE(kernel.schedule.resident_tiles.is_local) << to_string(kernel.schedule);
}

TEST(LocalTilesTest, BytesSavedCountPartialReads) {
  // Half of the stored elements are read again, so the resident tile saves only these reads.
  ResidentTiles resident_tiles{.channels = 8, .is_local = true, .has_units = true};
  ResidentTileArray array{.loaded_elements = 8 * 32, .per_channel = 64, .is_produced = true};
  array.access.dtype = DType::bf16;
  resident_tiles.arrays = {array};
  EXPECT_EQ(resident_tiles.bytes_saved(), 8 * 32 * 2);
  resident_tiles.arrays[0].is_in_memory = false;
  EXPECT_EQ(resident_tiles.bytes_saved(), 8 * (32 + 64) * 2);
  resident_tiles.arrays[0].is_produced = false;
  resident_tiles.arrays[0].is_in_memory = true;
  resident_tiles.arrays[0].loaded_elements = 8 * 64 * 2;
  EXPECT_EQ(resident_tiles.bytes_saved(), 8 * 64 * 2);
}

TEST(LocalTilesTest, UnitsAreLeadingAxesOrOneAxis) {
  std::vector<Body> bodies(1);
  for (const int extent : {6, 4, 10}) bodies[0].space.add_axis(extent);
  bodies[0].parallel_axes = 2;
  bodies[0].has_reduced_axis = true;
  EXPECT_THAT(unit_counts(bodies), ElementsAre(4, 6, 24));
}

}  // namespace
}  // namespace sinter::local_tiles_test
