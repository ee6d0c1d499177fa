#include "runtime/execution/size_counter.h"

#include <gtest/gtest.h>

namespace sinter::size_counter_test {
namespace {

TEST(SizeCounterTest, ReportsTheLimitOncePerSizes) {
  SizeCounter counter(3);
  const std::int64_t small[] = {4, 5};
  const std::int64_t large[] = {4, 6};
  counter.select(small);
  EXPECT_FALSE(counter.count());
  EXPECT_FALSE(counter.count());
  counter.select(large);
  EXPECT_FALSE(counter.count());
  counter.select(small);
  EXPECT_TRUE(counter.count());
  EXPECT_FALSE(counter.count());
  counter.select(large);
  EXPECT_FALSE(counter.count());
  EXPECT_TRUE(counter.count());
  counter.select(small);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(counter.count());
}

TEST(SizeCounterTest, ALimitOfZeroReportsNothing) {
  SizeCounter counter(0);
  const std::int64_t size = 4;
  counter.select({&size, 1});
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(counter.count());
}

TEST(SizeCounterTest, ForgetsSizesOfProgramsThatHaveMany) {
  SizeCounter counter(2);
  for (std::int64_t size = 0; size < 3000; ++size) {
    counter.select({&size, 1});
    EXPECT_FALSE(counter.count());
  }
  const std::int64_t recent = 2998;
  counter.select({&recent, 1});
  EXPECT_TRUE(counter.count());
}

}  // namespace
}  // namespace sinter::size_counter_test
