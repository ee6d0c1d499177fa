// What the vjps of reductions are written in.
#pragma once

#include "sinter/graph.h"

#include <cstdint>
#include <vector>

namespace sinter {

/// The way back from the result `y` of a reduction to its operand `x`.
class ReductionVjp {
 public:
  ReductionVjp(Tensor x, Tensor y);

  /// A value of y's shape once for each element of x that went into it.
  Tensor spread(Tensor value) const;
  /// g, spread, in equal parts over the elements of x that are equal to y.
  Tensor share(Tensor g) const;
  /// g, spread, times the product of all elements but the one itself that go into the same of y.
  Tensor times_others(Tensor g) const;
  /// Twice `scale`, spread, times how far each element is from the mean of those beside it.
  Tensor times_deviation(Tensor scale) const;
  /// g, spread, times the part of each element's exponential in the sum of those beside it; 0 where
  /// all of them are -inf.
  Tensor times_softmax(Tensor g) const;
  /// How many elements went into one of y, less `correction` (var), in the accumulator's dtype:
  /// halves cannot count far.
  Tensor count() const;
  /// x's shape, nothing but zeros.
  Tensor zero() const;

 private:
  DType accumulator() const;
  /// What y is made from x, in the dtype of `x`, which is x in another one.
  Tensor widened(Tensor x) const;

  Tensor x_;
  Tensor y_;
  std::vector<std::int64_t> axes_;
};

}  // namespace sinter
