// Index expressions: simplification, evaluation, bounds and coefficients.
#include "ir/shape/index_map.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "sinter/graph.h"
#include "tests/support/graphs/index_text.h"

namespace sinter::index_map_test {
namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<Extent> as_shape(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

/// Calls `visit` with every position in `shape`, last axis fastest.
template <class Visit>
void for_each_position(const Numbers& shape, Visit visit) {
  const std::int64_t total =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  Numbers at(shape.size());
  for (std::int64_t position = 0; position < total; ++position) {
    std::int64_t rest = position;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(at, position);
  }
}

std::vector<Index> add_axes(IndexSpace& space, std::span<const Extent> shape) {
  std::vector<Index> axes;
  for (const Extent extent : shape) axes.push_back(space.add_axis(extent));
  return axes;
}

/// Random factors with the product `total`.
Numbers random_factors(std::mt19937& random, std::int64_t total) {
  Numbers shape(1 + random() % 4, 1);
  for (std::int64_t prime = 2; total > 1;) {
    if (total % prime != 0) {
      ++prime;
      continue;
    }
    shape[random() % shape.size()] *= prime;
    total /= prime;
  }
  return shape;
}

TEST(IndexMapTest, DelinearizeInvertsLinearize) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Extent columns = graph.extent("columns");
  const std::vector<Extent> shapes[] = {
      {7, 5, 3},   {rows, 4096}, {4, rows, 8}, {rows, columns}, {rows * 16, columns * 3, 2},
      {1, rows, 1}};
  for (const std::vector<Extent>& shape : shapes) {
    IndexSpace space;
    const std::vector<Index> axes = add_axes(space, shape);
    EXPECT_EQ(space.delinearize(space.linearize(axes, shape), shape), axes) << to_string(shape);
  }
}

TEST(IndexMapTest, LinearizeInvertsDelinearize) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const std::vector<Extent> shapes[] = {{6, 4}, {rows, 16}, {3, rows, 5}};
  for (const std::vector<Extent>& shape : shapes) {
    IndexSpace space;
    const Index linear = space.add_axis(product(shape));
    EXPECT_EQ(space.linearize(space.delinearize(linear, shape), shape), linear) << to_string(shape);
  }
}

TEST(IndexMapTest, ReshapesBackToTheFirstShapeAreTheIdentity) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t total = std::int64_t{1} << (3 + random() % 6);
    const std::vector<Extent> shape = as_shape(random_factors(random, total * 3));
    IndexSpace space;
    const std::vector<Index> axes = add_axes(space, shape);
    std::vector<Index> index = axes;
    std::vector<Extent> from = shape;
    for (int step = 0; step < 3; ++step) {
      const std::vector<Extent> to = as_shape(random_factors(random, total * 3));
      index = space.delinearize(space.linearize(index, from), to);
      from = to;
    }
    index = space.delinearize(space.linearize(index, from), shape);
    EXPECT_EQ(index, axes) << to_string(shape);
  }
}

TEST(IndexMapTest, DelinearizeReturnsTheRowMajorPosition) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const Numbers from = random_factors(random, 2 * 2 * 2 * 3 * 3 * 5);
    const Numbers to = random_factors(random, 2 * 2 * 2 * 3 * 3 * 5);
    IndexSpace space;
    const std::vector<Index> axes = add_axes(space, as_shape(from));
    const std::vector<Index> index =
        space.delinearize(space.linearize(axes, as_shape(from)), as_shape(to));
    for_each_position(from, [&](const Numbers& at, std::int64_t position) {
      std::int64_t rest = position;
      for (std::size_t axis = to.size(); axis-- > 0;) {
        ASSERT_EQ(evaluate(index[axis], at, {}), rest % to[axis]) << index_text(index[axis]);
        rest /= to[axis];
      }
    });
  }
}

/// A random expression over the axes of `space`.
Index random_index(std::mt19937& random, IndexSpace& space, const Numbers& shape, int depth) {
  if (depth == 0) return space.axis(static_cast<int>(random() % shape.size()));
  const Index a = random_index(random, space, shape, depth - 1);
  const Index b = random_index(random, space, shape, depth - 1);
  const std::int64_t number = 1 + static_cast<std::int64_t>(random() % 12);
  switch (random() % 5) {
    case 0: return space.add(a, b);
    case 1: return space.add(space.scale(a, number), b);
    case 2: return space.add(a, constant_index(number));
    case 3: return space.divide(a, number);
    default: return space.modulo(a, number);
  }
}

/// The value at `at` of the expression that `random_index` builds from the same random state.
std::int64_t random_value(std::mt19937& random, const Numbers& at, int depth) {
  if (depth == 0) return at[random() % at.size()];
  const std::int64_t a = random_value(random, at, depth - 1);
  const std::int64_t b = random_value(random, at, depth - 1);
  const std::int64_t number = 1 + static_cast<std::int64_t>(random() % 12);
  switch (random() % 5) {
    case 0: return a + b;
    case 1: return a * number + b;
    case 2: return a + number;
    case 3: return a / number;
    default: return a % number;
  }
}

TEST(IndexMapTest, SimplifyingKeepsValuesAndBounds) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const Numbers shape = {1 + static_cast<std::int64_t>(random() % 9),
                           1 + static_cast<std::int64_t>(random() % 9)};
    IndexSpace space;
    add_axes(space, as_shape(shape));
    const std::mt19937 begin = random;
    const Index index = random_index(random, space, shape, 4);
    const std::optional<Extent> low = lower_bound(index);
    const std::optional<Extent> high = upper_bound(index);
    for_each_position(shape, [&](const Numbers& at, std::int64_t) {
      std::mt19937 again = begin;
      const std::int64_t expected = random_value(again, at, 4);
      ASSERT_EQ(evaluate(index, at, {}), expected) << index_text(index) << " seed " << seed;
      if (low) {
        ASSERT_LE(low->number(), expected) << index_text(index);
      }
      if (high) {
        ASSERT_GE(high->number(), expected) << index_text(index);
      }
    });
  }
}

TEST(IndexMapTest, SymbolicIndicesHaveTheExpectedValues) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  for (std::int64_t size = 1; size < 8; ++size) {
    IndexSpace space;
    const std::vector<Extent> from = {rows * 4, 6};
    const std::vector<Extent> to = {rows, 3, 8};
    const std::vector<Index> axes = add_axes(space, from);
    const std::vector<Index> index = space.delinearize(space.linearize(axes, from), to);
    const std::int64_t symbols[] = {size};
    for_each_position({size * 4, 6}, [&](const Numbers& at, std::int64_t position) {
      ASSERT_EQ(evaluate(index[0], at, symbols), position / 24);
      ASSERT_EQ(evaluate(index[1], at, symbols), position / 8 % 3);
      ASSERT_EQ(evaluate(index[2], at, symbols), position % 8);
    });
  }
}

TEST(IndexMapTest, SubstituteEqualsTwoStepEvaluation) {
  IndexSpace inner;
  const std::vector<Extent> shape = {6, 10};
  const std::vector<Index> axes = add_axes(inner, shape);
  const Index index = inner.modulo(inner.linearize(axes, shape), 7);
  IndexSpace outer;
  const Index linear = outer.add_axis(60);
  const std::vector<Index> replaced = outer.delinearize(linear, shape);
  const Index result = outer.substitute(index, replaced);
  for (std::int64_t at = 0; at < 60; ++at) {
    const std::int64_t axis[] = {at};
    EXPECT_EQ(evaluate(result, axis, {}), at % 7);
  }
  EXPECT_EQ(result, outer.modulo(linear, 7));
}

TEST(IndexMapTest, BoundedIndicesSimplifyLikeAxes) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  for (const Extent extent : {Extent(32), rows * 8}) {
    IndexSpace space;
    const Index row = space.add_axis(7);
    const Index column = space.add_axis(extent * Extent(2));
    const Index inside =
        space.assume_bounded(space.add(column, constant_index(Extent(0) - extent)), extent);
    EXPECT_EQ(space.modulo(inside, extent), inside);
    EXPECT_EQ(space.divide(inside, extent), Index());
    const std::vector<Extent> shape = {7, extent};
    const std::vector<Index> position = {row, inside};
    EXPECT_EQ(space.delinearize(space.linearize(position, shape), shape), position);
    // Reversed, and split into segments of 8 and combined again.
    const Index last = space.add(space.scale(inside, -1), constant_index(extent - Extent(1)));
    EXPECT_EQ(space.modulo(last, extent), last);
    const std::vector<Extent> eights = {divide_exactly(extent, 8).value(), 8};
    EXPECT_EQ(space.linearize(space.delinearize(inside, eights), eights), inside);
  }
}

TEST(IndexMapTest, IndicesKnownToBeInRangeAreNotBounded) {
  IndexSpace space;
  const Index column = space.add_axis(8);
  EXPECT_EQ(space.assume_bounded(column, 8), column);
  EXPECT_EQ(space.assume_bounded(space.add(column, constant_index(3)), 1), Index());
  EXPECT_EQ(space.assume_bounded(constant_index(5), 6), constant_index(5));
  const Index inner = space.assume_bounded(column, 4);
  EXPECT_EQ(space.assume_bounded(inner, 6), inner);
}

TEST(IndexMapTest, IndicesWithoutBoundsHaveEqualValues) {
  // Random views of a segment of an axis, with and without its bound.
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    const Numbers from = random_factors(random, 2 * 2 * 2 * 3 * 3);
    const Numbers to = random_factors(random, 2 * 2 * 2 * 3 * 3);
    const auto axis = static_cast<std::size_t>(random() % from.size());
    const auto begin = static_cast<std::int64_t>(random() % 9);
    Numbers whole = from;
    whole[axis] += begin + static_cast<std::int64_t>(random() % 9);
    IndexSpace space;
    const std::vector<Index> axes = add_axes(space, as_shape(whole));
    std::vector<Index> inside = axes;
    inside[axis] =
        space.assume_bounded(space.add(inside[axis], constant_index(-begin)), Extent(from[axis]));
    const std::vector<Index> index =
        space.delinearize(space.linearize(inside, as_shape(from)), as_shape(to));
    for_each_position(from, [&](Numbers at, std::int64_t position) {
      at[axis] += begin;
      std::int64_t rest = position;
      for (std::size_t i = to.size(); i-- > 0;) {
        const Index plain = space.without_bounds(index[i]);
        ASSERT_EQ(evaluate(index[i], at, {}), rest % to[i]) << index_text(index[i]);
        ASSERT_EQ(evaluate(plain, at, {}), rest % to[i]) << index_text(plain);
        ASSERT_EQ(space.without_bounds(plain), plain);
        rest /= to[i];
      }
    });
  }
}

TEST(IndexMapTest, RemovesBoundsInsideIndirectIndices) {
  Graph graph("g");
  const Tensor indices = graph.input("indices", i64, {5});
  IndexSpace space;
  const Index column = space.add_axis(9);
  const Index moved = space.add(column, constant_index(-4));
  const Index read = space.indirect(indices.node(), {space.assume_bounded(moved, 5)}, 10, 1);
  EXPECT_EQ(space.without_bounds(space.scale(read, 3)),
            space.scale(space.indirect(indices.node(), {moved}, 10, 1), 3));
}

TEST(IndexMapTest, FindsCoefficientsOfLinearIndices) {
  IndexSpace space;
  const Index i = space.add_axis(6);
  const Index j = space.add_axis(10);
  const Index k = space.add_axis(4);
  const Index index = space.add(space.scale(i, 40), space.divide(j, 3));
  EXPECT_EQ(coefficient_of(index, 0), Extent(40));
  EXPECT_EQ(coefficient_of(index, 1), std::nullopt);
  EXPECT_EQ(coefficient_of(index, 2), Extent(0));
  EXPECT_TRUE(depends_on(index, 1));
  EXPECT_FALSE(depends_on(index, 2));
  EXPECT_TRUE(depends_on(space.add(index, k), 2));
}

TEST(IndexMapTest, AxisOfExtent1IsTheConstant0) {
  IndexSpace space;
  EXPECT_EQ(space.add_axis(1), Index());
}

TEST(IndexMapTest, IndirectIndicesWrapOnceAndAreClamped) {
  Graph graph("g");
  const Tensor indices = graph.input("indices", i64, {5});
  IndexSpace space;
  const Index at = space.add_axis(5);
  const Index index = space.indirect(indices.node(), {at}, 10);
  EXPECT_TRUE(has_indirect(index));
  EXPECT_TRUE(depends_on(index, 0));
  EXPECT_FALSE(has_indirect(at));
  const std::int64_t values[] = {3, -1, -11, 10, 9};
  const std::int64_t expected[] = {3, 9, 0, 9, 9};
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t axis[] = {i};
    const auto read = [&](const Node*, std::span<const std::int64_t> position) {
      return values[position[0]];
    };
    EXPECT_EQ(evaluate(index, axis, {}, read), expected[i]);
  }
}

TEST(IndexMapTest, LongChainsOfViewsStayCheap) {
  // Each step splits the axes differently, so that the atoms nest. depends_on must not visit all
  // paths through them.
  std::mt19937 random(5);
  IndexSpace space;
  const Numbers numbers = {40, 36, 7};
  std::vector<Extent> shape = as_shape(numbers);
  std::vector<Index> index = add_axes(space, shape);
  space.add_axis(5);
  for (int step = 0; step < 60; ++step) {
    const std::vector<Extent> to = as_shape(random_factors(random, 40 * 36 * 7));
    index = space.delinearize(space.linearize(index, shape), to);
    std::vector<std::size_t> order(to.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    shape.clear();
    std::vector<Index> permuted;
    for (const std::size_t axis : order) {
      shape.push_back(to[axis]);
      permuted.push_back(index[axis]);
    }
    index = permuted;
  }
  for (const Index& part : index) EXPECT_FALSE(depends_on(part, 3));
}

}  // namespace
}  // namespace sinter::index_map_test
