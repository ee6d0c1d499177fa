// The oracle's products, with the error that any order of multiplication may make.
#include "ir/interpret_group.h"
#include "ir/rounding.h"

#include <cmath>

namespace sinter {

namespace {

/// What is to be known of the factors.
struct Factors {
  long double product = 1;
  long double largest = 1;    ///< the product of the most that each factor's magnitude may be
  long double above_one = 1;  ///< no partial product is larger …
  long double below_one = 1;  ///< … or smaller, unless it is 0
  bool has_nan = false;
  bool has_undecided = false;
  bool has_infinity = false;
  bool has_zero = false;  ///< an exact one
};

Factors factors_of(const ReducedView& group) {
  Factors factors;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) {
    const long double x = group.real(i);
    const long double bound = group.bound(i);
    factors.has_undecided |= std::isinf(bound);
    factors.has_nan |= std::isnan(x) && std::isfinite(bound);
    factors.has_infinity |= std::isinf(x);
    factors.has_zero |= x == 0 && bound == 0;
    if (std::isinf(bound)) continue;
    const long double most = std::fabs(x) + bound;
    const long double least = std::fmax(std::fabs(x) - bound, 0.0L);
    factors.product *= x;
    factors.largest *= most;
    factors.above_one *= std::fmax(most, 1.0L);
    if (!(x == 0 && bound == 0)) factors.below_one *= std::fmin(least, 1.0L);
  }
  return factors;
}

}  // namespace

Interval product_of(const ReducedView& group) {
  const Factors factors = factors_of(group);
  const auto limit = largest_finite(group.accumulator);
  if (factors.has_nan) return certain(std::numeric_limits<long double>::quiet_NaN());
  if (factors.has_undecided) return undecided(factors.product);
  if (factors.has_infinity && factors.has_zero)
    return certain(std::numeric_limits<long double>::quiet_NaN());
  const std::int64_t steps = std::max<std::int64_t>(group.size() - 1, 0);
  const long double gamma = group.gamma(steps);
  // An infinite partial product meets a 0 or not, as the order has it.
  const bool may_overflow = !(factors.above_one * (1 + gamma) <= limit);
  const long double smallest_normal = std::ldexp(1.0L, info(group.accumulator).min_exponent);
  const bool may_underflow = factors.below_one < smallest_normal;
  if (factors.has_infinity || may_overflow) {
    const bool stays = factors.has_infinity && !may_underflow && factors.below_one > 0;
    return stays ? certain(factors.product) : undecided(factors.product);
  }
  if (factors.has_zero) return certain(factors.product);
  long double error = factors.largest - std::fabs(factors.product) + gamma * factors.largest;
  if (may_underflow)
    error += static_cast<long double>(steps + 1) * ulp_at(group.accumulator, 0) *
             factors.above_one * (1 + gamma);
  return rounded(
      {.value = factors.product, .low = factors.product - error, .high = factors.product + error},
      group.accumulator);
}

}  // namespace sinter
