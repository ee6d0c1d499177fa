// The background thread: it runs tasks in order, waits on request, and drops pending tasks at the
// end.
#include "runtime/support/background_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace sinter::background_thread_test {
namespace {

using ::testing::ElementsAre;

TEST(BackgroundThread, RunsTasksInOrder) {
  BackgroundThread background;
  std::vector<int> done;  // only the background thread writes it
  for (int i = 0; i < 4; ++i) background.add([&done, i] { done.push_back(i); });
  background.wait();
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3));
}

TEST(BackgroundThread, DoesNotWaitForLaterTasks) {
  BackgroundThread background;
  std::promise<void> go_on;
  std::atomic<bool> is_done = false;
  background.add([] {});
  background.wait();
  background.add([&] {
    go_on.get_future().wait();
    is_done = true;
  });
  EXPECT_FALSE(is_done);
  go_on.set_value();
  background.wait();
  EXPECT_TRUE(is_done);
}

TEST(BackgroundThread, WaitWithoutTasksReturns) { BackgroundThread().wait(); }

TEST(BackgroundThread, EndsAfterTheCurrentTask) {
  std::promise<void> has_begun;
  std::promise<void> go_on;
  std::atomic<int> done = 0;
  {
    BackgroundThread background;
    background.add([&] {
      has_begun.set_value();
      go_on.get_future().wait();
      ++done;
    });
    for (int i = 0; i < 100; ++i) background.add([&] { done += 100; });
    has_begun.get_future().wait();
    // The destructor runs while the first task is still active.
    background.add([] {});
    go_on.set_value();
  }
  EXPECT_EQ(done % 100, 1);
}

TEST(BackgroundThread, RequestsTheCurrentTaskToStop) {
  std::promise<void> has_begun;
  bool was_asked = false;
  {
    BackgroundThread background;
    background.add([&, stop = background.stop_token()] {
      has_begun.set_value();
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
      was_asked = stop.stop_requested();
    });
    has_begun.get_future().wait();
  }
  EXPECT_TRUE(was_asked);
}

TEST(BackgroundThread, EndsWhileOtherThreadsAddTasks) {
  for (int i = 0; i < 20; ++i) {
    std::thread other;
    {
      BackgroundThread background;
      std::promise<void> has_added;
      other = std::thread([&] {
        for (int j = 0; j < 10; ++j) background.add([] {});
        has_added.set_value();
      });
      has_added.get_future().wait();
    }
    other.join();
  }
}

}  // namespace
}  // namespace sinter::background_thread_test
