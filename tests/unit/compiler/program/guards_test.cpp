// Guards: the assumptions of a program about its symbols.
#include "compiler/program/guards.h"

#include "compiler/plan.h"
#include "sinter/error.h"

#include <gtest/gtest.h>

namespace sinter::guards_test {
namespace {

class GuardsTest : public testing::Test {
 protected:
  Graph graph_{"g"};
  Extent rows_ = graph_.extent("rows");
  Extent columns_ = graph_.extent("columns");
  Program program_;
};

TEST_F(GuardsTest, HoldIfEachGuardHolds) {
  program_.guards = {{.value = rows_ * 4, .low = 8, .high = 16},
                     {.value = columns_, .low = 0, .divisor = 8}};
  const std::int64_t valid[] = {4, 64};
  EXPECT_TRUE(holds(program_, valid));
  EXPECT_EQ(broken_guard(program_, valid), "");
}

TEST_F(GuardsTest, BreakOutsideTheRangeOrDivisor) {
  program_.guards = {{.value = rows_ * 4, .low = 8, .high = 16, .reason = "rows fit a block"},
                     {.value = columns_, .divisor = 8, .reason = "vectors are whole"}};
  const std::int64_t below[] = {1, 64}, above[] = {5, 64}, between[] = {4, 63};
  EXPECT_FALSE(holds(program_, below));
  EXPECT_EQ(broken_guard(program_, below), "rows * 4 = 4 is not in [8, 16]: rows fit a block");
  EXPECT_EQ(broken_guard(program_, above), "rows * 4 = 20 is not in [8, 16]: rows fit a block");
  EXPECT_EQ(broken_guard(program_, between),
            "columns = 63 is not divisible by 8: vectors are whole");
}

TEST_F(GuardsTest, LimitsAreInclusive) {
  program_.guards = {{.value = rows_, .low = 2, .high = 3}};
  const std::int64_t low[] = {2, 0}, high[] = {3, 0};
  EXPECT_TRUE(holds(program_, low));
  EXPECT_TRUE(holds(program_, high));
}

TEST_F(GuardsTest, WithoutAnUpperLimit) {
  program_.guards = {{.value = rows_, .low = 5}};
  const std::int64_t symbols[] = {4, 0};
  EXPECT_EQ(broken_guard(program_, symbols), "rows = 4 is not at least 5");
}

TEST_F(GuardsTest, MergesGuardsOfOneExtent) {
  std::vector<Guard> guards;
  add_guard(guards, {.value = rows_, .low = 1, .high = 100, .divisor = 4, .reason = "a"});
  add_guard(guards, {.value = rows_, .low = 0, .high = 50, .divisor = 6, .reason = "b"});
  add_guard(guards, {.value = rows_, .low = 0, .reason = "c"});
  ASSERT_EQ(guards.size(), 1U);
  EXPECT_EQ(to_string(guards[0]), "rows in [1, 50], divisible by 12");
  EXPECT_EQ(guards[0].reason, "a; b");
}

TEST_F(GuardsTest, WithoutALowerLimit) {
  program_.guards = {{.value = rows_ * 4 - 8, .high = 16}};
  const std::int64_t empty[] = {0, 0}, above[] = {7, 0};
  EXPECT_TRUE(holds(program_, empty));
  EXPECT_EQ(broken_guard(program_, above), "rows * 4 - 8 = 20 is not at most 16");
  EXPECT_EQ(to_string(program_.guards[0]), "rows * 4 - 8 at most 16");
  EXPECT_EQ(to_string(Guard{.value = rows_, .divisor = 8}), "rows divisible by 8");
}

TEST_F(GuardsTest, ConstantsAreNotGuarded) {
  std::vector<Guard> guards;
  add_guard(guards, {.value = 64, .low = 1});
  EXPECT_TRUE(guards.empty());
}

TEST_F(GuardsTest, DivisorsArePositive) {
  std::vector<Guard> guards;
  EXPECT_THROW(add_guard(guards, {.value = rows_, .divisor = 0}), InternalError);
}

}  // namespace
}  // namespace sinter::guards_test
