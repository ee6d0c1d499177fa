// The oracle for products, with an error bound that holds for any order of multiplication.
#include "ir/oracle/reduced_view.h"
#include "ir/oracle/running_totals.h"
#include "ir/types/casts.h"

#include <algorithm>
#include <cmath>

namespace sinter {

void Factors::multiply(double x, double bound) {
  has_undecided |= std::isinf(bound);
  has_nan |= std::isnan(x) && std::isfinite(bound);
  has_infinity |= std::isinf(x);
  has_zero |= x == 0 && bound == 0;
  if (std::isinf(bound)) return;
  const long double most = std::fabs(static_cast<long double>(x)) + bound;
  const long double least = std::fmax(std::fabs(static_cast<long double>(x)) - bound, 0.0L);
  product *= x;
  largest *= most;
  above_one *= std::fmax(most, 1.0L);
  if (!(x == 0 && bound == 0)) below_one *= std::fmin(least, 1.0L);
}

Interval product_interval(const Factors& factors, DType accumulator, std::int64_t steps) {
  const auto limit = largest_finite(accumulator);
  if (factors.has_nan) return certain(kNan);
  if (factors.has_undecided) return undecided(factors.product);
  if (factors.has_infinity && factors.has_zero) return certain(kNan);
  const long double gamma = rounding_errors(accumulator, steps);
  // The order of multiplication decides whether an infinite partial product meets a 0.
  const bool may_overflow = !(factors.above_one * (1 + gamma) <= limit);
  const long double smallest_normal = std::ldexp(1.0L, info(accumulator).min_exponent);
  const bool may_underflow = factors.below_one < smallest_normal;
  if (factors.has_infinity || may_overflow) {
    const bool stays = factors.has_infinity && !may_underflow && factors.below_one > 0;
    return stays ? certain(factors.product) : undecided(factors.product);
  }
  if (factors.has_zero) return certain(factors.product);
  long double error = factors.largest - std::fabs(factors.product) + gamma * factors.largest;
  if (may_underflow)
    error += static_cast<long double>(steps + 1) * ulp_at(accumulator, 0) * factors.above_one *
             (1 + gamma);
  return rounded(within(factors.product, error), accumulator);
}

Interval product_of(const ReducedView& view) {
  Factors factors;
  for (std::size_t i = 0; i < view.offsets.size(); ++i)
    factors.multiply(view.real(i), view.bound(i));
  return product_interval(factors, view.accumulator, std::max<std::int64_t>(view.size() - 1, 0));
}

}  // namespace sinter
