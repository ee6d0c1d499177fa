// map_store: the positions that store a result of another shape. The tests enumerate all positions
// and check that each element is stored once.
#include "compiler/body_building/store_mapping.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::store_mapping_test {
namespace {

/// A body with parallel axes of `extents` and nothing else.
Body space_of(std::initializer_list<Extent> extents) {
  Body body;
  for (const Extent extent : extents) body.space.add_axis(extent);
  body.parallel_axes = body.space.axis_count();
  return body;
}

/// The number of stores of each element. Each store out of bounds appends -1.
std::vector<int> times_stored(const Body& body, const Index& element, const StoreMapping& cover,
                              std::int64_t size) {
  std::vector<int> times(static_cast<std::size_t>(size), 0);
  std::vector<std::int64_t> at(static_cast<std::size_t>(body.parallel_axes), 0);
  const std::int64_t count = evaluate(body.parallel_size(), {});
  for (std::int64_t position = 0; position < count; ++position) {
    std::int64_t rest = position;
    for (std::size_t axis = at.size(); axis-- > 0;) {
      const std::int64_t extent = body.space.extent(static_cast<int>(axis)).number();
      at[axis] = rest % extent;
      rest /= extent;
    }
    const bool stores = std::ranges::all_of(cover.conditions, [&](const Condition& condition) {
      const std::int64_t value = evaluate(condition.at, at, {});
      return condition.begin.number() <= value && value < condition.end.number();
    });
    if (!stores) continue;
    const std::int64_t where = evaluate(element, at, {});
    if (where < 0 || where >= size)
      times.push_back(-1);
    else
      ++times[static_cast<std::size_t>(where)];
  }
  return times;
}

void expect_each_once(Body& body, const Site& site, const std::vector<Extent>& shape) {
  const std::optional<StoreMapping> covered = map_store(body, false, site, shape);
  ASSERT_TRUE(covered);
  const std::int64_t size = evaluate(product(shape), {});
  EXPECT_THAT(times_stored(body, body.space.linearize(site.position, shape), *covered, size),
              testing::Each(1));
}

TEST(StoreMapping, StoresAChannelAtItsFirstElement) {
  Body body = space_of({2, 3, 4, 5});
  expect_each_once(body, {.position = {body.space.axis(1)}}, {3});
}

TEST(StoreMapping, StoresAScalarAtTheFirstPosition) {
  Body body = space_of({2, 3});
  const std::optional<StoreMapping> covered = map_store(body, false, {}, {});
  ASSERT_TRUE(covered);
  EXPECT_EQ(covered->conditions.size(), 1U) << "neighbouring axes share one condition";
  expect_each_once(body, {}, {});
}

TEST(StoreMapping, StoresDigitsOfAnAxis) {
  Body body = space_of({24, 5});
  IndexSpace& space = body.space;
  const Index middle = space.modulo(space.divide(space.axis(0), 3), 4);
  expect_each_once(body, {.position = {middle}}, {4});
  expect_each_once(body, {.position = {space.axis(1), space.divide(space.axis(0), 6)}}, {5, 4});
}

TEST(StoreMapping, StoresReversedAxes) {
  Body body = space_of({4, 5});
  IndexSpace& space = body.space;
  const Index back = space.add(space.scale(space.axis(1), -1), constant_index(4));
  expect_each_once(body, {.position = {back}}, {5});
}

TEST(StoreMapping, StoresSegmentsUnderTheirConditions) {
  Body body = space_of({3, 20});
  IndexSpace& space = body.space;
  const Index inside = space.add(space.axis(1), constant_index(-6));
  const Condition segment = {.at = space.axis(1), .begin = 6, .end = 18};
  expect_each_once(body, {.position = {space.axis(0), inside}, .conditions = {segment}}, {3, 12});
  expect_each_once(body, {.position = {inside}, .conditions = {segment}}, {12});
  // A segment whose axis is split further.
  expect_each_once(
      body,
      {.position = {space.divide(inside, 4), space.modulo(inside, 4)}, .conditions = {segment}},
      {3, 4});
  expect_each_once(body, {.position = {space.divide(inside, 4)}, .conditions = {segment}}, {3});
  // A segment of a segment.
  const Condition inner = {.at = inside, .begin = 2, .end = 7};
  expect_each_once(
      body, {.position = {space.add(inside, constant_index(-2))}, .conditions = {segment, inner}},
      {5});
}

/// A proof for a complete site also holds for all its rearrangements.
TEST(StoreMapping, StoresARearrangementOfACompleteSite) {
  Body body = space_of({28, 5});
  IndexSpace& space = body.space;
  const Extent shape[] = {28};
  Node complete;
  complete.shape = shape;
  const auto origin =
      std::make_shared<const Site>(Site{.node = &complete, .position = {space.axis(0)}});
  const Index rotated = space.modulo(space.add(space.axis(0), constant_index(25)), 28);
  expect_each_once(
      body,
      {.position = {space.divide(rotated, 7), space.modulo(rotated, 7)}, .complete_site = origin},
      {4, 7});
}

TEST(StoreMapping, RejectsIncompleteSites) {
  Body body = space_of({3, 20});
  IndexSpace& space = body.space;
  const auto covers = [&](const Site& site, std::vector<Extent> shape) {
    return map_store(body, false, site, shape).has_value();
  };
  EXPECT_FALSE(covers({.position = {space.axis(1)}}, {21}));
  EXPECT_FALSE(covers({.position = {space.scale(space.axis(1), 2)}}, {40}));
  EXPECT_FALSE(covers({.position = {space.axis(1), space.axis(1)}}, {20, 20}));
  EXPECT_FALSE(covers({.position = {space.add(space.axis(0), space.axis(1))}}, {22}));
  EXPECT_FALSE(covers({.position = {space.divide(space.axis(1), 3)}}, {7}))
      << "3 does not divide 20";
  const Condition segment = {.at = space.axis(1), .begin = 0, .end = 10};
  EXPECT_FALSE(covers({.position = {space.axis(1)}, .conditions = {segment}}, {20}));
  const Condition both = {.at = space.add(space.axis(0), space.axis(1)), .begin = 0, .end = 10};
  EXPECT_FALSE(covers({.position = {space.axis(0)}, .conditions = {both}}, {3}));
}

TEST(StoreMapping, RejectsEmptySpaces) {
  Body body = space_of({0, 4});
  EXPECT_FALSE(map_store(body, false, {.position = {body.space.axis(1)}}, std::vector<Extent>{4}));
}

}  // namespace
}  // namespace sinter::test::store_mapping_test
