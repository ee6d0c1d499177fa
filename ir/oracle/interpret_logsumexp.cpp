// The oracle's logarithm of a sum of exponentials, with the error that the reduction tree may make
// in the accumulator.
#include "ir/ops/op.h"
#include "ir/oracle/interpret_group.h"
#include "ir/oracle/interpret_totals.h"
#include "ir/types/long_double_limits.h"
#include "ir/types/rounding.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

/// Of the elements moved by `sign` times their bounds.
long double exact_logsumexp(const ReducedView& group, long double sign) {
  const auto element = [&](std::size_t i) {
    return group.real(i) + sign * static_cast<long double>(group.bound(i));
  };
  long double largest = -kInfinity;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) largest = std::max(largest, element(i));
  if (std::isinf(largest)) return largest;
  Accumulator total;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) total.add(std::exp(element(i) - largest));
  return largest + std::log(total.total());
}

/// How far the device's result may be from the exact one, of at most `largest` in magnitude, before
/// it rounds it.
//
// A state is the largest element m of a subtree and the sum s of exp(x - m) over it, at least 1.
// Let u be the unit of rounding, M the largest of all n elements, S the sum of exp(x - M), L = M +
// log S, and T the steps (updates and joins) on the longest way through the tree that find
// something to join.
//
// m is exact. On its way to S the exponential of an element is multiplied by factors exp(-d), at
// most one per step, where the d sum up to M - x. The device rounds each d, by at most u d, so that
// the exponent is off by u (M - x) altogether. By p = exp(x - M) / S, which sum up to 1, that takes
// S to at most the sum of exp((1 - u) (x - M)) = S^(1 - u) times the sum of p^(1 - u), which is at
// most n^u by Jensen; and to at least S^(1 + u) / n^u likewise. As S is between 1 and n, log S is
// off by at most u log n.
//
// Beside that, each step takes an exponential (off by 2 u per ulp), rounds a product and rounds a
// sum, of numbers that are not negative: log S is off by that often the error of one step. What
// underflows is below the smallest normal number, times the sum that it scales; the sums at one
// step of the tree are at most n together, and S is at least 1.
//
// The logarithm is at most log n, and off by 2 u log n per ulp.
//
// The result of a level is rounded before it is an element y of the next. Rounding is monotone and
// takes y to at most y + u |y|; with y = L - e, where the exp(-e) sum up to 1, |y| is at most
// |L| + e, and as before the u e move the whole by at most u log n. So a rounding between levels
// moves L by at most u (|L| + log n).
//
// Long double itself is off by less than 2^-62 of |M| and log n, where |M| is at most |L| + log n.
// That is more than all the rest where |M| is far above n and the accumulator is f64.
long double logsumexp_error(const ReducedView& group, long double largest) {
  const auto n = static_cast<long double>(group.size());
  const auto steps =
      static_cast<long double>(std::min<std::int64_t>(group.depth.steps(), group.size() - 1));
  const DTypeInfo& accumulator = info(group.accumulator);
  const long double u = std::ldexp(1.0L, -accumulator.mantissa_bits);
  const long double smallest_normal = std::ldexp(1.0L, accumulator.min_exponent);
  const long double of_sum =
      u * (2 * info(Op::exp).ulp + 2) * steps + 2 * n * steps * smallest_normal;
  const long double of_logarithms = u * (1 + 2 * info(Op::log).ulp) * std::log(n);
  const long double magnitude = largest + std::log(n);
  const long double of_results =
      magnitude * (u * static_cast<long double>(group.depth.levels - 1) + 0x1p-62L);
  // The first quotient covers -log(1 - x) of each step, the factor what errors do to one another.
  return (of_sum / (1 - of_sum) + of_logarithms + of_results) * (1 + 0x1p-8L);
}

}  // namespace

Interval logsumexp_of(const ReducedView& group) {
  bool has_undecided = false;
  bool has_bounds = false;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) {
    const double bound = group.bound(i);
    if (std::isnan(group.real(i)) && std::isfinite(bound))
      return certain(std::numeric_limits<long double>::quiet_NaN());
    has_undecided |= std::isinf(bound);
    has_bounds |= bound != 0;
  }
  if (has_undecided) return undecided(0);
  const long double value = exact_logsumexp(group, 0);
  if (std::isinf(value)) return certain(value);
  const long double least = has_bounds ? exact_logsumexp(group, -1) : value;
  const long double most = has_bounds ? exact_logsumexp(group, 1) : value;
  const long double error = logsumexp_error(group, std::max(std::fabs(least), std::fabs(most)));
  return rounded({.value = value, .low = least - error, .high = most + error}, group.accumulator);
}

}  // namespace sinter
