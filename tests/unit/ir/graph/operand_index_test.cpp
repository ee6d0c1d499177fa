// Index maps of structural ops, the order of reductions, and views of inputs.
#include "ir/graph/operand_index.h"

#include "sinter/ops.h"
#include "tests/support/graphs/index_text.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace sinter::operand_index_test {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers_of(std::span<const Extent> shape) {
  Numbers result;
  for (const Extent extent : shape) result.push_back(extent.number());
  return result;
}

std::int64_t count(const Numbers& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Numbers position_of(std::int64_t linear, const Numbers& shape) {
  Numbers at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = linear % shape[axis];
    linear /= shape[axis];
  }
  return at;
}

std::int64_t linear_of(const Numbers& at, const Numbers& shape) {
  std::int64_t linear = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) linear = linear * shape[axis] + at[axis];
  return linear;
}

/// For each element of `result`, the row-major index of the operand element that its index map
/// reads.
Numbers by_index_map(Tensor result, std::size_t operand = 0, const Numbers& indices = {}) {
  const Node& node = *result.node();
  IndexSpace space;
  std::vector<Index> axes;
  for (const Extent extent : node.shape) axes.push_back(space.add_axis(extent));
  const std::vector<Index> index = operand_index(space, node, operand, axes);
  const Numbers from = numbers_of(node.operand(operand)->shape);
  const auto read = [&](const Node* tensor, std::span<const std::int64_t> at) {
    return indices[static_cast<std::size_t>(
        linear_of({at.begin(), at.end()}, numbers_of(tensor->shape)))];
  };
  Numbers elements;
  const Numbers shape = numbers_of(node.shape);
  for (std::int64_t linear = 0; linear < count(shape); ++linear) {
    const Numbers at = position_of(linear, shape);
    Numbers source;
    for (const Index& part : index) source.push_back(evaluate(part, at, {}, read));
    elements.push_back(linear_of(source, from));
  }
  return elements;
}

class StructuralTest : public testing::Test {
 protected:
  Tensor random_input(int rank) {
    Numbers shape;
    for (int axis = 0; axis < rank; ++axis) shape.push_back(1 + pick(5));
    return graph.input("x" + std::to_string(graph.data().inputs.size()), f32,
                       std::vector<Extent>(shape.begin(), shape.end()));
  }
  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  }

  Graph graph{"g"};
  std::mt19937_64 random{7};
};

TEST_F(StructuralTest, ReshapeKeepsRowMajorOrder) {
  for (int round = 0; round < 100; ++round) {
    const Tensor x = random_input(3);
    const Numbers from = numbers_of(x.shape());
    const Tensor y = reshape(x, {from[2], from[0] * from[1]});
    if (y.node() == x.node()) continue;
    Numbers expected(static_cast<std::size_t>(count(from)));
    std::iota(expected.begin(), expected.end(), std::int64_t{0});
    ASSERT_EQ(by_index_map(y), expected);
  }
}

TEST_F(StructuralTest, PermuteMovesAxes) {
  for (int round = 0; round < 100; ++round) {
    const Tensor x = random_input(4);
    Numbers axes = {0, 1, 2, 3};
    std::ranges::shuffle(axes, random);
    const Tensor y = permute(x, axes);
    if (y.node() == x.node()) continue;
    const Numbers from = numbers_of(x.shape());
    const Numbers to = numbers_of(y.shape());
    Numbers expected;
    for (std::int64_t linear = 0; linear < count(to); ++linear) {
      const Numbers at = position_of(linear, to);
      Numbers source(4);
      for (std::size_t axis = 0; axis < 4; ++axis)
        source[static_cast<std::size_t>(axes[axis])] = at[axis];
      expected.push_back(linear_of(source, from));
    }
    ASSERT_EQ(by_index_map(y), expected);
  }
}

TEST_F(StructuralTest, BroadcastRepeatsAxesOfExtent1) {
  for (int round = 0; round < 100; ++round) {
    const Tensor x = random_input(3);
    const Numbers from = numbers_of(x.shape());
    Numbers to = {1 + pick(3)};
    for (const std::int64_t extent : from) to.push_back(extent == 1 ? 1 + pick(4) : extent);
    const Tensor y = broadcast_to(x, std::vector<Extent>(to.begin(), to.end()));
    Numbers expected;
    for (std::int64_t linear = 0; linear < count(to); ++linear) {
      const Numbers at = position_of(linear, to);
      Numbers source;
      for (std::size_t axis = 0; axis < 3; ++axis)
        source.push_back(from[axis] == 1 ? 0 : at[axis + 1]);
      expected.push_back(linear_of(source, from));
    }
    ASSERT_EQ(by_index_map(y), expected);
  }
}

TEST_F(StructuralTest, SliceReadsEveryStepthElement) {
  for (int round = 0; round < 200; ++round) {
    const Tensor x = random_input(3);
    const Numbers from = numbers_of(x.shape());
    const auto axis = static_cast<std::size_t>(pick(3));
    const std::int64_t begin = pick(from[axis] + 1);
    const std::int64_t end = begin + pick(from[axis] - begin + 1);
    const std::int64_t step = 1 + pick(3);
    const Tensor y = slice(x, static_cast<int>(axis), begin, end, static_cast<int>(step));
    if (y.node() == x.node()) continue;
    Numbers expected;
    for (std::int64_t linear = 0; linear < count(from); ++linear) {
      const std::int64_t position = position_of(linear, from)[axis];
      if (position >= begin && position < end && (position - begin) % step == 0)
        expected.push_back(linear);
    }
    ASSERT_EQ(by_index_map(y), expected);
  }
}

TEST_F(StructuralTest, ConcatReadsEachOperandInItsSegment) {
  for (int round = 0; round < 100; ++round) {
    const Tensor a = random_input(2);
    const std::int64_t rows = a.shape()[0].number();
    const Tensor b = graph.input("b" + std::to_string(round), f32, {rows, 1 + pick(4)});
    const Tensor y = concat({a, b}, 1);
    const Numbers to = numbers_of(y.shape());
    const Numbers parts[] = {by_index_map(y, 0), by_index_map(y, 1)};
    for (std::int64_t linear = 0; linear < count(to); ++linear) {
      const Numbers at = position_of(linear, to);
      const std::int64_t split = a.shape()[1].number();
      const std::size_t operand = at[1] < split ? 0 : 1;
      const Segment segment = concat_segment(*y.node(), operand);
      ASSERT_TRUE(at[1] >= segment.begin.number() && at[1] < segment.end.number());
      const Numbers from = numbers_of((operand == 0 ? a : b).shape());
      ASSERT_EQ(parts[operand][static_cast<std::size_t>(linear)],
                linear_of({at[0], operand == 0 ? at[1] : at[1] - split}, from));
    }
  }
}

TEST_F(StructuralTest, TakeReadsAtTheIndices) {
  for (int round = 0; round < 100; ++round) {
    const Tensor x = random_input(3);
    const Tensor indices = graph.input("i" + std::to_string(round), i64, {2, 3});
    const Numbers from = numbers_of(x.shape());
    const auto axis = static_cast<std::size_t>(pick(3));
    const std::int64_t extent = from[axis];
    Numbers values;
    for (int i = 0; i < 6; ++i) values.push_back(pick(2 * extent) - extent);
    const Tensor y = take(x, indices, static_cast<int>(axis));
    const Numbers to = numbers_of(y.shape());
    Numbers expected;
    for (std::int64_t linear = 0; linear < count(to); ++linear) {
      Numbers at = position_of(linear, to);
      std::int64_t value = values[static_cast<std::size_t>(at[axis] * 3 + at[axis + 1])];
      if (value < 0) value += extent;
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
      at[axis] = value;
      expected.push_back(linear_of(at, from));
    }
    ASSERT_EQ(by_index_map(y, 0, values), expected);
  }
}

TEST_F(StructuralTest, TakeAlongAxisUsesTheIndexOfItsPosition) {
  const Tensor x = graph.input("x", f32, {3, 4});
  const Tensor indices = graph.input("i", i32, {3, 2});
  const Tensor y = take_along_axis(x, indices, 1);
  EXPECT_EQ(by_index_map(y, 0, {3, 0, -1, 2, 9, 1}), (Numbers{3, 0, 4 + 3, 4 + 2, 8 + 3, 8 + 1}));
  EXPECT_EQ(by_index_map(y, 1, {}), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST_F(StructuralTest, ReductionOrderFollowsTheStridesOfAnInput) {
  const Tensor image =
      graph.input("image", bf16, {8, 32, 4, 5}, {.strides = {32 * 4 * 5, 1, 5 * 32, 32}});
  EXPECT_EQ(reduction_order(*sum(image, {0, 2, 3}).node()), (Numbers{0, 2, 3}));
  EXPECT_EQ(reduction_order(*sum(image, {1, 2}).node()), (Numbers{2, 1}));
  EXPECT_EQ(reduction_order(*sum(image).node()), (Numbers{0, 2, 3, 1}));
  EXPECT_EQ(reduction_order(*argmax(image, 1).node()), (Numbers{1}));
}

TEST_F(StructuralTest, ReductionOrderFollowsViews) {
  const Tensor x = graph.input("x", f32, {6, 4, 10});
  const Tensor moved = permute(x, {2, 0, 1});
  EXPECT_EQ(reduction_order(*sum(moved).node()), (Numbers{1, 2, 0}));
  EXPECT_EQ(reduction_order(*sum(slice(moved, 0, 0, 10, 2), {0, 2}).node()), (Numbers{2, 0}));
  EXPECT_EQ(reduction_order(*sum(permute(moved, {1, 2, 0})).node()), (Numbers{0, 1, 2}));
  // One axis of the view covers two strides, so the order is row-major.
  EXPECT_EQ(reduction_order(*sum(reshape(moved, {20, 12})).node()), (Numbers{0, 1}));
}

TEST_F(StructuralTest, ReductionOrderOfAResultIsRowMajor) {
  const Tensor x = graph.input("x", f32, {6, 4});
  EXPECT_EQ(reduction_order(*sum(exp(permute(x, {1, 0}))).node()), (Numbers{0, 1}));
  EXPECT_EQ(reduction_order(*sum(cast(permute(x, {1, 0}), f64)).node()), (Numbers{0, 1}));
}

TEST_F(StructuralTest, FindsTheInputAndOffsetOfAView) {
  const Tensor x = graph.input("x", f32, {6, 4}, {.strides = {5, 1}});
  const Tensor view = slice(permute(x, {1, 0}), 1, 2, 6);
  IndexSpace space;
  const std::optional<ViewOfInput> found = view_of_input(space, *view.node());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->input, x.node());
  EXPECT_EQ(index_text(found->offset), "a0 + a1 * 5 + 10");
  IndexSpace other;
  EXPECT_FALSE(view_of_input(other, *exp(x).node()).has_value());
}

}  // namespace
}  // namespace sinter::operand_index_test
