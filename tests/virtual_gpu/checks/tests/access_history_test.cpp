// Sharing, merging and compaction of sets of accesses.
#include "tests/virtual_gpu/checks/access_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"

namespace sinter::virtual_gpu::access_history_test {
namespace {

class AccessHistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::uint32_t launch = order_.begin_launch({}, {}, "kernel");
    for (std::uint32_t i = 0; i < 2; ++i) blocks_.push_back(order_.begin_block(launch, i, 32));
  }
  /// In a new barrier interval of the block.
  PastAccess in_new_interval(int block, Mask lanes, std::uint8_t flags = 0) {
    order_.block_barrier(*blocks_[block]);
    return {.segment = blocks_[block]->threads[0].segment, .lanes = lanes, .flags = flags};
  }
  std::vector<PastAccess> members(std::uint32_t set) const {
    std::vector<PastAccess> result;
    for (; set; set = sets_[set].older) result.push_back(sets_[set].access);
    return result;
  }
  HappensBefore order_;
  std::vector<std::unique_ptr<BlockClock>> blocks_;
  AccessHistories sets_;
};

TEST_F(AccessHistoryTest, EqualChainsAreOneSet) {
  const PastAccess first = in_new_interval(0, 1);
  const PastAccess second = in_new_interval(0, 1);
  const std::uint32_t one = sets_.push(sets_.push(0, first, order_), second, order_);
  const std::uint32_t other = sets_.push(sets_.push(0, first, order_), second, order_);
  EXPECT_EQ(one, other);
  EXPECT_EQ(sets_.size(), 2u);
  EXPECT_NE(sets_.push(sets_.push(0, second, order_), first, order_), one);
}

/// The first set on top of another is found by a link, the others in the table, which grows.
TEST_F(AccessHistoryTest, EverySetIsFoundAgain) {
  const auto sets_on = [&](std::uint32_t base) {
    std::vector<std::uint32_t> sets;
    for (std::uint32_t time = 1; time <= 3; ++time)
      sets.push_back(sets_.push(base, {.segment = 1, .lanes = 2, .time = time}, order_));
    return sets;
  };
  constexpr std::uint32_t kBases = 1000;
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t i = 0; i < kBases; ++i)
    all.push_back(sets_on(sets_.push(0, {.segment = 2, .lanes = 1, .time = i}, order_)));
  EXPECT_EQ(sets_.size(), 4 * kBases);
  for (std::uint32_t i = 0; i < kBases; ++i) {
    EXPECT_EQ(sets_on(sets_.push(0, {.segment = 2, .lanes = 1, .time = i}, order_)), all[i]);
    EXPECT_EQ(members(all[i][1]).size(), 2u);
  }
  EXPECT_EQ(sets_.size(), 4 * kBases);
}

TEST_F(AccessHistoryTest, LanesOfOneWarpMerge) {
  PastAccess access = in_new_interval(0, 1);
  std::uint32_t set = sets_.push(0, access, order_);
  access.lanes = 6;
  set = sets_.push(set, access, order_);
  ASSERT_EQ(members(set).size(), 1u);
  EXPECT_EQ(members(set)[0].lanes, 7u);
}

TEST_F(AccessHistoryTest, ClearedSetsAreNotLive) {
  const PastAccess access = in_new_interval(0, 1);
  const std::uint32_t old = sets_.push(0, access, order_);
  EXPECT_EQ(sets_.live(old), old);
  sets_.clear();
  EXPECT_EQ(sets_.live(old), 0u);
  const std::uint32_t made = sets_.push(0, access, order_);
  EXPECT_NE(made, old);
  EXPECT_EQ(sets_.live(made), made);
}

TEST_F(AccessHistoryTest, CompactionKeepsTheNewestWeakAccessOfEachLane) {
  constexpr int kRounds = 1000;
  std::uint32_t set = sets_.push(0, in_new_interval(0, 1), order_);  // lane 0: only here
  std::uint32_t newest = 0;
  for (int i = 0; i < kRounds; ++i) {
    const PastAccess access = in_new_interval(0, i % 2 ? 6 : 12);
    newest = access.segment;
    set = sets_.push(set, access, order_);
    set = sets_.push(set, in_new_interval(1, 1), order_);
    ASSERT_LE(members(set).size(), 200u);
  }
  Mask lanes = 0;
  for (const PastAccess& access : members(set))
    if (order_.segment_of(access.segment).block.block == 0) lanes |= access.lanes;
  EXPECT_EQ(lanes, 15u);
  const auto all = members(set);
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const PastAccess& access) {
    return access.segment == newest && access.lanes == 6;
  }));
}

/// The oldest observation of a write orders it before most accesses.
TEST_F(AccessHistoryTest, CompactionKeepsTheOldestAndTheNewestStrongRead) {
  const PastAccess first = in_new_interval(0, 1, AccessFlags::kStrong);
  std::uint32_t set = sets_.push(0, first, order_);
  PastAccess last;
  for (int i = 0; i < 1000; ++i) {
    last = in_new_interval(0, 1, AccessFlags::kStrong);
    set = sets_.push(set, last, order_);
    ASSERT_LE(members(set).size(), 200u);
  }
  EXPECT_EQ(members(set).front(), last);
  EXPECT_EQ(members(set).back(), first);
}

TEST_F(AccessHistoryTest, CompactionKeepsDifferentVersionsApart) {
  std::uint32_t set = 0;
  for (int i = 0; i < 1000; ++i) {
    PastAccess access = in_new_interval(0, 1, AccessFlags::kStrong | AccessFlags::kWrite);
    access.version = static_cast<std::uint16_t>(i % 5);
    set = sets_.push(set, access, order_);
  }
  std::vector<bool> seen(5);
  for (const PastAccess& access : members(set)) seen[access.version] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 5);
}

}  // namespace
}  // namespace sinter::virtual_gpu::access_history_test
