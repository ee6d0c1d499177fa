// Steps, alignment and conditions along a vector, compared with an evaluation of each element.
#include "compiler/body/access.h"

#include <random>

#include <gtest/gtest.h>

#include "compiler/tiling/vector_width.h"
#include "tests/support/graphs/index_text.h"

namespace sinter::access_test {
namespace {

Condition piece(const Index& at, std::int64_t begin, std::int64_t end) {
  return {.at = at, .begin = begin, .end = end};
}

/// A random index over two axes, of the forms that views create.
Index random_view(std::mt19937& random, IndexSpace& space, int depth) {
  if (depth == 0) return space.axis(static_cast<int>(random() % 2));
  const Index a = random_view(random, space, depth - 1);
  constexpr std::int64_t kNumbers[] = {1, 2, 3, 4, 8, 16, 24, 64};
  const std::int64_t number = kNumbers[random() % 8];
  switch (random() % 5) {
    case 0: return space.add(a, constant_index(number));
    case 1: return space.add(space.scale(a, number), random_view(random, space, depth - 1));
    case 2: return space.divide(a, number);
    case 3: return space.scale(a, number);
    default: return space.modulo(a, number);
  }
}

TEST(Access, StepsAndConditionsHoldInEveryVector) {
  int found = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    IndexSpace space;
    space.add_axis(5);
    space.add_axis(64);
    const Index at = random_view(random, space, 3);
    const int width = 1 << (1 + random() % 3);
    const auto begin = static_cast<std::int64_t>(random() % 40);
    const Condition condition =
        piece(at, begin, begin + 1 + static_cast<std::int64_t>(random() % 40));
    const std::optional<Extent> step = step_along(at, 1, width, {});
    const bool is_same = is_same_along(condition, 1, width, {});
    const bool is_aligned = aligned_vector(at, 1, width, {}) == width;
    if (step || is_same || is_aligned) ++found;
    for (std::int64_t row = 0; row < 5; ++row)
      for (std::int64_t first = 0; first < 64; first += width) {
        const auto value = [&](std::int64_t k) {
          const std::int64_t position[] = {row, first + k};
          return evaluate(at, position, {});
        };
        const auto holds = [&](std::int64_t k) {
          return value(k) >= condition.begin.number() && value(k) < condition.end.number();
        };
        if (is_aligned) {
          ASSERT_EQ(value(0) % width, 0) << index_text(at);
        }
        for (std::int64_t k = 1; k < width; ++k) {
          if (step) {
            ASSERT_EQ(value(k) - value(k - 1), step->number()) << index_text(at) << " " << width;
          }
          if (is_same) {
            ASSERT_EQ(holds(k), holds(0)) << index_text(at) << " " << width;
          }
        }
      }
  }
  EXPECT_GT(found, 1000);
}

TEST(Access, VectorsOfAReshapedAxisAreContiguous) {
  IndexSpace space;
  space.add_axis(3);
  const Index column = space.add_axis(256);
  const Index head = space.divide(column, 64);
  const Index within = space.modulo(column, 64);
  const Index at = space.add(space.scale(head, 4096), within);
  EXPECT_EQ(step_along(at, 1, 8, {}), Extent(1));
  EXPECT_EQ(aligned_vector(at, 1, 8, {}), 8);
  EXPECT_EQ(step_along(head, 1, 8, {}), Extent(0));
  EXPECT_EQ(step_along(space.divide(column, 60), 1, 8, {}), std::nullopt);
  EXPECT_EQ(step_along(space.divide(column, 60), 1, 4, {}), Extent(0));
}

TEST(Access, ConditionsOnVectorBoundariesAreUniform) {
  IndexSpace space;
  const Index column = space.add_axis(44);
  const Index moved = space.add(column, constant_index(-4));
  EXPECT_TRUE(is_same_along(piece(column, 8, 24), 0, 8, {}));
  EXPECT_FALSE(is_same_along(piece(column, 8, 20), 0, 8, {}));
  EXPECT_TRUE(is_same_along(piece(column, 8, 20), 0, 4, {}));
  // The vector boundaries count from the first element of the axis. Bounds that always hold have no
  // effect.
  EXPECT_TRUE(is_same_along(piece(moved, 4, 12), 0, 8, {}));
  EXPECT_FALSE(is_same_along(piece(moved, 0, 8), 0, 8, {}));
  EXPECT_TRUE(is_same_along(piece(column, 40, 45), 0, 8, {}));
  EXPECT_FALSE(is_same_along(piece(space.scale(column, 2), 0, 8), 0, 8, {}));
}

}  // namespace
}  // namespace sinter::access_test
