// Building blocks for the vjps of reductions in ops.def.
#pragma once

#include "sinter/graph.h"

#include <cstdint>
#include <vector>

namespace sinter {

/// Records cotangents of the operand `x` of a reduction with result `y`. "Group" below means all
/// elements of x that are reduced to one element of y.
class ReductionVjp {
 public:
  ReductionVjp(Tensor x, Tensor y);

  /// Broadcasts `value`, of y's shape, to x's shape.
  Tensor broadcast_back(Tensor value) const;
  /// Divides g equally among the elements of each group that are equal to y; 0 for all others.
  Tensor split_among_ties(Tensor g) const;
  /// broadcast_back(g) times the product of the other elements of the group.
  Tensor times_product_of_others(Tensor g) const;
  /// 2 · broadcast_back(scale) · (x - mean of the group).
  Tensor times_deviation(Tensor scale) const;
  /// broadcast_back(g) · softmax of x over the group; 0 if all elements of the group are -inf.
  Tensor times_softmax(Tensor g) const;
  /// The size of a group, less `correction` for var. Its dtype is the accumulator's, because halves
  /// cannot count far.
  Tensor count() const;
  /// Zeros of x's shape.
  Tensor zero() const;

 private:
  DType accumulator() const;
  /// The reduction of y applied to `x`, which is the operand cast to another dtype.
  Tensor widened(Tensor x) const;

  Tensor x_;
  Tensor y_;
  std::vector<std::int64_t> axes_;
};

}  // namespace sinter
