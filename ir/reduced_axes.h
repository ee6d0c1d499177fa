// What the vjps of reductions are written in.
#pragma once

#include "sinter/graph.h"

#include <cstdint>
#include <vector>

namespace sinter {

/// The way back from the result `y` of a reduction to its operand `x`.
class ReducedAxes {
 public:
  ReducedAxes(Tensor x, Tensor y);

  /// A value of y's shape once for each element of x that went into it.
  Tensor spread(Tensor value) const;
  /// The mean of what went into each element of y, spread.
  Tensor mean() const;
  /// g, spread, in equal parts over the elements of x that are equal to y.
  Tensor share(Tensor g) const;
  /// The product of all elements that go into the same element of y, but for the one itself.
  Tensor others() const;
  /// How many elements went into one of y, less `correction` (var), in x's dtype.
  Tensor count() const;
  /// x's shape, nothing but zeros.
  Tensor zero() const;

 private:
  Tensor x_;
  Tensor y_;
  std::vector<std::int64_t> axes_;
};

}  // namespace sinter
