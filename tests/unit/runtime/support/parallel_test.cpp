// run_parallel: exceptions of jobs.
#include "runtime/support/parallel.h"

#include <atomic>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace sinter::parallel_test {
namespace {

TEST(ParallelTest, RethrowsTheFirstFailureAfterAllJobs) {
  std::atomic<int> ended = 0;
  std::vector<std::function<void()>> jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back([&ended, i] {
      ++ended;
      if (i >= 7) throw std::runtime_error(std::to_string(i));
    });
  try {
    run_parallel(jobs);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(ended, 20);
}

}  // namespace
}  // namespace sinter::parallel_test
