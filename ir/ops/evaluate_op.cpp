// Correct rounding of the results of host formulas.
#include "ir/ops/evaluate_op.h"

#include "ir/types/casts.h"
#include "ir/types/long_double_limits.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace sinter {

namespace {

/// True if `value` is exactly halfway between two adjacent numbers of `dtype`, one of which is
/// `rounded`.
bool is_halfway(DType dtype, long double value, double rounded) {
  if (dtype == f32) {
    // Fast path for nearly all values: a tie of f32 has at most 25 bits, so the last 28 bits of the
    // double are 0.
    const double narrow = static_cast<double>(value);
    if (static_cast<long double>(narrow) != value) return false;
    if ((std::bit_cast<std::uint64_t>(narrow) & ((1ULL << 28) - 1)) != 0) return false;
  }
  const long double distance = std::fabs(value - static_cast<long double>(rounded));
  if (distance == 0 || std::isnan(distance)) return false;
  if (std::isinf(distance)) {
    const long double largest = largest_finite(dtype);
    return std::isfinite(value) && std::fabs(value) == largest + ulp_at(dtype, largest) / 2;
  }
  return distance == ulp_at(dtype, value) / 2;
}

/// Rounds a long double result that is a tie of `dtype`, and that may itself be rounded. Evaluates
/// the formula with rounding downward and upward, which shows on which side of the tie the exact
/// result is.
double resolve_tie(const OpInfo& row, std::span<const long double> operands, long double tie,
                   DType dtype) {
  const int mode = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  const long double below = row.host(operands, dtype);
  std::fesetround(FE_UPWARD);
  const long double above = row.host(operands, dtype);
  std::fesetround(mode);
  if (below == above) return round_to(dtype, tie);
  return round_to(dtype, std::nextafter(tie, below == tie ? kInfinity : -kInfinity));
}

}  // namespace

double round_result(const OpInfo& row, std::span<const long double> operands, long double result,
                    DType dtype) {
  const DType compute = info(dtype).compute;
  double rounded = round_to(compute, result);
  if (row.ulp == 0 && is_halfway(compute, result, rounded))
    rounded = resolve_tie(row, operands, result, compute);
  return compute == dtype ? rounded : round_to(dtype, rounded);
}

}  // namespace sinter
