// Inside the oracle: sums and products of elements taken in one by one, whatever the order in which
// a device takes them.
#pragma once

#include "ir/oracle/interpret_ops.h"

#include <climits>
#include <cstdint>

namespace sinter {

/// A sum in long double with what two roundings lose carried along.
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

/// What is to be known of the elements of a sum.
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

  /// One more element; `bound` is how far the device's may be from it.
  void add(double x, double bound);
};

/// The sum of what is in `totals` after `steps` rounded additions on the longest way.
Interval sum_interval(const Totals& totals, DType accumulator, std::int64_t steps);

/// What is to be known of the factors of a product.
struct Factors {
  long double product = 1;
  long double largest = 1;    ///< the product of the most that each factor's magnitude may be
  long double above_one = 1;  ///< no partial product is larger …
  long double below_one = 1;  ///< … or smaller, unless it is 0
  bool has_nan = false;
  bool has_undecided = false;
  bool has_infinity = false;
  bool has_zero = false;  ///< an exact one

  void multiply(double x, double bound);
};

/// The product of `factors` after `steps` rounded multiplications, in whatever order.
Interval product_interval(const Factors& factors, DType accumulator, std::int64_t steps);

}  // namespace sinter
