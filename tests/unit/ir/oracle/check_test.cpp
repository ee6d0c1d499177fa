// check: which results pass, the worst error relative to its bound, and the report of the first bad
// element.
#include "ir/oracle/check.h"

#include "sinter/error.h"
#include "tests/support/graphs/oracle_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::check_test {
namespace {

Expected expected(std::vector<double> values, std::vector<double> bounds) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {.dtype = f32, .shape = {count}, .reals = std::move(values), .bounds = std::move(bounds)};
}

TEST(CheckTest, EqualValuesPassWithoutABound) {
  const CheckResult result =
      check(expected({1, kInf, kNaN, -0.0}, {}), array(f32, {1, kInf, kNaN, 0}));
  EXPECT_TRUE(result.passes());
  EXPECT_EQ(result.worst, 0);
  EXPECT_EQ(result.elements, 4);
}

TEST(CheckTest, WorstIsTheLargestErrorOverBound) {
  const CheckResult result = check(expected({1, 2}, {0.5, 0.5}), array(f32, {1.25, 2.125}));
  EXPECT_TRUE(result.passes());
  EXPECT_EQ(result.worst, 0.5);
}

TEST(CheckTest, BoundsAreInclusive) {
  EXPECT_TRUE(check(expected({1}, {0.25}), array(f32, {1.25})).passes());
  EXPECT_FALSE(check(expected({1}, {0.25}), array(f32, {1.2500001})).passes());
}

TEST(CheckTest, DifferenceWithoutABoundIsInfinite) {
  const CheckResult result = check(expected({1, 2}, {}), array(f32, {1, 2.0000002}));
  EXPECT_FALSE(result.passes());
  EXPECT_EQ(result.worst, kInf);
  EXPECT_THAT(result.first_bad->index, testing::ElementsAre(1));
}

TEST(CheckTest, NanAndInfinityMustMatch) {
  EXPECT_FALSE(check(expected({kNaN}, {1}), array(f32, {1})).passes());
  EXPECT_FALSE(check(expected({1}, {1}), array(f32, {kNaN})).passes());
  EXPECT_FALSE(check(expected({kInf}, {}), array(f32, {3e38})).passes());
  EXPECT_FALSE(check(expected({kInf}, {}), array(f32, {-kInf})).passes());
  EXPECT_FALSE(check(expected({1}, {1e30}), array(f32, {kInf})).passes());
}

TEST(CheckTest, CountsButDoesNotCheckUndecidedElements) {
  const CheckResult result = check(expected({1, 2, 3}, {0, kInf, kInf}), array(f32, {1, 9, kNaN}));
  EXPECT_TRUE(result.passes());
  EXPECT_EQ(result.undecided, 2);
  EXPECT_EQ(result.worst, 0);
}

TEST(CheckTest, LargeIntegersMustBeEqual) {
  const std::vector<std::int64_t> values = {(1LL << 53) + 1};
  const Expected wanted{.dtype = i64, .shape = {1}, .integers = values};
  EXPECT_TRUE(check(wanted, integer_array(i64, {1}, values)).passes());
  const std::vector<std::int64_t> near = {1LL << 53};
  EXPECT_FALSE(check(wanted, integer_array(i64, {1}, near)).passes());
}

TEST(CheckTest, ReadsStridedResults) {
  const Expected wanted{.dtype = f32, .shape = {2, 2}, .reals = {0, 2, 1, 3}};
  HostArray columns(f32, {2, 2}, {1, 2});
  for (std::int64_t i = 0; i < 4; ++i) columns.set_real_at(i, static_cast<double>(i));
  EXPECT_TRUE(check(wanted, columns).passes());
}

TEST(CheckTest, DescribesTheFirstBadElement) {
  const Expected wanted{
      .dtype = f32, .shape = {2, 2}, .reals = {0, 1, 2, 3}, .bounds = {0, 0.5, 0.5, 0.5}};
  EXPECT_EQ(describe("y", check(wanted, array(f32, {2, 2}, {0, 1.25, 4, 5}))),
            "y: 2 of 4 elements are beyond their bounds, worst error/bound 4; first at [1, 0]: "
            "device 4, expected 2, bound 0.5");
  EXPECT_EQ(describe("y", check(wanted, array(f32, {2, 2}, {0, 1.25, 2, 3}))),
            "y: 4 elements within bounds, worst error/bound 0.5");
  EXPECT_EQ(describe("y", check(expected({1, 2}, {0, kInf}), array(f32, {1, 5}))),
            "y: 1 elements within bounds, worst error/bound 0, 1 undecided");
}

TEST(CheckTest, RejectsAnotherShapeOrDType) {
  EXPECT_THROW(check(expected({1, 2}, {}), array(f32, {1})), UserError);
  EXPECT_THROW(check(expected({1}, {}), array(f64, {1})), UserError);
}

}  // namespace
}  // namespace sinter::check_test
