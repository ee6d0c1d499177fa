// The size classes of reduced extents: all lengths of a class have one reduction tree, and need
// about as much space.
#include "compiler/program/size_class.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/program/reduction_tree.h"

namespace sinter::test::size_class_test {
namespace {

constexpr std::int64_t kLongest = (std::int64_t{1} << 21) + 3;

TEST(SizeClasses, FollowOneAnotherWithoutGaps) {
  std::int64_t next = 1;
  while (next <= std::int64_t{1} << 21) {
    const SizeClass sizes = class_of_residency(next);
    ASSERT_EQ(sizes.low, next);
    ASSERT_GE(sizes.high, next);
    const SizeClass of_last = class_of_residency(sizes.high);
    ASSERT_EQ(of_last.low, sizes.low);
    ASSERT_EQ(of_last.high, sizes.high);
    next = sizes.high + 1;
  }
}

TEST(SizeClasses, HoldTheLengthsBetweenTheirEnds) {
  for (std::int64_t length = 1; length < 70'000; ++length) {
    const SizeClass sizes = class_of_residency(length);
    ASSERT_TRUE(sizes.low <= length && length <= sizes.high) << length;
    ASSERT_EQ(class_of_residency(sizes.low).high, sizes.high) << length;
  }
}

TEST(SizeClasses, KeepTheTree) {
  for (std::int64_t length = 1; length < kLongest; length = length * 17 / 16 + 1) {
    const Tree tree = tree_of(length);
    const SizeClass of_tree = class_of_tree(length);
    for (const std::int64_t other : {class_of_residency(length).low,
                                     class_of_residency(length).high, of_tree.low, of_tree.high}) {
      if (other == INT64_MAX) continue;
      ASSERT_EQ(tree_of(other).parts, tree.parts) << length << " and " << other;
      ASSERT_EQ(tree_of(other).accumulators, tree.accumulators) << length << " and " << other;
    }
  }
}

TEST(SizeClasses, OfTreesEndWhereTheTreeChanges) {
  for (std::int64_t length = 1; length < kLongest; length = length * 5 / 4 + 1) {
    const SizeClass sizes = class_of_tree(length);
    for (const std::int64_t outside : {sizes.low - 1, sizes.high}) {
      if (outside == 0 || outside == INT64_MAX) continue;
      const std::int64_t other = outside == sizes.high ? outside + 1 : outside;
      EXPECT_TRUE(tree_of(other).parts != tree_of(length).parts ||
                  tree_of(other).accumulators != tree_of(length).accumulators)
          << length << " and " << other;
    }
  }
}

TEST(SizeClasses, AreTwentyFrom128To65536) {
  std::set<std::int64_t> ends;
  for (std::int64_t length = 128; length <= 65'536; ++length)
    ends.insert(class_of_residency(length).high);
  EXPECT_EQ(ends.size(), 20U);
}

TEST(SizeClasses, NeedAtMostOneAndAHalfTimesTheSpaceOfTheirShortest) {
  for (std::int64_t length = 1025; length <= std::int64_t{1} << 21; length = length * 9 / 8) {
    const SizeClass sizes = class_of_residency(length);
    EXPECT_LE(2 * sizes.high, 3 * sizes.low) << length;
  }
}

/// Powers of two are the most frequent lengths.
TEST(SizeClasses, WasteNothingForPowersOfTwo) {
  for (std::int64_t length = 1024; length <= std::int64_t{1} << 21; length *= 2)
    EXPECT_EQ(class_of_residency(length).high, length);
}

TEST(SizeClasses, OfZeroHoldNothingElse) {
  EXPECT_EQ(class_of_tree(0).high, 0);
  EXPECT_EQ(class_of_residency(0).high, 0);
}

TEST(SizeClasses, GiveTheChunksOfAPart) {
  for (const std::int64_t length : {1, 8191, 8192, 8193, 50'257, 65'535, 65'536})
    EXPECT_EQ(chunks_per_part(length, tree_of(length).parts).number(),
              tree_of(length).chunks_per_part)
        << length;
}

}  // namespace
}  // namespace sinter::test::size_class_test
