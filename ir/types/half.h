// Conversions between the bits of f16 and bf16 and wider floats. They round once, to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter {

/// A 16-bit float with `mantissa` stored bits. `min_exponent` is that of the smallest normal
/// number.
template <int mantissa, int min_exponent>
struct HalfFormat {
  static constexpr int kExponentMask = (1 << (15 - mantissa)) - 1;
  static constexpr std::uint16_t kInfinity = kExponentMask << mantissa;

  static std::uint16_t encode(double value) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    const std::uint16_t sign = static_cast<std::uint16_t>(bits >> 48) & 0x8000;
    const int biased = static_cast<int>(bits >> 52) & 0x7ff;
    if (std::isnan(value)) return sign | kInfinity | (1 << (mantissa - 1));
    // Infinities, and values whose exponent is above that of the largest finite number.
    if (biased - 1023 > 1 - min_exponent) return sign | kInfinity;
    // The significand with its leading one. Rounding drops 52 - mantissa bits of it, and one more
    // for each power of two below the smallest normal number. Doubles below 2^-1022 all round to 0.
    const std::uint64_t significand = (bits & ((1ULL << 52) - 1)) | (1ULL << 52);
    const int exponent = biased - 1023;
    const int below = exponent < min_exponent ? min_exponent - exponent : 0;
    const int drop = 52 - mantissa + below;
    if (drop > 53) return sign;
    const std::uint64_t kept = significand >> drop;
    const std::uint64_t rest = significand - (kept << drop);
    const std::uint64_t half = 1ULL << (drop - 1);
    const std::uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
    // The leading one adds 1 to the exponent field, and a carry out of the significand adds 1 more.
    const int field = below ? 0 : exponent - min_exponent;
    return static_cast<std::uint16_t>(sign |
                                      ((static_cast<std::uint64_t>(field) << mantissa) + rounded));
  }

  static std::uint16_t encode(long double value) {
    // Converts through a double that is rounded to odd, so that the second rounding gives the
    // result of a single rounding.
    double odd = static_cast<double>(value);
    if (static_cast<long double>(odd) != value && std::isfinite(odd)) {
      if (std::fabs(static_cast<long double>(odd)) > std::fabs(value))
        odd = std::nextafter(odd, 0.0);
      odd = std::bit_cast<double>(std::bit_cast<std::uint64_t>(odd) | 1);
    }
    return encode(odd);
  }

  static float decode(std::uint16_t bits) {
    const int field = (bits >> mantissa) & kExponentMask;
    const int fraction = bits & ((1 << mantissa) - 1);
    float magnitude = 0;
    if (field == kExponentMask)
      magnitude = fraction ? std::nanf("") : HUGE_VALF;
    else if (field == 0)
      magnitude = std::ldexp(static_cast<float>(fraction), min_exponent - mantissa);
    else
      magnitude =
          std::bit_cast<float>((static_cast<std::uint32_t>(field - 1 + min_exponent + 127) << 23) |
                               (static_cast<std::uint32_t>(fraction) << (23 - mantissa)));
    return bits & 0x8000 ? -magnitude : magnitude;
  }
};

using F16Format = HalfFormat<10, -14>;
using Bf16Format = HalfFormat<7, -126>;

/// The bits of the f16 or bf16 nearest to `value`. NaN stays NaN; too large values become infinite.
inline std::uint16_t f16_bits(double value) { return F16Format::encode(value); }
inline std::uint16_t f16_bits(long double value) { return F16Format::encode(value); }
inline std::uint16_t bf16_bits(double value) { return Bf16Format::encode(value); }
inline std::uint16_t bf16_bits(long double value) { return Bf16Format::encode(value); }
/// The value of the bits, exactly.
inline float f16_value(std::uint16_t bits) { return F16Format::decode(bits); }
inline float bf16_value(std::uint16_t bits) { return Bf16Format::decode(bits); }

}  // namespace sinter
