// Casts of single numbers: rounding, wrapping and saturation.
#include "ir/types/casts.h"

#include "ir/types/float8.h"
#include "ir/types/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter {

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
  // Reads the exponent from the bits of a double. The innermost loop of the oracle calls this
  // function; ilogb and ldexp of long double would take most of its time.
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

}  // namespace sinter
