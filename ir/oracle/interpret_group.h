// Inside the oracle: what one result of a reduction is made from, and the sums over it.
#pragma once

#include "ir/oracle/interpret_ops.h"
#include "ir/types/wide_integer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace sinter {

/// The longest way of an element through the reduction tree.
struct TreeDepth {
  int in_order = 0;  ///< elements taken into one accumulator one after another
  int combines = 0;  ///< of accumulators and parts
  int levels = 0;    ///< whose results are rounded before the next one takes them
  int steps() const { return in_order + combines; }
};

/// The relative error of `steps` roundings to `dtype`, one after another.
inline long double rounding_errors(DType dtype, std::int64_t steps) {
  const long double all = std::ldexp(static_cast<long double>(steps), -info(dtype).mantissa_bits);
  return all / (1 - all);
}

/// What goes into one result: a view of the operand's elements.
struct ReducedView {
  const Expected& from;
  std::int64_t base;
  std::span<const std::int64_t> offsets;
  DType accumulator;
  TreeDepth depth;

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()); }
  std::size_t place(std::size_t i) const { return static_cast<std::size_t>(base + offsets[i]); }
  double real(std::size_t i) const { return from.reals[place(i)]; }
  std::int64_t integer(std::size_t i) const { return from.integers[place(i)]; }
  Wide whole(std::size_t i) const { return from_stored(from.dtype, integer(i)); }
  double bound(std::size_t i) const { return from.bounds.empty() ? 0.0 : from.bounds[place(i)]; }
  /// The relative error of `steps` roundings of the accumulator, one after another.
  long double gamma(std::int64_t steps) const { return rounding_errors(accumulator, steps); }
};

/// A value that the device must have exactly.
inline Interval certain(long double value) { return {.value = value, .low = value, .high = value}; }
/// A value of which nothing can be said.
inline Interval undecided(long double value) {
  return {.value = value, .low = std::numeric_limits<long double>::quiet_NaN(), .high = value};
}

/// The sum in the accumulator's dtype; +0 of nothing.
Interval sum_of(const ReducedView& group);
/// The product in the accumulator's dtype; 1 of nothing.
Interval product_of(const ReducedView& group);
/// The sum of squared deviations from the mean, in the accumulator's dtype; +0 of fewer than two.
Interval deviations_of(const ReducedView& group);
/// The logarithm of the sum of exponentials, in the accumulator's dtype; -inf of nothing.
Interval logsumexp_of(const ReducedView& group);

}  // namespace sinter
