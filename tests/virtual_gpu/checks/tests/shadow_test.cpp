// Initialisation, granularities, sets of readers, and `ld.global.nc`.
#include "tests/virtual_gpu/checks/shadow.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/checks/tests/order_fixture.h"

namespace sinter::virtual_gpu::shadow_test {
namespace {

// ---- Initialisation ----

TEST(ShadowInitialization, NothingIsInitialisedAtFirst) {
  const Shadow shadow(5000);
  EXPECT_EQ(shadow.first_uninitialized(0, 5000), 0u);
  EXPECT_EQ(shadow.first_uninitialized(4999, 1), 4999u);
  EXPECT_EQ(shadow.first_uninitialized(100, 0), std::nullopt);
}

TEST(ShadowInitialization, FindsTheFirstMissingByteAcrossPages) {
  Shadow shadow(5000);
  shadow.mark_initialized(1000, 3000);
  EXPECT_EQ(shadow.first_uninitialized(1000, 3000), std::nullopt);
  EXPECT_EQ(shadow.first_uninitialized(999, 3), 999u);
  EXPECT_EQ(shadow.first_uninitialized(2000, 2001), 4000u);
  shadow.mark_uninitialized(2047, 2);
  EXPECT_EQ(shadow.first_uninitialized(1000, 3000), 2047u);
  EXPECT_EQ(shadow.first_uninitialized(2048, 1), 2048u);
  EXPECT_EQ(shadow.first_uninitialized(2049, 1951), std::nullopt);
}

TEST(ShadowInitialization, CopyTakesBothStates) {
  Shadow from(4096), to(4096);
  from.mark_initialized(10, 5);
  from.mark_initialized(1020, 2000);
  to.mark_initialized(0, 4096);
  to.copy_initialization(3, from, 0, 3500);
  EXPECT_EQ(to.first_uninitialized(0, 4096), 3u);
  EXPECT_EQ(to.first_uninitialized(12, 1), 12u);
  EXPECT_EQ(to.first_uninitialized(13, 6), 18u);
  EXPECT_EQ(to.first_uninitialized(1022, 1), 1022u);
  EXPECT_EQ(to.first_uninitialized(1023, 2001), 3023u);
  EXPECT_EQ(to.first_uninitialized(3503, 593), std::nullopt);
}

TEST(ShadowInitialization, AgreesWithAListOfBytes) {
  constexpr std::uint64_t kBytes = 3000;
  std::mt19937 random(7);
  Shadow shadow(kBytes);
  std::vector<bool> expected(kBytes);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t first = random() % kBytes;
    const std::uint64_t second = random() % kBytes;
    const std::uint64_t bytes =
        std::min(random() % (random() % 8 ? 80 : 3000), kBytes - std::max(first, second));
    const std::vector<bool> old = expected;
    const unsigned action = random() % 3;
    if (action == 0) shadow.mark_initialized(first, bytes);
    if (action == 1) shadow.mark_uninitialized(first, bytes);
    if (action == 2) shadow.copy_initialization(first, shadow, second, bytes);
    for (std::uint64_t k = 0; k < bytes; ++k)
      expected[first + k] = action == 2 ? old[second + k] : action == 0;
    const std::uint64_t at = random() % kBytes;
    std::optional<std::uint64_t> missing;
    for (std::uint64_t k = at; k < kBytes && !missing; ++k)
      if (!expected[k]) missing = k;
    ASSERT_EQ(shadow.first_uninitialized(at, kBytes - at), missing) << i;
  }
}

class ShadowTest : public OrderFixture {
 protected:
  std::optional<Conflict> access(ThreadClock& thread, const Access& what) {
    return shadow_.access(what, thread, order_);
  }
  Shadow shadow_{10000};
};

TEST_F(ShadowTest, WritesAndAtomicsInitialise) {
  begin();
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::read, .offset = 0, .bytes = 4}));
  EXPECT_EQ(shadow_.first_uninitialized(0, 4), 0u);
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .offset = 2, .bytes = 2}));
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::atomic, .offset = 4, .bytes = 4}));
  EXPECT_EQ(shadow_.first_uninitialized(2, 7), 8u);
}

// ---- Granularities ----

TEST_F(ShadowTest, NeighbouringBytesDoNotConflict) {
  begin();
  for (std::uint64_t i = 0; i < 64; ++i)
    EXPECT_FALSE(access(thread(0, static_cast<int>(i)),
                        {.kind = AccessKind::write, .offset = i, .bytes = 1}));
  const auto conflict =
      access(thread(0, 8), {.kind = AccessKind::read, .offset = 8, .bytes = 2, .line = 4});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->offset, 9u);
  EXPECT_EQ(conflict->earlier.thread, 9u);
  EXPECT_EQ(conflict->thread, 8u);
  EXPECT_TRUE(conflict->earlier_is_write);
}

TEST_F(ShadowTest, RefinementKeepsTheRecordOfAWiderAccess) {
  for (const std::uint64_t bytes : {1024, 16, 8, 4, 2}) {
    begin();
    shadow_ = Shadow(10000);
    EXPECT_FALSE(access(thread(0, 1),
                        {.kind = AccessKind::write, .offset = 1024, .bytes = bytes, .line = 12}));
    const auto conflict =
        access(thread(0, 2), {.kind = AccessKind::read, .offset = 1024 + bytes - 1, .bytes = 1});
    ASSERT_TRUE(conflict) << bytes;
    EXPECT_EQ(conflict->earlier.line, 12);
    EXPECT_EQ(conflict->earlier.thread, 1u);
    EXPECT_FALSE(
        access(thread(0, 2), {.kind = AccessKind::write, .offset = 1024 + bytes, .bytes = 1}));
  }
}

TEST_F(ShadowTest, CopiesOfManyPagesMeetKernelsOfAnyGranularity) {
  const std::uint32_t first = begin();
  const Access copy = {.kind = AccessKind::write, .offset = 100, .bytes = 9900};
  EXPECT_FALSE(access(thread(0, 0), copy));
  const std::uint32_t second = begin({first});
  for (const std::uint64_t offset : {100, 1023, 1024, 9999})
    EXPECT_FALSE(access(thread(0, 5), {.kind = AccessKind::read, .offset = offset, .bytes = 1}));
  begin();  // not ordered behind the second launch
  auto conflict = access(thread(0, 0), copy);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->offset, 100u);
  begin({first, second});
  EXPECT_FALSE(access(thread(0, 0), copy));
  begin({first});
  conflict = access(thread(0, 0), {.kind = AccessKind::read, .offset = 5001, .bytes = 1});
  ASSERT_TRUE(conflict) << "the copy wrote this page as a whole";
  EXPECT_EQ(conflict->offset, 5001u);
}

TEST_F(ShadowTest, RowsHaveTheResultsOfSingleLanes) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    begin();
    Shadow rows(4096), lanes(4096);
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t bytes = std::uint64_t{1} << (random() % 5);
      Access one = {.kind = static_cast<AccessKind>(random() % 4),
                    .offset = bytes * (random() % (2000 / bytes)),
                    .bytes = bytes};
      const std::uint32_t first = random() % 2 * 32;
      const Mask mask = random() % 2 ? kAllLanes : static_cast<Mask>(random());
      const auto found = rows.access_row(one, block(0), first, mask, order_);
      std::optional<Conflict> expected;
      for (std::uint32_t lane = 0; lane < 32 && !expected; ++lane) {
        Access part = one;
        part.offset += lane * bytes;
        if (mask >> lane & 1) expected = lanes.access(part, block(0).threads[first + lane], order_);
      }
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (found) {
        EXPECT_EQ(found->offset, expected->offset);
        EXPECT_EQ(found->thread, expected->thread);
        EXPECT_EQ(found->earlier.thread, expected->earlier.thread);
      }
      EXPECT_EQ(rows.first_uninitialized(0, 4096), lanes.first_uninitialized(0, 4096));
      if (random() % 2) order_.block_barrier(block(0));
    }
  }
}

// ---- Sets of readers ----

/// All threads of 1,000 blocks read the same words. A writer knows all blocks, or all but one.
class ManyReadersTest : public ShadowTest, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kBlocks = 1000;
  static constexpr int kWords = 16;
};

TEST_P(ManyReadersTest, AWriteChecksEachOfThem) {
  const std::uint32_t silent = GetParam();
  begin();
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    for (int word = 0; word < kWords; ++word)
      for (ThreadClock& one : block(i).threads)
        EXPECT_FALSE(access(one, {.offset = std::uint64_t(4 * word), .bytes = 4, .line = 9}));
    order_.block_barrier(block(i));
    order_.fence(thread(i, 0));
    if (i != silent) add(thread(i, 0));
  }
  read_flag(thread(0, 0));
  order_.fence(thread(0, 0));
  // The sets are shared by all words: one node per block and warp, and few more.
  EXPECT_LE(order_.histories().size(), 3 * 2 * kBlocks + 100);
  for (int word = 0; word < kWords; ++word) {
    const Access write = {.kind = AccessKind::write, .offset = std::uint64_t(4 * word), .bytes = 4};
    const auto conflict = access(thread(0, 0), write);
    ASSERT_EQ(conflict.has_value(), silent < kBlocks);
    if (!conflict) continue;
    EXPECT_EQ(order_.position_of(conflict->earlier).block, silent);
    EXPECT_EQ(conflict->earlier.line, 9);
    EXPECT_FALSE(conflict->earlier_is_write);
  }
  if (silent < kBlocks) return;
  // The write has cleared the readers: only the write itself can conflict.
  const auto conflict = access(thread(7, 0), {.kind = AccessKind::write, .bytes = 4});
  ASSERT_TRUE(conflict);
  EXPECT_TRUE(conflict->earlier_is_write);
}
INSTANTIATE_TEST_SUITE_P(SilentBlocks, ManyReadersTest, ::testing::Values(1, 500, 999, 1000));

TEST_F(ShadowTest, RepeatedReadsOfManyBlocksKeepSetsSmall) {
  begin();
  constexpr int kRounds = 200, kBlocks = 20;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      for (ThreadClock& one : block(i).threads)
        EXPECT_FALSE(access(one, {.offset = 4, .bytes = 4}));
      order_.block_barrier(block(i));
    }
  }
  // Without compaction, a write would meet kRounds * kBlocks * 2 accesses.
  for (int i = 1; i < kBlocks; ++i) {
    order_.fence(thread(i, 0));
    add(thread(i, 0));
  }
  read_flag(thread(0, 0));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .offset = 4, .bytes = 4}));
}

TEST_F(ShadowTest, EachReadingLaneCounts) {
  begin();
  for (const int lane : {3, 4, 5}) EXPECT_FALSE(access(thread(0, lane), {.offset = 0, .bytes = 4}));
  const std::uint32_t members[] = {3, 5, 6};
  order_.barrier_of(block(0), members);
  const auto conflict = access(thread(0, 6), {.kind = AccessKind::write, .bytes = 4});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->earlier.thread, 4u);
}

// ---- Strong accesses ----

TEST_F(ShadowTest, StrongAccessesDoNotConflict) {
  begin();
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(write_flag(thread(1, 0)));
  EXPECT_FALSE(add(thread(2, 0)));
  EXPECT_FALSE(read_flag(thread(3, 0)));
}

TEST_F(ShadowTest, AStrongAndAWeakAccessConflict) {
  begin();
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_TRUE(read(thread(1, 0), kFlag));
  EXPECT_FALSE(read(thread(0, 0), kFlag));
  EXPECT_TRUE(add(thread(2, 0))) << "the weak read of block 0";
}

TEST_F(ShadowTest, AnUnorderedStrongWriteIsNotForgotten) {
  begin();
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(write_flag(thread(1, 0)));
  // Thread 0 of block 2 observes the second write only.
  EXPECT_FALSE(read_flag(thread(2, 0)));
  EXPECT_TRUE(read(thread(2, 0), kFlag));
}

TEST_F(ShadowTest, AnObservedStrongWriteIsOrdered) {
  begin();
  EXPECT_FALSE(write_flag(thread(1, 0)));
  EXPECT_FALSE(read_flag(thread(2, 0)));
  EXPECT_FALSE(read(thread(2, 0), kFlag));
  EXPECT_TRUE(read(thread(2, 1), kFlag)) << "the observation was thread 0's";
  order_.block_barrier(block(2));
  EXPECT_FALSE(read(thread(2, 1), kFlag));
}

// ---- Read-only loads ----

TEST_F(ShadowTest, AReadOnlyLoadOfOwnWritesConflictsInSpiteOfTheOrder) {
  begin();
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .bytes = 4}));
  order_.block_barrier(block(0));
  for (const int reader : {0, 1}) {
    const auto conflict = access(thread(0, reader), {.kind = AccessKind::read_only, .bytes = 4});
    ASSERT_TRUE(conflict);
    EXPECT_TRUE(conflict->breaks_read_only);
    EXPECT_TRUE(conflict->earlier_is_write);
  }
}

TEST_F(ShadowTest, AWriteBehindAReadOnlyLoadConflictsInSpiteOfTheOrder) {
  begin();
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::read_only, .bytes = 4}));
  order_.block_barrier(block(0));
  // A later ordinary read does not hide the read-only one.
  EXPECT_FALSE(access(thread(0, 1), {.bytes = 4}));
  order_.block_barrier(block(0));
  for (const int writer : {0, 1, 2}) {
    const auto conflict = access(thread(0, writer), {.kind = AccessKind::write, .bytes = 4});
    ASSERT_TRUE(conflict);
    EXPECT_TRUE(conflict->breaks_read_only);
    EXPECT_FALSE(conflict->earlier_is_write);
    EXPECT_EQ(conflict->earlier.thread, 0u);
  }
}

TEST_F(ShadowTest, ReadOnlyLoadsMayFollowAnEarlierLaunchsWrites) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .bytes = 4}));
  const std::uint32_t second = begin({first});
  EXPECT_FALSE(access(thread(0, 1), {.kind = AccessKind::read_only, .bytes = 4}));
  EXPECT_FALSE(access(thread(1, 1), {.kind = AccessKind::read_only, .bytes = 4}));
  begin({first, second});
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .bytes = 4}));
}

TEST_F(ShadowTest, ReadOnlyLoadsOfOtherBytesDoNotConflict) {
  begin();
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::read_only, .offset = 2, .bytes = 2}));
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .offset = 0, .bytes = 2}));
  EXPECT_FALSE(access(thread(0, 0), {.kind = AccessKind::write, .offset = 4, .bytes = 4}));
}

}  // namespace
}  // namespace sinter::virtual_gpu::shadow_test
