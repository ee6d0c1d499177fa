// The order of launches, and the questions about past accesses.
#include "tests/virtual_gpu/checks/happens_before.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/virtual_gpu/checks/tests/order_fixture.h"

namespace sinter::virtual_gpu::happens_before_test {
namespace {

class HappensBeforeTest : public OrderFixture {};

// ---- Launches ----

TEST_F(HappensBeforeTest, LaunchOrderOrdersAllAccesses) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  begin({first});
  EXPECT_FALSE(read(thread(3, 1)));
  EXPECT_FALSE(write(thread(3, 1)));
}

TEST_F(HappensBeforeTest, LaunchesOfTwoStreamsAreNotOrdered) {
  begin();
  EXPECT_FALSE(write(thread(0, 5)));
  begin();
  EXPECT_TRUE(read(thread(3, 1)));
}

TEST_F(HappensBeforeTest, OrderSkipsALaunchBetween) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  begin();
  EXPECT_FALSE(write(thread(0, 5), 4));
  begin({first});
  EXPECT_FALSE(read(thread(0, 0)));
  EXPECT_TRUE(read(thread(0, 0), 4));
}

TEST_F(HappensBeforeTest, GriddepcontrolWaitOrdersTheThread) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  begin({}, {first});
  EXPECT_TRUE(read(thread(0, 1)));
  order_.wait_for_prior_launches(thread(0, 1));
  EXPECT_FALSE(read(thread(0, 1)));
  EXPECT_TRUE(read(thread(0, 2))) << "thread 2 has not waited";
  order_.block_barrier(block(0));
  EXPECT_FALSE(read(thread(0, 2)));
  EXPECT_TRUE(read(thread(1, 2))) << "block 1 has not waited";
}

TEST_F(HappensBeforeTest, AReadInFrontOfGriddepcontrolWaitConflictsWithTheEarlierLaunchesWrite) {
  const std::uint32_t first = begin();
  BlockClock& early = block(0);
  begin({}, {first});
  EXPECT_FALSE(read(thread(0, 1)));
  EXPECT_TRUE(write(early.threads[5]));
}

TEST_F(HappensBeforeTest, GriddepcontrolWaitReachesThroughAWaitingLaunch) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  const std::uint32_t second = begin({}, {first});
  order_.wait_for_prior_launches(thread(0, 0));
  begin({}, {second});
  order_.wait_for_prior_launches(thread(0, 0));
  EXPECT_FALSE(read(thread(0, 0)));
}

TEST_F(HappensBeforeTest, GriddepcontrolWaitDoesNotReachThroughALaunchThatDidNotWait) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  const std::uint32_t second = begin({}, {first});
  EXPECT_FALSE(write(thread(0, 0), 4));
  begin({}, {second});
  order_.wait_for_prior_launches(thread(0, 0));
  EXPECT_FALSE(read(thread(0, 0), 4));
  EXPECT_TRUE(read(thread(0, 0)));
}

TEST_F(HappensBeforeTest, AnOrderedLaunchIsBehindThoseThatItsPredecessorWaitedFor) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  const std::uint32_t second = begin({}, {first});
  order_.wait_for_prior_launches(thread(0, 0));
  const std::uint32_t third = begin({}, {second});
  order_.wait_for_prior_launches(thread(0, 0));
  begin({third});
  EXPECT_FALSE(read(thread(0, 0)));
}

TEST_F(HappensBeforeTest, AnOrderedLaunchIsNotBehindThoseThatItsPredecessorDidNotWaitFor) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  const std::uint32_t second = begin({}, {first});
  const std::uint32_t beside = begin({}, {first});
  order_.wait_for_prior_launches(thread(0, 0));
  begin({second});
  EXPECT_TRUE(read(thread(0, 0)));
  begin({second, beside});
  EXPECT_FALSE(read(thread(0, 1)));
}

/// Two launches of unordered streams synchronise by memory.
TEST_F(HappensBeforeTest, AFlagOfALaunchAlsoReleasesTheLaunchesBeforeIt) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  begin();
  ThreadClock& beside = thread(0, 1);
  begin({first});
  order_.fence(thread(0, 2));
  EXPECT_FALSE(write_flag(thread(0, 2)));
  EXPECT_TRUE(read(beside));
  EXPECT_FALSE(read_flag(beside));
  EXPECT_TRUE(read(beside));
  order_.fence(beside);
  EXPECT_FALSE(read(beside));
}

TEST_F(HappensBeforeTest, RetiredLaunchesAreBeforeAllLaterOnes) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  EXPECT_FALSE(read_flag(thread(0, 5)));
  order_.retire(first);
  begin();
  EXPECT_FALSE(write(thread(0, 6)));
  EXPECT_FALSE(write(thread(0, 6), kFlag));
  EXPECT_TRUE(read(thread(1, 6)));
}

TEST_F(HappensBeforeTest, RetirementDoesNotOrderARunningLaunch) {
  const std::uint32_t first = begin();
  EXPECT_FALSE(write(thread(0, 5)));
  begin();
  ThreadClock& running = thread(0, 1);
  order_.retire(first);
  EXPECT_TRUE(read(running));
  begin();
  EXPECT_FALSE(read(thread(0, 1)));
}

TEST_F(HappensBeforeTest, LongStreamAsksFewQuestions) {
  int questions = 0;
  for (int i = 0; i < 1000; ++i) {
    launch_ = order_.begin_launch(
        [&](std::uint32_t) {
          ++questions;
          return true;
        },
        {}, "kernel");
    EXPECT_FALSE(write(thread(0, i % 64)));
  }
  EXPECT_LE(questions, 2000);
}

TEST_F(HappensBeforeTest, PositionsNameLaunchBlockAndThread) {
  begin();
  const std::uint32_t launch = begin();
  order_.block_barrier(block(5));
  const AccessStamp stamp = order_.stamp(thread(5, 40), 17);
  EXPECT_EQ(stamp.line, 17);
  const ThreadPosition position = order_.position_of(stamp);
  EXPECT_EQ(position.launch, launch);
  EXPECT_EQ(position.block, 5u);
  EXPECT_EQ(position.thread, 40u);
  EXPECT_TRUE(order_.is_before(stamp, thread(5, 40)));
  EXPECT_FALSE(order_.is_before(stamp, thread(5, 41)));
  EXPECT_EQ(order_.launch_of(stamp.segment), launch);
  EXPECT_EQ(order_.name_of(launch), "kernel");
  EXPECT_EQ(order_.name_of(0), "an earlier launch");
}

/// Counters that each launch uses must not collect the clocks of all launches.
TEST_F(HappensBeforeTest, CounterForgetsOrderedLaunches) {
  std::vector<std::uint32_t> before;
  for (int i = 0; i < 600; ++i) {
    before.push_back(begin(before));
    for (const int number : {0, 40}) {
      EXPECT_FALSE(write(thread(number, 0), number / 10));
      order_.fence(thread(number, 0));
      EXPECT_FALSE(add(thread(number, 0)));
      order_.fence(thread(number, 0));
    }
  }
  EXPECT_FALSE(read(thread(40, 0)));
  EXPECT_LE(thread(40, 0).acquired->size(), 600u);
}

}  // namespace
}  // namespace sinter::virtual_gpu::happens_before_test
