// Work in the background: in order, waited for where that is asked, and dropped at the end.
#include "runtime/background.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace sinter {
namespace {

using ::testing::ElementsAre;

TEST(Background, DoesOneAfterTheOther) {
  Background background;
  std::vector<int> done;  // by one thread
  for (int i = 0; i < 4; ++i) background.add([&done, i] { done.push_back(i); });
  background.wait();
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3));
}

TEST(Background, WaitsForNothingThatIsAddedLater) {
  Background background;
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

TEST(Background, NothingToWaitForIsNotWaitedFor) { Background().wait(); }

TEST(Background, EndsWithWhatItIsDoing) {
  std::promise<void> has_begun;
  std::promise<void> go_on;
  std::atomic<int> done = 0;
  {
    Background background;
    background.add([&] {
      has_begun.set_value();
      go_on.get_future().wait();
      ++done;
    });
    for (int i = 0; i < 100; ++i) background.add([&] { done += 100; });
    has_begun.get_future().wait();
    // It is destroyed while the first task still runs.
    background.add([] {});
    go_on.set_value();
  }
  EXPECT_EQ(done % 100, 1);
}

}  // namespace
}  // namespace sinter
