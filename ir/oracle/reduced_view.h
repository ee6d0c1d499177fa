// Internal to the oracle: the elements that are reduced to one result, and reductions over them.
#pragma once

#include "ir/oracle/interpret_ops.h"

#include <cmath>
#include <cstdint>
#include <span>

namespace sinter {

/// The operations on the longest path of an element through the reduction tree.
struct TreeDepth {
  int in_order = 0;  ///< elements that one accumulator takes in sequence
  int combines = 0;  ///< combines of accumulators and splits
  int levels = 0;    ///< each level rounds its result before the next level
  int steps() const { return in_order + combines; }
};

/// The relative error bound of `steps` successive roundings to `dtype`.
inline long double rounding_errors(DType dtype, std::int64_t steps) {
  const long double all = std::ldexp(static_cast<long double>(steps), -info(dtype).mantissa_bits);
  return all / (1 - all);
}

/// The elements reduced to one result, as a view of the operand.
struct ReducedView {
  const Expected& from;
  std::int64_t base;
  std::span<const std::int64_t> offsets;
  DType accumulator;
  TreeDepth depth;

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()); }
  std::size_t position(std::size_t i) const { return static_cast<std::size_t>(base + offsets[i]); }
  double real(std::size_t i) const { return from.reals[position(i)]; }
  std::int64_t integer(std::size_t i) const { return from.integers[position(i)]; }
  Wide wide(std::size_t i) const { return from_storage_bits(from.dtype, integer(i)); }
  double bound(std::size_t i) const { return from.bounds.empty() ? 0.0 : from.bounds[position(i)]; }
  /// The relative error bound of `steps` successive roundings to the accumulator's dtype.
  long double gamma(std::int64_t steps) const { return rounding_errors(accumulator, steps); }
};

/// The sum in the accumulator's dtype; +0 for an empty view.
Interval sum_of(const ReducedView& view);
/// The product in the accumulator's dtype; 1 for an empty view.
Interval product_of(const ReducedView& view);
/// The sum of squared deviations from the mean, in the accumulator's dtype; +0 for fewer than two
/// elements.
Interval deviations_of(const ReducedView& view);
/// The logarithm of the sum of exponentials, in the accumulator's dtype; -inf for an empty view.
Interval logsumexp_of(const ReducedView& view);

}  // namespace sinter
