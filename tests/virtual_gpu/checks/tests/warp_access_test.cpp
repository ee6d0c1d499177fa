// Accesses of whole warps: the results are those of single lanes, and rows share their records.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "tests/virtual_gpu/checks/tests/order_fixture.h"

namespace sinter::virtual_gpu::warp_access_test {
namespace {

class WarpAccessTest : public OrderFixture {
 protected:
  std::optional<Conflict> read_row(BlockClock& block, std::uint64_t offset, Mask lanes = kAllLanes,
                                   AccessKind kind = AccessKind::read) {
    const Access access = {.kind = kind, .offset = offset, .bytes = 4, .line = 5};
    return memory_.access_row(access, block, 0, lanes, order_);
  }
  std::optional<Conflict> write_row(BlockClock& block, std::uint64_t offset,
                                    Mask lanes = kAllLanes) {
    return read_row(block, offset, lanes, AccessKind::write);
  }
};

TEST_F(WarpAccessTest, ReadersOfARowAreOneSet) {
  begin();
  constexpr std::uint32_t kBlocks = 50;
  for (std::uint32_t i = 0; i < kBlocks; ++i)
    for (std::uint64_t row = 0; row < 512; row += 128) EXPECT_FALSE(read_row(block(i), row));
  // A set per row and block, and none per lane.
  EXPECT_EQ(order_.histories().size(), 4 * (kBlocks - 1));
}

TEST_F(WarpAccessTest, RepeatedReadsOfSeveralWarpsAddNothing) {
  begin();
  const auto read_all = [&](int rounds) {
    for (int i = 0; i < rounds; ++i)
      for (const std::uint32_t first : {0, 32, 64, 96})
        EXPECT_FALSE(memory_.access_common({.bytes = 16}, block(0, 128), first, kAllLanes, order_));
    return order_.histories().size();
  };
  EXPECT_EQ(read_all(1), read_all(500));
}

TEST_F(WarpAccessTest, ReadOnlyLoadsOfEarlierLaunchesAreForgotten) {
  begin();
  EXPECT_FALSE(write_row(block(0), 0));
  std::vector<std::uint32_t> before = {launch_};
  begin();  // ordered with no other launch, so that none of them has all earlier ones before it
  const auto read_by_two_blocks = [&] {
    begin(before);
    before.push_back(launch_);
    for (const std::uint32_t number : {0, 1})
      EXPECT_FALSE(read_row(block(number), 0, kAllLanes, AccessKind::read_only));
    return order_.histories().size();
  };
  // A set for the first block of each launch, and none per lane.
  EXPECT_EQ(read_by_two_blocks(), 1U);
  for (std::size_t i = 2; i < 50; ++i) EXPECT_EQ(read_by_two_blocks(), i);
  for (std::uint32_t set = 1; set <= 49; ++set) EXPECT_EQ(order_.histories()[set].length, 1U);
  begin();
  EXPECT_TRUE(write_row(block(0), 0)) << "no order with the last readers";
}

TEST_F(WarpAccessTest, ARowConflictsWithASingleLane) {
  begin();
  EXPECT_FALSE(write_row(block(0), 0));
  const auto conflict = memory_.access({.offset = 40, .bytes = 4}, thread(1, 3), order_);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->offset, 40u);
  EXPECT_EQ(order_.position_of(conflict->earlier).thread, 10u);
  EXPECT_EQ(conflict->earlier.line, 5);
  EXPECT_TRUE(conflict->earlier_is_write);
}

TEST_F(WarpAccessTest, ARowIsKnownLaneByLane) {
  begin();
  EXPECT_FALSE(write_row(block(0), 0));
  order_.fence(thread(0, 10));
  EXPECT_FALSE(write_flag(thread(0, 10)));
  EXPECT_FALSE(read_flag(thread(1, 3)));
  order_.fence(thread(1, 3));
  EXPECT_FALSE(read(thread(1, 3), 40)) << "lane 10 wrote these bytes, and its write is known";
  EXPECT_TRUE(read(thread(1, 3), 44));
}

TEST_F(WarpAccessTest, ALaneSharesItsWriteWithNoOther) {
  begin();
  EXPECT_FALSE(write(thread(0, 3), 16));
  const Access read = {.offset = 16, .bytes = 4};
  EXPECT_FALSE(memory_.access_common(read, block(0), 0, 0x8, order_));
  const auto conflict = memory_.access_common(read, block(0), 0, 0x18, order_);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->thread, 4u);
}

TEST_F(WarpAccessTest, ShiftedRowsConflict) {
  begin();
  EXPECT_FALSE(write_row(block(0), 0));
  EXPECT_FALSE(write_row(block(0), 0)) << "each lane writes its own bytes again";
  const auto conflict = read_row(block(0), 4, 0x7fffffff);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->offset, 4u);
  EXPECT_EQ(conflict->thread, 0u);
  EXPECT_EQ(conflict->earlier.thread, 1u);
  order_.block_barrier(block(0));
  EXPECT_FALSE(read_row(block(0), 4, 0x7fffffff));
}

TEST_F(WarpAccessTest, ReadOnlyLoadsConflictWithLaterWritesOfTheLaunch) {
  begin();
  EXPECT_FALSE(read_row(block(0), 0, kAllLanes, AccessKind::read_only));
  order_.block_barrier(block(0));
  const auto conflict = write_row(block(0), 0);
  ASSERT_TRUE(conflict);
  EXPECT_TRUE(conflict->breaks_read_only);
  const std::uint32_t first = launch_;
  begin({first});
  EXPECT_FALSE(write_row(block(0), 0));
}

/// Random warps of two blocks in two launches, with fences, flags and barriers.
class RandomWarpsTest : public OrderFixture, public ::testing::WithParamInterface<unsigned> {
 protected:
  static constexpr std::uint64_t kBytes = 2048;
  std::mt19937 random_{GetParam()};
  Shadow warps_{kBytes}, lanes_{kBytes};

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_()) % bound; }
  Mask random_lanes() {
    const Mask some = static_cast<Mask>(random_());
    const Mask run = (kAllLanes >> below(32)) << below(8);
    const Mask masks[] = {kAllLanes, kAllLanes, some, run};
    const Mask lanes = masks[below(4)];
    return lanes ? lanes : 1;
  }
  void synchronize(BlockClock& block) {
    const unsigned lane = below(64);
    switch (below(6)) {
      case 0: order_.fence(block.threads[lane]); return;
      case 1:
        order_.fence(block.threads[lane]);
        order_.strong_write(block.threads[lane], 1 << 20, false);
        return;
      case 2:
        order_.strong_read(block.threads[lane], 1 << 20);
        order_.fence(block.threads[lane]);
        return;
      default: order_.block_barrier(block);
    }
  }
  std::optional<Conflict> access_lanes(const Access& access, bool is_row, const BlockClock& block,
                                       std::uint32_t first, Mask lanes) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      Access part = access;
      if (is_row) part.offset += lane * access.bytes;
      if (!(lanes >> lane & 1)) continue;
      const auto conflict = lanes_.access(part, block.threads[first + lane], order_);
      if (conflict) return conflict;
    }
    return std::nullopt;
  }
};

TEST_P(RandomWarpsTest, HaveTheResultsOfSingleLanes) {
  int conflicts = 0;
  for (int round = 0; round < 40; ++round) {
    if (round % 4 == 0) begin();
    if (round % 4 == 2) begin({launch_});
    for (int i = 0; i < 60; ++i) {
      BlockClock& one = block(below(2));
      if (below(2)) synchronize(one);
      const bool is_row = below(3) != 0;
      const std::uint64_t bytes = std::uint64_t{1} << below(5);
      const AccessKind kind = i % 4 == 0 ? AccessKind::write : static_cast<AccessKind>(below(2));
      const std::uint64_t places = is_row ? kBytes / bytes - 32 : kBytes / bytes;
      const Access access = {.kind = kind,
                             .is_strong = below(12) == 0,
                             .offset = bytes * below(static_cast<unsigned>(places)),
                             .bytes = bytes,
                             .line = i};
      const std::uint32_t first = below(2) * 32;
      const Mask lanes = kind == AccessKind::write && !is_row ? 4 : random_lanes();
      const auto found = is_row ? warps_.access_row(access, one, first, lanes, order_)
                                : warps_.access_common(access, one, first, lanes, order_);
      const auto expected = access_lanes(access, is_row, one, first, lanes);
      ASSERT_EQ(found.has_value(), expected.has_value()) << "round " << round << ", access " << i;
      if (!found) continue;
      ++conflicts;
      EXPECT_EQ(found->offset, expected->offset);
      EXPECT_EQ(found->thread, expected->thread);
      EXPECT_EQ(found->earlier_is_write, expected->earlier_is_write);
      // Both have recorded the lanes in front of the conflict; the rest differs.
      warps_ = Shadow(kBytes);
      lanes_ = Shadow(kBytes);
    }
    EXPECT_EQ(warps_.first_uninitialized(0, kBytes), lanes_.first_uninitialized(0, kBytes));
  }
  EXPECT_GT(conflicts, 20);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomWarpsTest, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace sinter::virtual_gpu::warp_access_test
