// max_pool_with_index and max_pool_backward, compared with values computed by hand and with plain
// loops.
#include "sinter/gradient.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

namespace sinter::pooling_test {
namespace {

using test::error_of;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Numbers = std::vector<std::int64_t>;

struct Pool {
  const char* name;
  Numbers shape;  ///< of x; the last axes are pooled
  Numbers window;
  Numbers stride;
  Numbers padding;

  std::size_t first() const { return shape.size() - window.size(); }
  std::int64_t count_along(std::size_t i) const {
    return (shape[first() + i] + 2 * padding[i] - window[i]) / stride[i] + 1;
  }
  Numbers pooled() const {
    Numbers result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first()));
    for (std::size_t i = 0; i < window.size(); ++i) result.push_back(count_along(i));
    return result;
  }
  std::vector<Extent> plane() const {
    return {shape.begin() + static_cast<std::ptrdiff_t>(first()), shape.end()};
  }

  WithIndex of(Tensor x) const { return max_pool_with_index(x, window, stride, padding); }
  Tensor back(Tensor g, Tensor index) const {
    return max_pool_backward(g, index, plane(), window, stride, padding);
  }
  Expected values(const HostArray& x) const {
    return value_of(x, [&](Tensor t) { return of(t).value; });
  }
  Expected indices(const HostArray& x) const {
    return value_of(x, [&](Tensor t) { return of(t).index; });
  }
};

std::int64_t product_of(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1}, std::multiplies<>());
}

/// The position of row-major index `number` in `extents`.
Numbers unravelled(std::int64_t number, const Numbers& extents) {
  Numbers result(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    result[i] = number % extents[i];
    number /= extents[i];
  }
  return result;
}

// --- Values computed by hand ---------------------------------------------------------------------

const Pool kSquares = {"squares", {3, 4}, {2, 2}, {1, 1}, {0, 0}};
const Reals kPlane = {1,  3, 2, 3,  //
                      3,  0, 5, 5,  //
                      -1, 3, 4, 5};

TEST(MaxPoolWithIndex, ReturnsTheFirstLargestOfEachWindow) {
  const HostArray x = array(f64, {3, 4}, kPlane);
  const Expected value = kSquares.values(x);
  EXPECT_THAT(value.shape, ElementsAre(2, 3));
  EXPECT_THAT(value.reals, ElementsAre(3, 5, 5, 3, 5, 5));
  const Expected index = kSquares.indices(x);
  EXPECT_EQ(index.dtype, i64);
  EXPECT_THAT(index.shape, ElementsAre(2, 3));
  EXPECT_THAT(index.integers, ElementsAre(1, 6, 6, 4, 6, 6));
}

TEST(MaxPoolWithIndex, IndicesIgnoreThePadding) {
  const Pool pool = {"padded", {2, 5}, {3}, {2}, {1}};
  const HostArray x = array(f32, {2, 5}, {-7, -8, -3, -9, -1, 4, 4, 4, 5, 4});
  EXPECT_THAT(pool.values(x).reals, ElementsAre(-7, -3, -1, 4, 5, 5));
  EXPECT_THAT(pool.indices(x).integers, ElementsAre(0, 2, 4, 0, 3, 3));
}

TEST(MaxPoolWithIndex, NeverPointsIntoThePadding) {
  // Windows of [2, 2] begin at rows -1, 0, 1 and columns -1, 1.
  const Pool pool = {"infinite", {2, 3}, {2, 2}, {1, 2}, {1, 1}};
  const HostArray x = array(f64, {2, 3}, Reals(6, -kInf));
  EXPECT_THAT(pool.values(x).reals, Each(-kInf));
  EXPECT_THAT(pool.indices(x).integers, ElementsAre(0, 1, 0, 1, 3, 4));
}

TEST(MaxPoolWithIndex, ReturnsTheFirstNan) {
  const Pool pool = {"nan", {5}, {3}, {1}, {0}};
  const HostArray x = array(f32, {1, kNaN, 2, kNaN, kInf});
  EXPECT_THAT(pool.values(x).reals, Each(testing::IsNan()));
  EXPECT_THAT(pool.indices(x).integers, ElementsAre(1, 1, 3));
}

TEST(MaxPoolBackward, SumsCotangentsOfOneElement) {
  const auto record = [](const Tensors& in) { return kSquares.back(in[0], in[1]); };
  const Expected back = value_of(
      {array(f64, {2, 3}, {1, 2, 3, 4, 5, 6}), array(i64, {2, 3}, {1, 6, 6, 4, 6, 6})}, record);
  EXPECT_THAT(back.shape, ElementsAre(3, 4));
  EXPECT_THAT(back.reals, ElementsAre(0, 1, 0, 0,   //
                                      4, 0, 16, 0,  //
                                      0, 0, 0, 0));
}

TEST(MaxPoolBackward, RoundsHalvesOnce) {
  // In bf16, 256 + 1 is 256.
  const Pool pool = {"halves", {3}, {3}, {1}, {1}};
  const auto record = [&](Tensor g, Tensor index) { return pool.back(g, index); };
  for (const DType dtype : {i32, i64, u64}) {
    const Expected back = value_of(array(bf16, {256, 1, 1}), array(dtype, {1, 1, 1}), record);
    EXPECT_EQ(back.dtype, bf16);
    EXPECT_THAT(back.reals, ElementsAre(0, 258, 0));
  }
}

TEST(MaxPoolBackward, IgnoresIndicesOutsideTheWindow) {
  const Pool pool = {"outside", {4}, {2}, {2}, {0}};
  const auto record = [&](Tensor g, Tensor index) { return pool.back(g, index); };
  const Expected back = value_of(array(f32, {1, 2}), array(i64, {2, 3}), record);
  EXPECT_THAT(back.reals, ElementsAre(0, 0, 0, 2));
  const Expected none = value_of(array(f32, {1, 2}), array(i64, {-1, 4}), record);
  EXPECT_THAT(none.reals, Each(0.0));
}

// --- Comparison with loops -----------------------------------------------------------------------

struct Looped {
  Reals values;
  Numbers indices;
  Reals back;
};

/// The row-major index in the plane of element `offset` of window `position`. -1 in the padding.
std::int64_t plane_index(const Pool& pool, const Numbers& position, const Numbers& offset) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < position.size(); ++i) {
    const std::int64_t extent = pool.shape[pool.first() + i];
    const std::int64_t at = position[i] * pool.stride[i] - pool.padding[i] + offset[i];
    if (at < 0 || at >= extent) return -1;
    result = result * extent + at;
  }
  return result;
}

Looped loops(const Pool& pool, const Reals& x, const Reals& g) {
  const Numbers counts(pool.pooled());
  const Numbers of_plane(counts.begin() + static_cast<std::ptrdiff_t>(pool.first()), counts.end());
  const std::int64_t windows = product_of(of_plane);
  const std::int64_t lines = product_of(counts) / windows;
  const std::int64_t elements = product_of(pool.shape) / lines;
  Looped result{.values = {}, .indices = {}, .back = Reals(x.size())};
  for (std::int64_t k = 0; k < lines * windows; ++k) {
    const std::int64_t plane = k / windows * elements;
    const auto value_at = [&](std::int64_t at) { return x[static_cast<std::size_t>(plane + at)]; };
    std::int64_t best = -1;
    for (std::int64_t n = 0; n < product_of(pool.window); ++n) {
      const std::int64_t at =
          plane_index(pool, unravelled(k % windows, of_plane), unravelled(n, pool.window));
      if (at >= 0 && (best < 0 || value_at(at) > value_at(best))) best = at;
    }
    result.values.push_back(value_at(best));
    result.indices.push_back(best);
    result.back[static_cast<std::size_t>(plane + best)] += g[static_cast<std::size_t>(k)];
  }
  return result;
}

/// A permutation of 0 … count - 1.
Reals shuffled(std::int64_t count) {
  Reals values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  std::ranges::shuffle(values, std::mt19937(3));
  return values;
}

class Pools : public testing::TestWithParam<Pool> {
 protected:
  const Pool& pool = GetParam();
  const Reals x = shuffled(product_of(pool.shape));
  const Reals g = shuffled(product_of(pool.pooled()));
};

TEST_P(Pools, MatchLoops) {
  const Looped wanted = loops(pool, x, g);
  const HostArray array_of_x = array(f64, pool.shape, x);
  EXPECT_EQ(pool.values(array_of_x).reals, wanted.values);
  EXPECT_EQ(pool.indices(array_of_x).integers, wanted.indices);
  const auto record = [&](Tensor a, Tensor cotangent) {
    return pool.back(cotangent, pool.of(a).index);
  };
  const Expected back = value_of(array_of_x, array(f64, pool.pooled(), g), record);
  EXPECT_EQ(back.shape, pool.shape);
  EXPECT_EQ(back.reals, wanted.back);
}

TEST_P(Pools, MatchLoopsWithTies) {
  Reals few = x;
  for (double& value : few) value = std::floor(value / 4);
  const Looped wanted = loops(pool, few, g);
  EXPECT_EQ(pool.values(array(f32, pool.shape, few)).reals, wanted.values);
  EXPECT_EQ(pool.indices(array(f32, pool.shape, few)).integers, wanted.indices);
}

TEST_P(Pools, BackwardIsTheGradientOfTheMaximum) {
  const auto by_index = [&](Tensor a, Tensor cotangent) {
    return pool.back(cotangent, pool.of(a).index);
  };
  const auto by_gradient = [&](Tensor a, Tensor cotangent) {
    return gradient(max_pool(a, pool.window, pool.stride, pool.padding), {a}, cotangent)[0];
  };
  const auto by_own_gradient = [&](Tensor a, Tensor cotangent) {
    return gradient(pool.of(a).value, {a}, cotangent)[0];
  };
  const HostArray array_of_x = array(f64, pool.shape, x);
  const HostArray array_of_g = array(f64, pool.pooled(), g);
  const Reals wanted = value_of(array_of_x, array_of_g, by_index).reals;
  EXPECT_EQ(value_of(array_of_x, array_of_g, by_gradient).reals, wanted);
  EXPECT_EQ(value_of(array_of_x, array_of_g, by_own_gradient).reals, wanted);
}

TEST_P(Pools, SymbolsAndConstantsGiveEqualResults) {
  Graph graph("symbols");
  std::vector<Extent> shape;
  for (std::size_t i = 0; i < pool.shape.size(); ++i)
    shape.push_back(graph.extent("n" + std::to_string(i)));
  const Tensor a = graph.input("a", f64, shape);
  const WithIndex both = pool.of(a);
  const std::vector<Extent> plane(shape.begin() + static_cast<std::ptrdiff_t>(pool.first()),
                                  shape.end());
  const Tensor back =
      max_pool_backward(both.value, both.index, plane, pool.window, pool.stride, pool.padding);
  const HostArrays inputs = {{"a", array(f64, pool.shape, x)}};
  const Looped first = loops(pool, x, g);
  const Looped wanted = loops(pool, x, first.values);
  EXPECT_EQ(value_of(graph, both.index, inputs, pool.shape).integers, wanted.indices);
  EXPECT_EQ(value_of(graph, back, inputs, pool.shape).reals, wanted.back);
}

const Pool kPools[] = {
    {"line", {7}, {3}, {1}, {1}},
    {"gaps", {2, 9}, {2}, {3}, {0}},
    {"image", {2, 3, 5, 4}, {3, 2}, {2, 1}, {1, 1}},
    {"volume", {2, 4, 5, 6}, {2, 3, 2}, {2, 1, 3}, {1, 0, 1}},
    {"long_windows", {2, 30}, {12}, {1}, {6}},
    {"rest", {8, 11}, {3, 3}, {3, 3}, {0, 0}},
    // Wider than the plane: row-major indices in the padding of a row equal indices of the next
    // row.
    {"wider_than_the_plane", {2, 3}, {4, 5}, {1, 2}, {2, 2}},
    {"of_one", {3, 2}, {1, 1}, {1, 1}, {0, 0}},
};

INSTANTIATE_TEST_SUITE_P(All, Pools, testing::ValuesIn(kPools),
                         [](const auto& test) { return std::string(test.param.name); });

// --- Errors --------------------------------------------------------------------------------------

TEST(MaxPoolWithIndex, RejectsInvalidArguments) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {4, 6});
  const Tensor count = graph.input("count", i32, {4, 6});
  const auto error = [](Tensor a, Axes window, Axes stride, Axes padding) {
    return error_of([&] { max_pool_with_index(a, window, stride, padding); });
  };
  EXPECT_THAT(error(count, {2}, {2}, {0}),
              HasSubstr("max_pool_with_index: x is i32[4, 6]; it must be floating (recorded at "
                        "pooling_test.cpp:"));
  EXPECT_THAT(error(x, {2}, {2, 2}, {0}),
              HasSubstr("1 windows, 2 strides and 1 paddings for f32[4, 6]; give one of each per "
                        "pooled axis"));
  EXPECT_THAT(error(x, {2}, {0}, {0}),
              HasSubstr("window 2 with stride 0; both must be at least 1"));
  EXPECT_THAT(error(x, {3}, {1}, {2}),
              HasSubstr("padding 2 for a window of 3; it must be from 0 to half the window"));
}

TEST(MaxPoolBackward, RejectsInvalidArguments) {
  Graph graph("test");
  const Tensor g = graph.input("g", f32, {4, 3});
  const Tensor index = graph.input("index", i64, {4, 3});
  const Tensor other = graph.input("other", i64, {4, 2});
  const auto error = [](Operand given, Operand indices, Extents shape, Axes window) {
    return error_of([&] { max_pool_backward(given, indices, shape, window, {2}, {0}); });
  };
  EXPECT_THAT(error(g, other, {6}, {2}),
              HasSubstr("max_pool_backward: g is f32[4, 3] and the index i64[4, 2]; they must be "
                        "floating and integers of one shape (recorded at pooling_test.cpp:"));
  EXPECT_THAT(error(g, g, {6}, {2}), HasSubstr("and the index f32[4, 3]"));
  EXPECT_THAT(error(g, 1, {6}, {2}), HasSubstr("an operand is a number; record it with full"));
  EXPECT_THAT(error(g, index, {4, 6}, {2}),
              HasSubstr("the shape [4, 6] has 2 extents for 1 windows; give one extent per pooled "
                        "axis"));
  EXPECT_THAT(error(g, index, {9}, {2}),
              HasSubstr("windows of 2 with stride 2 over 9 elements with padding 0 are 4, but g is "
                        "f32[4, 3]"));
}

}  // namespace
}  // namespace sinter::pooling_test
