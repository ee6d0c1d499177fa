// Each rule of the order between threads of a launch, with its absence: without the synchronisation
// the same accesses are in conflict.
#include <gtest/gtest.h>

#include "tests/virtual_gpu/checks/tests/order_fixture.h"

namespace sinter::virtual_gpu::synchronization_test {
namespace {

class SynchronizationTest : public OrderFixture {};

// ---- Within a block ----

TEST_F(SynchronizationTest, ProgramOrderOrdersAThread) {
  begin();
  EXPECT_FALSE(write(thread(0, 3)));
  EXPECT_FALSE(read(thread(0, 3)));
  EXPECT_FALSE(write(thread(0, 3)));
}

TEST_F(SynchronizationTest, ThreadsOfAWarpAreNotOrdered) {
  begin();
  EXPECT_FALSE(write(thread(0, 3)));
  EXPECT_TRUE(read(thread(0, 4)));
  EXPECT_TRUE(write(thread(0, 4)));
}

TEST_F(SynchronizationTest, ReadsOfTwoThreadsDoNotConflict) {
  begin();
  EXPECT_FALSE(read(thread(0, 3)));
  EXPECT_FALSE(read(thread(0, 4)));
  EXPECT_FALSE(read(thread(1, 4)));
}

TEST_F(SynchronizationTest, BlockBarrierOrdersTheBlock) {
  begin();
  EXPECT_FALSE(write(thread(0, 3)));
  order_.block_barrier(block(0));
  EXPECT_FALSE(read(thread(0, 40)));
  EXPECT_TRUE(write(thread(0, 41))) << "the read of thread 40 is in the same interval";
  order_.block_barrier(block(0));
  EXPECT_FALSE(write(thread(0, 41)));
}

TEST_F(SynchronizationTest, BlockBarrierDoesNotOrderOtherBlocks) {
  begin();
  EXPECT_FALSE(write(thread(0, 3)));
  order_.block_barrier(block(0));
  order_.block_barrier(block(1));
  EXPECT_TRUE(read(thread(1, 3)));
}

TEST_F(SynchronizationTest, BarrierOfSomeThreadsOrdersOnlyThem) {
  begin();
  EXPECT_FALSE(read(thread(0, 3)));
  EXPECT_FALSE(read(thread(0, 4)));
  const std::uint32_t members[] = {3, 4, 7};
  order_.barrier_of(block(0), members);
  EXPECT_TRUE(write(thread(0, 5)));
  EXPECT_FALSE(write(thread(0, 7)));
  EXPECT_TRUE(read(thread(0, 3))) << "the write follows the barrier";
}

// ---- Fences and flags ----

TEST_F(SynchronizationTest, FlagWithTwoFencesOrders) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  order_.fence(thread(1, 0));
  EXPECT_FALSE(read(thread(1, 0)));
}

TEST_F(SynchronizationTest, FlagWithoutFenceOfTheWriterDoesNotOrder) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  order_.fence(thread(1, 0));
  EXPECT_TRUE(read(thread(1, 0)));
}

TEST_F(SynchronizationTest, FlagWithoutFenceOfTheReaderDoesNotOrder) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  EXPECT_TRUE(read(thread(1, 0)));
}

TEST_F(SynchronizationTest, FenceInFrontOfTheWriteDoesNotReleaseIt) {
  begin();
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write(thread(0, 0)));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  order_.fence(thread(1, 0));
  EXPECT_TRUE(read(thread(1, 0)));
}

TEST_F(SynchronizationTest, FenceInFrontOfTheFlagsReadDoesNotAcquire) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  order_.fence(thread(1, 0));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  EXPECT_TRUE(read(thread(1, 0)));
}

TEST_F(SynchronizationTest, ReleaseAndAcquireNeedNoFence) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  order_.strong_write(thread(0, 0), kFlag, false, true);
  EXPECT_FALSE(write(thread(0, 0), 8));
  order_.strong_read(thread(1, 0), kFlag, true);
  EXPECT_FALSE(read(thread(1, 0)));
  EXPECT_TRUE(read(thread(1, 0), 8)) << "this write follows the release";
}

TEST_F(SynchronizationTest, PlainStrongWriteEndsTheReleaseSequence) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(write_flag(thread(1, 0)));
  EXPECT_FALSE(read_flag(thread(2, 0)));
  order_.fence(thread(2, 0));
  EXPECT_TRUE(read(thread(2, 0)));
}

TEST_F(SynchronizationTest, AtomicContinuesTheReleaseSequence) {
  begin();
  EXPECT_FALSE(write(thread(0, 0)));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(add(thread(1, 0)));
  EXPECT_FALSE(read_flag(thread(2, 0)));
  order_.fence(thread(2, 0));
  EXPECT_FALSE(read(thread(2, 0)));
  EXPECT_TRUE(read(thread(1, 0))) << "it has no fence behind the atomic";
}

TEST_F(SynchronizationTest, BarriersCarryKnowledgeToAndFromTheFencingThread) {
  begin();
  EXPECT_FALSE(write(thread(0, 33)));
  order_.block_barrier(block(0));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  order_.fence(thread(1, 0));
  EXPECT_TRUE(read(thread(1, 50)));
  order_.block_barrier(block(1));
  EXPECT_FALSE(read(thread(1, 50)));
}

TEST_F(SynchronizationTest, FlagDoesNotReleaseOtherThreadsWithoutABarrier) {
  begin();
  EXPECT_FALSE(write(thread(0, 33)));
  order_.fence(thread(0, 0));
  EXPECT_FALSE(write_flag(thread(0, 0)));
  EXPECT_FALSE(read_flag(thread(1, 0)));
  order_.fence(thread(1, 0));
  EXPECT_TRUE(read(thread(1, 0)));
}

// ---- Patterns of kernels ----

/// `last_block` of the prelude: the block that arrives last combines the results of all blocks.
class LastBlockTest : public OrderFixture, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kBlocks = 40;
  enum { kBarrierBefore = 1, kFenceBefore = 2, kFenceBehind = 4, kBarrierBehind = 8 };
  /// Omits the given parts. True if the last block's reads conflict.
  bool run(int omitted) {
    begin();
    bool result = false;
    for (int i = 0; i < kBlocks; ++i) {
      EXPECT_FALSE(write(thread(i, 33), 4 * i));
      if (!(omitted & kBarrierBefore)) order_.block_barrier(block(i));
      if (!(omitted & kFenceBefore)) order_.fence(thread(i, 0));
      EXPECT_FALSE(add(thread(i, 0)));
      // The last block resets the counter by a weak write, which observes all atomics.
      if (i == kBlocks - 1) {
        EXPECT_FALSE(write(thread(i, 0), kFlag));
      }
      if (!(omitted & kFenceBehind)) order_.fence(thread(i, 0));
      if (!(omitted & kBarrierBehind)) order_.block_barrier(block(i));
    }
    for (int i = 0; i < kBlocks; ++i) result |= read(thread(kBlocks - 1, 5), 4 * i);
    return result;
  }
};
TEST_F(LastBlockTest, OrdersAllBlocks) { EXPECT_FALSE(run(0)); }
TEST_P(LastBlockTest, NeedsEachPart) { EXPECT_TRUE(run(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Parts, LastBlockTest, ::testing::Values(1, 2, 4, 8));

TEST_F(SynchronizationTest, WeakResetOfTheCounterConflictsWithALaterAtomic) {
  begin();
  EXPECT_FALSE(add(thread(0, 0)));
  EXPECT_FALSE(add(thread(1, 0)));
  EXPECT_FALSE(write(thread(1, 0), kFlag));
  EXPECT_TRUE(add(thread(2, 0)));
}

TEST_F(SynchronizationTest, WeakResetWithoutObservationConflicts) {
  begin();
  EXPECT_FALSE(add(thread(0, 0)));
  EXPECT_TRUE(write(thread(1, 0), kFlag));
}

/// Decoupled look-back: each block hands the flags of all earlier blocks on.
TEST_F(SynchronizationTest, LookBackOrdersAllEarlierBlocks) {
  constexpr int kBlocks = 70;
  begin();
  for (int i = 0; i < kBlocks; ++i) {
    if (i) {
      EXPECT_FALSE(read_flag(thread(i, 0), kFlag + 4 * (i - 1)));
      order_.fence(thread(i, 0));
    }
    EXPECT_FALSE(write(thread(i, 0), 4 * i));
    order_.block_barrier(block(i));
    for (int earlier = 0; earlier <= i; ++earlier) EXPECT_FALSE(read(thread(i, 9), 4 * earlier));
    order_.block_barrier(block(i));
    order_.fence(thread(i, 0));
    EXPECT_FALSE(write_flag(thread(i, 0), kFlag + 4 * i));
  }
  EXPECT_TRUE(read(thread(kBlocks, 0), 0));
}

/// Barrier of a cooperative grid: an atomic, then a spin on a volatile read.
TEST_F(SynchronizationTest, GridBarrierOrdersAllBlocks) {
  constexpr int kBlocks = 8;
  begin();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      EXPECT_FALSE(write(thread(i, 7), 4 * ((i + round) % kBlocks)));
      order_.block_barrier(block(i));
      order_.fence(thread(i, 0));
      EXPECT_FALSE(add(thread(i, 0)));
      for (int spinning = 0; spinning <= i; ++spinning)
        EXPECT_FALSE(read_flag(thread(spinning, 0)));
    }
    for (int i = 0; i < kBlocks; ++i) {
      EXPECT_FALSE(read_flag(thread(i, 0)));
      order_.fence(thread(i, 0));
      order_.block_barrier(block(i));
    }
  }
  for (int i = 0; i < kBlocks; ++i) EXPECT_FALSE(read(thread(0, 1), 4 * i));
}

TEST_F(SynchronizationTest, GridBarrierDoesNotCoverTheTimeBehindIt) {
  begin();
  for (const int i : {0, 1}) {
    order_.fence(thread(i, 0));
    EXPECT_FALSE(add(thread(i, 0)));
  }
  for (const int i : {0, 1}) {
    EXPECT_FALSE(read_flag(thread(i, 0)));
    order_.fence(thread(i, 0));
  }
  EXPECT_FALSE(write(thread(0, 0)));
  EXPECT_TRUE(read(thread(1, 0)));
}

// ---- Clusters ----

class ClusterTest : public OrderFixture {
 protected:
  void arrive(int number, bool is_release = true) {
    for (ThreadClock& one : block(number).threads) order_.cluster_arrive(one, 7, is_release);
  }
  void wait(int number, bool is_acquire = true) {
    for (ThreadClock& one : block(number).threads) order_.cluster_wait(one, 7, is_acquire);
  }
};

TEST_F(ClusterTest, BarrierOrdersWritesToSharedMemoryOfAnotherBlock) {
  begin();
  EXPECT_FALSE(write(thread(1, 9)));
  arrive(0);
  arrive(1);
  wait(0);
  wait(1);
  EXPECT_FALSE(read(thread(0, 40)));
  EXPECT_FALSE(write(thread(1, 41), 4));
  EXPECT_TRUE(read(thread(0, 40), 4)) << "this write follows the barrier";
}

TEST_F(ClusterTest, RelaxedArrivalOrdersNothing) {
  begin();
  EXPECT_FALSE(write(thread(1, 9)));
  arrive(0);
  arrive(1, false);
  wait(0);
  EXPECT_TRUE(read(thread(0, 40)));
}

TEST_F(ClusterTest, WaitWithoutAcquireOrdersNothing) {
  begin();
  EXPECT_FALSE(write(thread(1, 9)));
  arrive(0);
  arrive(1);
  wait(0, false);
  EXPECT_TRUE(read(thread(0, 40)));
}

TEST_F(ClusterTest, AccessesBetweenArrivalAndWaitAreNotOrdered) {
  begin();
  arrive(0);
  EXPECT_FALSE(write(thread(0, 9)));
  arrive(1);
  EXPECT_FALSE(write(thread(1, 9), 4));
  wait(0);
  wait(1);
  EXPECT_TRUE(read(thread(1, 9)));
  EXPECT_TRUE(read(thread(0, 9), 4));
  EXPECT_TRUE(read(thread(0, 10))) << "threads of the same block are not ordered either";
  order_.block_barrier(block(0));
  EXPECT_FALSE(read(thread(0, 10)));
}

TEST_F(ClusterTest, OneRelaxedThreadDoesNotWeakenTheOthers) {
  begin();
  EXPECT_FALSE(write(thread(1, 9)));
  EXPECT_FALSE(write(thread(1, 10), 4));
  arrive(0);
  for (ThreadClock& one : block(1).threads) order_.cluster_arrive(one, 7, one.thread != 10);
  wait(0);
  EXPECT_FALSE(read(thread(0, 40)));
  EXPECT_TRUE(read(thread(0, 40), 4));
}

}  // namespace
}  // namespace sinter::virtual_gpu::synchronization_test
