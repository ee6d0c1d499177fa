// Batch axes of products merge where strides permit.
#include "runtime/libraries/problem/matmul_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::matmul_problem_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Axis = MatmulProblem::Axis;
using Shape = std::vector<std::int64_t>;

MatmulProblem problem_of(const Shape& a, const Shape& b, const Shape& result,
                         std::vector<OpaqueAttribute> attributes = {}) {
  const OpaqueArray inputs[] = {{.dtype = f32, .shape = a}, {.dtype = f32, .shape = b}};
  const OpaqueArray outputs[] = {{.dtype = f32, .shape = result}};
  return matmul_problem({.inputs = inputs, .outputs = outputs, .attributes = attributes});
}

TEST(MatmulProblem, ReadsMatrices) {
  const MatmulProblem problem = problem_of({4, 6}, {6, 5}, {4, 5});
  EXPECT_EQ(problem.m, 4);
  EXPECT_EQ(problem.k, 6);
  EXPECT_EQ(problem.n, 5);
  EXPECT_THAT(problem.batch, IsEmpty());
  const MatmulProblem turned =
      problem_of({6, 4}, {5, 6}, {4, 5}, {{"transpose_a", 1}, {"transpose_b", 1}});
  EXPECT_EQ(turned.m, 4);
  EXPECT_EQ(turned.k, 6);
  EXPECT_EQ(turned.n, 5);
}

TEST(MatmulProblem, RowsMergeWithABatchWithoutB) {
  const MatmulProblem problem = problem_of({2, 3, 4, 6}, {6, 5}, {2, 3, 4, 5});
  EXPECT_EQ(problem.m, 2 * 3 * 4);
  EXPECT_THAT(problem.batch, IsEmpty());
  // The rows of a transposed operand are not adjacent.
  const MatmulProblem turned = problem_of({3, 6, 4}, {6, 5}, {3, 4, 5}, {{"transpose_a", 1}});
  EXPECT_EQ(turned.m, 4);
  EXPECT_THAT(turned.batch, ElementsAre(Axis{.extent = 3, .a_stride = 24, .b_stride = 0}));
}

TEST(MatmulProblem, RowsBeyondAnIntStayABatch) {
  const std::int64_t rows = std::int64_t{1} << 20;
  const MatmulProblem problem = problem_of({4096, rows, 2}, {2, 3}, {4096, rows, 3});
  EXPECT_EQ(problem.m, rows);
  EXPECT_THAT(problem.batch,
              ElementsAre(Axis{.extent = 4096, .a_stride = 2 * rows, .b_stride = 0}));
}

TEST(MatmulProblem, PartsDivideTheInnermostBatchAxis) {
  const MatmulProblem problem = problem_of({2, 1, 4, 6}, {1, 10, 6, 5}, {2, 10, 4, 5});
  EXPECT_EQ(problem.inner_extent(), 10);
  EXPECT_EQ(problem.part(0, 10), problem);
  MatmulProblem expected = problem;
  expected.batch.back().extent = 4;
  EXPECT_EQ(problem.part(4, 4), expected);
  expected.batch.back().extent = 2;
  EXPECT_EQ(problem.part(8, 4), expected);
  const MatmulProblem single = problem_of({4, 6}, {6, 5}, {4, 5});
  EXPECT_EQ(single.inner_extent(), 1);
  EXPECT_EQ(single.part(0, 4), single);
}

TEST(MatmulProblem, EqualBatchesAreOneAxis) {
  const MatmulProblem problem = problem_of({2, 3, 4, 6}, {2, 3, 6, 5}, {2, 3, 4, 5});
  EXPECT_THAT(problem.batch, ElementsAre(Axis{.extent = 6, .a_stride = 24, .b_stride = 30}));
}

TEST(MatmulProblem, BroadcastAxesHaveNoStride) {
  const MatmulProblem problem = problem_of({2, 3, 4, 6}, {2, 1, 6, 5}, {2, 3, 4, 5});
  EXPECT_EQ(problem.m, 12);
  EXPECT_THAT(problem.batch, ElementsAre(Axis{.extent = 2, .a_stride = 72, .b_stride = 30}));
  const MatmulProblem other = problem_of({2, 1, 4, 6}, {1, 3, 6, 5}, {2, 3, 4, 5});
  EXPECT_THAT(other.batch, ElementsAre(Axis{.extent = 2, .a_stride = 24, .b_stride = 0},
                                       Axis{.extent = 3, .a_stride = 0, .b_stride = 30}));
  const MatmulProblem::Offsets last = other.offsets(5);
  EXPECT_EQ(last.a, 24);
  EXPECT_EQ(last.b, 60);
  EXPECT_EQ(last.result, 5 * 20);
}

TEST(MatmulProblem, EmptyBatchesAreEmpty) {
  EXPECT_TRUE(problem_of({0, 4, 6}, {0, 6, 5}, {0, 4, 5}).is_empty());
  EXPECT_TRUE(problem_of({4, 6}, {6, 0}, {4, 0}).is_empty());
  EXPECT_FALSE(problem_of({4, 0}, {0, 5}, {4, 5}).is_empty());
}

}  // namespace
}  // namespace sinter::matmul_problem_test
