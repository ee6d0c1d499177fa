// Phases, arrivals and transactions of an mbarrier object.
#include "tests/virtual_gpu/execution/async/mbarrier_counts.h"

#include <gtest/gtest.h>

namespace sinter::virtual_gpu::mbarrier_counts_test {
namespace {

MBarrierCounts barrier_of(std::uint32_t count) {
  MBarrierCounts counts;
  EXPECT_EQ(counts.init(count), "");
  return counts;
}

TEST(MBarrierCounts, APhaseEndsWithTheLastArrival) {
  MBarrierCounts counts = barrier_of(3);
  EXPECT_EQ(counts.arrive(2), "");
  EXPECT_FALSE(counts.advance());
  EXPECT_EQ(counts.pending(), 1U);
  EXPECT_EQ(counts.arrive(1), "");
  EXPECT_TRUE(counts.advance());
  EXPECT_EQ(counts.phase(), 1U);
  EXPECT_EQ(counts.pending(), 3U);
  EXPECT_FALSE(counts.advance());
}

TEST(MBarrierCounts, APhaseAwaitsItsBytes) {
  MBarrierCounts counts = barrier_of(1);
  EXPECT_EQ(counts.expect(64), "");
  EXPECT_EQ(counts.arrive(1), "");
  EXPECT_FALSE(counts.advance());
  EXPECT_EQ(counts.complete(48), "");
  EXPECT_FALSE(counts.advance());
  EXPECT_EQ(counts.complete(16), "");
  EXPECT_TRUE(counts.advance());
}

TEST(MBarrierCounts, BytesMayCompleteBeforeTheyAreExpected) {
  MBarrierCounts counts = barrier_of(1);
  EXPECT_EQ(counts.complete(64), "");
  EXPECT_EQ(counts.bytes(), -64);
  EXPECT_FALSE(counts.advance());
  EXPECT_EQ(counts.expect(64), "");
  EXPECT_FALSE(counts.advance());  // the arrival is missing
  EXPECT_EQ(counts.arrive(1), "");
  EXPECT_TRUE(counts.advance());
}

TEST(MBarrierCounts, DroppedArrivalsAreNotExpectedLater) {
  MBarrierCounts counts = barrier_of(3);
  EXPECT_EQ(counts.drop(1), "");
  EXPECT_EQ(counts.arrive(1), "");
  EXPECT_EQ(counts.pending(), 2U);
  EXPECT_EQ(counts.arrive(2), "");
  EXPECT_TRUE(counts.advance());
  EXPECT_EQ(counts.pending(), 2U);
  EXPECT_EQ(counts.drop(3), "3 arrivals are dropped, but phases expect 2");
}

TEST(MBarrierCounts, LimitsOfTheCounts) {
  MBarrierCounts counts;
  EXPECT_EQ(counts.init(0), "the count 0 is not from 1 to 1048575");
  EXPECT_EQ(counts.init(1048576), "the count 1048576 is not from 1 to 1048575");
  EXPECT_EQ(counts.init(1048575), "");
  EXPECT_EQ(counts.increment(), "more than 1048575 pending arrivals");
  EXPECT_EQ(counts.arrive(0), "the count 0 is not from 1 to 1048575");
  EXPECT_EQ(counts.arrive(1048575), "");
  EXPECT_EQ(counts.arrive(1), "1 arrivals at a phase that awaits 0 more");
  EXPECT_EQ(counts.increment(), "");
  EXPECT_EQ(counts.pending(), 1U);
  EXPECT_EQ(counts.expect(1048575), "");
  EXPECT_EQ(counts.expect(1),
            "the tx-count becomes 1048576, its magnitude must be at most 1048575");
}

TEST(MBarrierCounts, ANegativeCountHasALimitToo) {
  MBarrierCounts counts = barrier_of(1);
  EXPECT_EQ(counts.complete(1048575), "");
  EXPECT_EQ(counts.complete(1),
            "the tx-count becomes -1048576, its magnitude must be at most 1048575");
}

TEST(MBarrierCounts, AnArrivalWithNoCompleteMustLeaveThePhaseOpen) {
  MBarrierCounts counts = barrier_of(2);
  EXPECT_EQ(counts.arrive(1, true), "");
  EXPECT_EQ(counts.arrive(1, true), "the arrival has .noComplete, but it completes the phase");
  EXPECT_EQ(counts.expect(16), "");
  EXPECT_EQ(counts.arrive(1, true), "");  // the bytes keep the phase open
}

}  // namespace
}  // namespace sinter::virtual_gpu::mbarrier_counts_test
