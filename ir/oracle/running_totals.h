// Internal to the oracle: sums and products built element by element. Their intervals hold for any
// order in which a device takes the elements.
#pragma once

#include "ir/oracle/interpret_ops.h"

#include <climits>
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

}  // namespace sinter
