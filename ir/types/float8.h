// Conversions of f8e4m3 and f8e5m2 (OCP 8-bit floating point, revision 1.0). They round once, to
// nearest even, and saturate: numbers beyond the largest number become that number. An infinity
// stays one in f8e5m2, and becomes the largest number in f8e4m3, which has no infinity.
#pragma once

#include <cmath>
#include <cstdint>

namespace sinter {

struct Float8Format {
  int mantissa;      ///< stored bits
  int min_exponent;  ///< of the smallest normal number
  double largest;
  std::uint8_t nan;          ///< the bits of a NaN
  int exponents_of_numbers;  ///< exponent fields below it hold numbers; the others hold inf and NaN
  bool has_infinity;
};

inline constexpr Float8Format kF8e4m3{3, -6, 448, 0x7f, 16, false};
inline constexpr Float8Format kF8e5m2{2, -14, 57344, 0x7e, 31, true};

/// The number of the format that is nearest to `value`; NaN for NaN.
inline double round_to_f8(const Float8Format& format, long double value) {
  if (std::isnan(value)) return std::nan("");
  const long double magnitude = std::fabs(value);
  if (std::isinf(magnitude) && format.has_infinity) return static_cast<double>(value);
  if (magnitude >= static_cast<long double>(format.largest))
    return std::copysign(format.largest, static_cast<double>(value));
  const int exponent = magnitude == 0 ? format.min_exponent : std::ilogb(magnitude);
  const long double step =
      std::ldexp(1.0L, std::max(exponent, format.min_exponent) - format.mantissa);
  const auto rounded = static_cast<double>(std::nearbyint(magnitude / step) * step);
  return std::copysign(std::fmin(rounded, format.largest), static_cast<double>(value));
}

inline std::uint8_t f8_bits(const Float8Format& format, long double value) {
  const double rounded = round_to_f8(format, value);
  const auto sign = static_cast<std::uint8_t>(std::signbit(rounded) ? 0x80 : 0);
  if (std::isnan(rounded)) return sign | format.nan;
  if (std::isinf(rounded))
    return static_cast<std::uint8_t>(sign | (format.exponents_of_numbers << format.mantissa));
  const double magnitude = std::fabs(rounded);
  const int exponent = magnitude == 0 ? format.min_exponent - 1 : std::ilogb(magnitude);
  const int field = exponent < format.min_exponent ? 0 : exponent - format.min_exponent + 1;
  const double unit = std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.mantissa);
  const int significand = static_cast<int>(magnitude / unit);
  const int fraction = field == 0 ? significand : significand - (1 << format.mantissa);
  return static_cast<std::uint8_t>(sign | (field << format.mantissa) | fraction);
}

inline float f8_value(const Float8Format& format, std::uint8_t bits) {
  const int field = (bits & 0x7f) >> format.mantissa;
  const int fraction = bits & ((1 << format.mantissa) - 1);
  const bool is_all_ones = (bits & 0x7f) == 0x7f;
  float magnitude = 0;
  if (field >= format.exponents_of_numbers)
    magnitude = fraction == 0 ? HUGE_VALF : std::nanf("");
  else if (is_all_ones)  // the only NaN of f8e4m3
    magnitude = std::nanf("");
  else if (field == 0)
    magnitude = std::ldexp(static_cast<float>(fraction), format.min_exponent - format.mantissa);
  else
    magnitude = std::ldexp(static_cast<float>(fraction + (1 << format.mantissa)),
                           format.min_exponent + field - 1 - format.mantissa);
  return bits & 0x80 ? -magnitude : magnitude;
}

}  // namespace sinter
