#include "ir/rounding.h"

#include "ir/float8.h"
#include "ir/half.h"
#include "sinter/error.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace sinter {

namespace {

/// True if `value` lies exactly halfway between two neighbours of `dtype`, of which `rounded` is
/// one.
bool is_halfway(DType dtype, long double value, double rounded) {
  if (dtype == f32) {
    // The quick answer for nearly all values: a tie of f32 has at most 25 bits, so as a double its
    // last 28 are 0.
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

/// Long double has rounded the result to a tie of `dtype`. Rounds by the side on which the true
/// result lies, which shows when the formula is rounded downward and upward.
double resolve_tie(const OpInfo& row, std::span<const long double> operands, long double tie,
                   DType dtype) {
  const int mode = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  const long double below = row.host(operands, dtype);
  std::fesetround(FE_UPWARD);
  const long double above = row.host(operands, dtype);
  std::fesetround(mode);
  if (below == above) return round_to(dtype, tie);
  const long double infinity = std::numeric_limits<long double>::infinity();
  return round_to(dtype, std::nextafter(tie, below == tie ? infinity : -infinity));
}

}  // namespace

double round_to(DType dtype, long double value) {
  switch (dtype) {
    case DType::f8e4m3: return round_to_f8(kF8e4m3, value);
    case DType::f8e5m2: return round_to_f8(kF8e5m2, value);
    case DType::f16: return f16_value(f16_bits(value));
    case DType::bf16: return bf16_value(bf16_bits(value));
    case DType::f32:
    case DType::c64: return static_cast<float>(value);
    default: return static_cast<double>(value);
  }
}

double round_as_op(DType dtype, long double value) {
  if (!is_narrow(dtype)) return round_to(dtype, value);
  return round_to(dtype, round_to(info(dtype).compute, value));
}

long double ulp_at(DType dtype, long double value) {
  const DTypeInfo& row = info(dtype);
  // The exponent from the bits of a double: this stands in the oracle's innermost loop, where ilogb
  // and ldexp of long double would take most of the time.
  const long double magnitude = std::fabs(value);
  const auto narrow = static_cast<double>(magnitude);
  const auto bits = std::bit_cast<std::uint64_t>(narrow);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  const bool rounded_up_to_power =
      static_cast<long double>(narrow) > magnitude && (bits & ((1ULL << 52) - 1)) == 0;
  if (rounded_up_to_power) --exponent;
  exponent = std::clamp(exponent, row.min_exponent, row.max_exponent) - (row.mantissa_bits - 1);
  if (exponent < -1022) return std::ldexp(1.0L, exponent);
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

long double largest_finite(DType dtype) {
  if (is_f8(dtype)) return dtype == f8e4m3 ? kF8e4m3.largest : kF8e5m2.largest;
  const DTypeInfo& row = info(dtype);
  return std::ldexp(2.0L - std::ldexp(1.0L, 1 - row.mantissa_bits), row.max_exponent);
}

Wide wrap_to(DType dtype, Wide value) {
  if (dtype == boolean) return value != 0;
  const int unused = 128 - width_of(dtype);
  const UnsignedWide shifted = static_cast<UnsignedWide>(value) << unused;
  return is_signed(dtype) ? static_cast<Wide>(shifted) >> unused
                          : static_cast<Wide>(shifted >> unused);
}

Wide lowest_integer(DType dtype) {
  return is_signed(dtype) ? -(Wide{1} << (width_of(dtype) - 1)) : 0;
}

Wide highest_integer(DType dtype) {
  return (Wide{1} << (width_of(dtype) - (is_signed(dtype) ? 1 : 0))) - 1;
}

Wide cast_to_integer(DType dtype, long double value) {
  if (dtype == boolean) return value != 0;
  if (std::isnan(value)) return 0;
  const long double whole = std::trunc(value);
  // The ends have no fraction, and 2^63 and 2^64 are exact, so these comparisons are exact too.
  if (whole >= static_cast<long double>(highest_integer(dtype))) return highest_integer(dtype);
  if (whole <= static_cast<long double>(lowest_integer(dtype))) return lowest_integer(dtype);
  return static_cast<Wide>(whole);
}

double round_result(const OpInfo& row, std::span<const long double> operands, long double result,
                    DType dtype) {
  const DType compute = info(dtype).compute;
  double rounded = round_to(compute, result);
  if (row.ulp == 0 && is_halfway(compute, result, rounded))
    rounded = resolve_tie(row, operands, result, compute);
  return compute == dtype ? rounded : round_to(dtype, rounded);
}

}  // namespace sinter
