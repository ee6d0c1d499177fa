#include "runtime/support/weak_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace sinter::weak_map_test {
namespace {

TEST(WeakMap, FindsWhatSomebodyKeeps) {
  WeakMap<int, int> map;
  auto kept = std::make_shared<int>(5);
  map.put(1, kept);
  map.put(2, std::make_shared<int>(6));
  EXPECT_EQ(map.find(1), kept);
  EXPECT_EQ(map.find(2), nullptr);
  EXPECT_EQ(map.find(3), nullptr);
  const auto other = std::make_shared<int>(7);
  map.put(1, other);
  EXPECT_EQ(map.find(1), other);
}

TEST(WeakMap, DoesNotGrowWithWhatIsGone) {
  WeakMap<int, int> map;
  std::vector<std::shared_ptr<int>> kept;
  for (int i = 0; i < 100; ++i) {
    kept.push_back(std::make_shared<int>(i));
    map.put(i, kept.back());
  }
  for (int i = 100; i < 10'000; ++i) map.put(i, std::make_shared<int>(i));
  EXPECT_LE(map.size(), 300U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(map.find(i), kept[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace sinter::weak_map_test
