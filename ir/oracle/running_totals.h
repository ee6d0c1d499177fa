// Internal to the oracle: sums, products and extremes built element by element. Their intervals
// hold for any order in which a device takes the elements.
#pragma once

#include "ir/oracle/interpret_ops.h"
#include "ir/types/long_double_limits.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>

namespace sinter {

/// A compensated sum in long double: `lost` collects the rounding errors of the additions.
struct Accumulator {
  long double sum = 0;
  long double lost = 0;
  void add(long double x) {
    const long double next = sum + x;
    const long double back = next - sum;
    lost += (sum - (next - back)) + (x - back);
    sum = next;
  }
  long double total() const { return sum + lost; }
};

/// The facts about the elements of a sum that `sum_interval` needs.
struct Totals {
  Accumulator sum;
  Accumulator magnitude;  ///< of finite elements
  Accumulator bounds;
  int lowest_bit = INT32_MAX;  ///< all finite elements are multiples of 2^lowest_bit
  bool has_nan = false;
  bool has_undecided = false;
  bool has_positive_infinity = false;
  bool has_negative_infinity = false;
  bool may_be_negative = false;

  /// Adds an element; the device's element is within `bound` of `x`.
  void add(double x, double bound);
};

/// The sum of the elements in `totals`, with at most `steps` rounded additions on any path.
Interval sum_interval(const Totals& totals, DType accumulator, std::int64_t steps);

/// The facts about the factors of a product that `product_interval` needs.
struct Factors {
  long double product = 1;
  long double largest = 1;    ///< the product of the largest possible magnitudes
  long double above_one = 1;  ///< no partial product has a larger magnitude …
  long double below_one = 1;  ///< … or a smaller one, unless it is 0
  bool has_nan = false;
  bool has_undecided = false;
  bool has_infinity = false;
  bool has_zero = false;  ///< an exact 0

  void multiply(double x, double bound);
};

/// The product of `factors` after `steps` rounded multiplications in any order.
Interval product_interval(const Factors& factors, DType accumulator, std::int64_t steps);

/// The largest element for sign 1; the smallest for sign -1, as the negated largest of the negated
/// elements.
struct Extreme {
  int sign = 1;
  Interval largest = certain(-kInfinity);
  bool has_nan = false;
  bool has_undecided = false;

  void add(double x, double bound) {
    has_nan |= std::isnan(x) && std::isfinite(bound);
    has_undecided |= std::isinf(bound);
    if (std::isnan(x) || std::isinf(bound)) return;
    const Interval element = within(sign * static_cast<long double>(x), bound);
    largest = {.value = std::max(largest.value, element.value),
               .low = std::max(largest.low, element.low),
               .high = std::max(largest.high, element.high)};
  }
  Interval interval() const {
    if (has_nan) return certain(kNan);
    if (has_undecided) return undecided(sign * largest.value);
    return sign > 0 ? largest
                    : Interval{.value = -largest.value, .low = -largest.high, .high = -largest.low};
  }
};

}  // namespace sinter
