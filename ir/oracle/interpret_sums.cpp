// The oracle for sums and squared deviations, with a bound on the error that the reduction tree
// makes in the accumulator.
#include "ir/oracle/reduced_view.h"
#include "ir/oracle/running_totals.h"
#include "ir/types/casts.h"
#include "ir/types/long_double_limits.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter {

namespace {

int lowest_bit_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((1ULL << 52) - 1);
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  const std::uint64_t significand = field == 0 ? fraction : fraction | (1ULL << 52);
  return std::max(field, 1) - 1075 + std::countr_zero(significand);
}

Totals totals_of(const ReducedView& view) {
  Totals totals;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) totals.add(view.real(i), view.bound(i));
  return totals;
}

}  // namespace

void Totals::add(double x, double bound) {
  has_undecided |= std::isinf(bound);
  has_nan |= std::isnan(x) && std::isfinite(bound);
  has_positive_infinity |= x > 0 && std::isinf(x);
  has_negative_infinity |= x < 0 && std::isinf(x);
  if (!std::isfinite(x) || std::isinf(bound)) return;
  sum.add(x);
  magnitude.add(std::fabs(x));
  bounds.add(bound);
  may_be_negative |= x < bound;
  if (x != 0) lowest_bit = std::min(lowest_bit, lowest_bit_of(x));
}

Interval sum_interval(const Totals& totals, DType accumulator, std::int64_t steps) {
  if (totals.has_nan) return certain(kNan);
  if (totals.has_undecided) return undecided(0);
  if (totals.has_positive_infinity && totals.has_negative_infinity) return certain(kNan);
  const long double gamma = rounding_errors(accumulator, steps);
  const long double sum = totals.sum.total();
  const long double magnitude = totals.magnitude.total();
  const long double bounds = totals.bounds.total();
  const long double most = (magnitude + bounds) * (1 + gamma);
  // A partial sum may overflow although the total does not, unless all elements have one sign.
  const bool one_sign = std::fabs(sum) == magnitude && !std::isinf(bounds);
  const bool may_overflow = most > largest_finite(accumulator);
  if (totals.has_positive_infinity || totals.has_negative_infinity) {
    const long double infinity = totals.has_positive_infinity ? kInfinity : -kInfinity;
    return may_overflow ? undecided(infinity) : certain(infinity);
  }
  if (may_overflow && !one_sign) return undecided(round_to(accumulator, sum));
  // If the accumulator can represent every partial sum, the order does not matter.
  const int bits = info(accumulator).mantissa_bits;
  const bool exact =
      bounds == 0 && (magnitude == 0 || magnitude <= std::ldexp(1.0L, totals.lowest_bit + bits));
  if (exact) return certain(sum);
  const long double error = gamma * (magnitude + bounds) + bounds;
  Interval result = rounded(within(sum, error), accumulator);
  if (!totals.may_be_negative) result.low = std::max(result.low, 0.0L);
  return result;
}

Interval sum_of(const ReducedView& view) {
  if (view.size() == 0) return certain(0);
  return sum_interval(totals_of(view), view.accumulator,
                      std::min<std::int64_t>(view.depth.steps(), view.size() - 1));
}

// The bound holds for the two-pass algorithm and for Welford's updates and merges along the tree.
//
// Let u be the unit of rounding, X the largest magnitude, R the range of the elements, and S the
// result. Let a be the number of elements taken in order, and b the number of combines, on the
// longest path through the tree. A running mean m + δ / k keeps (1 - 1 / k) of the error before it
// and adds at most u X + 3 u R / k. A merge adds at most u (X + 3 R). So every mean on the path is
// off by at most
//   e = u (X (a + 1) / 2 + 3 R + b (X + 3 R)).
// In addition to its own roundings, a term δ (x - m) of an update is off by e |δ| + e |x - m| + e².
// A term δ² w of a merge is off by 4 e |δ| w + 4 e² w. The terms sum up to S, and δ² is at most
// twice its term. By Cauchy-Schwarz, the |δ| sum up to at most √(2 n S) and the |x - m| to √(n S).
// The w of one level of merges sum up to n / 4. So the |δ| w of all merges sum up to √(n b S) / 2.
// A term has at most 8 roundings of its own, one addition per update and two per merge. The
// two-pass mean is off by less than t = u X (a + b + 2), which adds n t².
Interval deviations_of(const ReducedView& view) {
  const Totals totals = totals_of(view);
  if (totals.has_nan) return certain(kNan);
  if (totals.has_undecided) return undecided(0);
  if (totals.has_positive_infinity || totals.has_negative_infinity) return certain(kNan);
  if (view.size() < 2) return certain(0);
  const auto n = static_cast<long double>(view.size());
  const long double mean = totals.sum.total() / n;
  Accumulator squares;
  Accumulator from_operands;
  long double largest = 0;
  long double furthest = 0;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) {
    const long double bound = view.bound(i);
    const long double deviation = view.real(i) - mean;
    squares.add(deviation * deviation);
    from_operands.add((2 * std::fabs(deviation) + bound) * bound);
    furthest = std::max(furthest, std::fabs(deviation) + bound);
    largest = std::max(largest, std::fabs(static_cast<long double>(view.real(i))) + bound);
  }
  const std::int64_t steps = std::min<std::int64_t>(view.depth.steps(), view.size());
  const long double in_order = std::min<std::int64_t>(view.depth.in_order, view.size());
  const std::int64_t merge_count = view.depth.combines;
  const auto merges = static_cast<long double>(merge_count);
  const long double range = 2 * furthest;
  const long double u = view.gamma(1);
  const long double e =
      u * (largest * (in_order + 1) / 2 + 3 * range + merges * (largest + 3 * range));
  const long double t = u * largest * static_cast<long double>(steps + 2);
  const long double result = squares.total();
  const long double most = result + from_operands.total();
  const long double error = from_operands.total() + view.gamma(steps + merge_count + 8) * most +
                            e * (1 + std::sqrt(2.0L)) * std::sqrt(n * most) +
                            2 * e * std::sqrt(n * merges * most) + e * e * n * (1 + merges) +
                            t * t * n;
  const long double limit = largest_finite(view.accumulator);
  if (most + error > limit || n * largest > limit)
    return undecided(round_to(view.accumulator, result));
  // Neither algorithm adds a negative number.
  const long double low = std::max(result - error, 0.0L);
  return rounded({.value = result, .low = low, .high = result + error}, view.accumulator);
}

}  // namespace sinter
