// The oracle for logsumexp, with a bound on the error that the reduction tree makes in the
// accumulator.
#include "ir/ops/op.h"
#include "ir/oracle/reduced_view.h"
#include "ir/oracle/running_totals.h"
#include "ir/types/casts.h"
#include "ir/types/long_double_limits.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

/// logsumexp of the elements, each moved by `sign` times its bound.
long double exact_logsumexp(const ReducedView& view, long double sign) {
  const auto element = [&](std::size_t i) {
    return view.real(i) + sign * static_cast<long double>(view.bound(i));
  };
  long double largest = -kInfinity;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) largest = std::max(largest, element(i));
  if (std::isinf(largest)) return largest;
  Accumulator total;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) total.add(std::exp(element(i) - largest));
  return largest + std::log(total.total());
}

/// A bound on the error of the device's result before its last rounding. `largest` is the largest
/// magnitude of the exact result.
//
// The state of a subtree is its largest element m and the sum s >= 1 of exp(x - m) over it. Let u
// be the unit of rounding and M the largest of all n elements. Let S be the sum of exp(x - M), and
// L = M + log S. A step is an update or a combine of two states that are not empty. Let T be the
// number of steps on the longest path through the tree.
//
// m is exact. On the path to S the exponential of an element is multiplied by at most one factor
// exp(-d) per step. The d sum up to M - x. The device rounds each d, with an error of at most
// u d, so the exponent is off by at most u (M - x). Let p = exp(x - M) / S; the p sum up to 1. Then
// S becomes at most the sum of exp((1 - u) (x - M)) = S^(1 - u) times the sum of p^(1 - u). That
// sum is at most n^u by Jensen's inequality. Likewise S becomes at least S^(1 + u) / n^u. S is
// between 1 and n, so log S is off by at most u log n. A device may compute exp(-d) as 2^(-d log2 e).
// The constant and the product are then rounded too, which doubles and triples this error.
//
// In addition, each step computes an exponential (off by 2 u per ulp), rounds a product and rounds
// a sum. No number is negative, so log S is off by at most T times the error of a step. A value
// that underflows is off by less than the smallest normal number times the sum that it scales. The
// sums at one step of the tree are at most n together, and S is at least 1.
//
// The logarithm is at most log n, and off by 2 u log n per ulp.
//
// The result of a level is rounded before it becomes an element y of the next level. Rounding is
// monotone and moves y by at most u |y|. Let y = L - e; the exp(-e) sum up to 1. Then |y| is at
// most |L| + e, and as before the terms u e move the total by at most u log n. So a rounding
// between levels moves L by at most u (|L| + log n).
//
// Long double itself is off by less than 2^-62 of |M| and log n, and |M| is at most |L| + log n.
// This error dominates if |M| is far above n and the accumulator is f64.
long double logsumexp_error(const ReducedView& view, long double largest) {
  const auto n = static_cast<long double>(view.size());
  const auto steps =
      static_cast<long double>(std::min<std::int64_t>(view.depth.steps(), view.size() - 1));
  const DTypeInfo& accumulator = info(view.accumulator);
  const long double u = std::ldexp(1.0L, -accumulator.mantissa_bits);
  const long double smallest_normal = std::ldexp(1.0L, accumulator.min_exponent);
  const long double of_sum =
      u * (2 * info(Op::exp).ulp + 2) * steps + 2 * n * steps * smallest_normal;
  const long double of_logarithms = u * (3 + 2 * info(Op::log).ulp) * std::log(n);
  const long double magnitude = largest + std::log(n);
  const long double of_results =
      magnitude * (u * static_cast<long double>(view.depth.levels - 1) + 0x1p-62L);
  // The first quotient covers -log(1 - x) of each step; the factor covers products of errors.
  return (of_sum / (1 - of_sum) + of_logarithms + of_results) * (1 + 0x1p-8L);
}

}  // namespace

Interval logsumexp_of(const ReducedView& view) {
  bool has_undecided = false;
  bool has_bounds = false;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) {
    const double bound = view.bound(i);
    if (std::isnan(view.real(i)) && std::isfinite(bound)) return certain(kNan);
    has_undecided |= std::isinf(bound);
    has_bounds |= bound != 0;
  }
  if (has_undecided) return undecided(0);
  const long double value = exact_logsumexp(view, 0);
  if (std::isinf(value)) return certain(value);
  const long double least = has_bounds ? exact_logsumexp(view, -1) : value;
  const long double most = has_bounds ? exact_logsumexp(view, 1) : value;
  const long double error = logsumexp_error(view, std::max(std::fabs(least), std::fabs(most)));
  return rounded({.value = value, .low = least - error, .high = most + error}, view.accumulator);
}

}  // namespace sinter
