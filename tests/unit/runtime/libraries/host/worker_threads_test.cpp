// Jobs run once each, on threads with numbers of their own.
#include "runtime/libraries/host/worker_threads.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/errors.h"

namespace sinter::worker_threads_test {
namespace {

TEST(WorkerThreads, EachJobRunsOnce) {
  for (const std::int64_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
    run_jobs(count, 64, [&](int, std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const std::atomic<int>& one : runs) EXPECT_EQ(one, 1);
  }
}

TEST(WorkerThreads, NoTwoThreadsHaveOneNumber) {
  std::vector<std::atomic<bool>> is_used(64);
  std::atomic<bool> is_shared = false;
  std::atomic<int> most = 0;
  run_jobs(2000, 3, [&](int worker, std::int64_t) {
    if (is_used[static_cast<std::size_t>(worker)].exchange(true)) is_shared = true;
    if (worker > most) most = worker;
    std::this_thread::yield();
    is_used[static_cast<std::size_t>(worker)] = false;
  });
  EXPECT_FALSE(is_shared);
  EXPECT_LT(most, 3);
}

TEST(WorkerThreads, FailuresReachTheCaller) {
  const auto fails = [] {
    run_jobs(100, 64, [](int, std::int64_t i) {
      if (i == 7) throw std::runtime_error("the seventh");
    });
  };
  EXPECT_EQ(test::error_of<std::runtime_error>(fails), "the seventh");
  std::atomic<int> runs = 0;  // the threads stay usable
  run_jobs(100, 64, [&](int, std::int64_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

TEST(WorkerThreads, SeveralCallersDoNotWaitForOneAnother) {
  std::atomic<int> runs = 0;
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) run_jobs(20, 64, [&](int, std::int64_t) { ++runs; });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back(work);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(runs, 4 * 50 * 20);
  // A job may use the threads, too: its jobs run on its own thread.
  runs = 0;
  run_jobs(8, 64, [&](int, std::int64_t) { run_jobs(5, 64, [&](int, std::int64_t) { ++runs; }); });
  EXPECT_EQ(runs, 40);
}

}  // namespace
}  // namespace sinter::worker_threads_test
