// The narrow float formats of PTX (f16, bf16, tf32, e4m3, e5m2): their values as doubles, and the
// rounding of doubles to them. Section 5.2 of the PTX ISA manual describes the formats.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/virtual_gpu/isa/opcode_text.h"

namespace sinter::virtual_gpu {

/// A format with a sign, `exponent_bits` and `mantissa_bits`.
struct NarrowFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity = true;  ///< false: the largest exponent is that of numbers, except all ones
  constexpr int sign_bit() const { return exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint32_t sign() const { return 1u << sign_bit(); }
  constexpr std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  /// The encoding of the largest number.
  constexpr std::uint32_t largest() const { return has_infinity ? infinity() - 1 : sign() - 2; }
  /// All ones without the sign: the canonical NaN of each format. Section 9.7.4 leaves the NaN of
  /// f16 and bf16 instructions unspecified; CUDA's headers give 0x7fff, and 0x7f for 8-bit floats.
  constexpr std::uint32_t nan() const { return sign() - 1; }
};

inline constexpr NarrowFormat kF16{.exponent_bits = 5, .mantissa_bits = 10};
inline constexpr NarrowFormat kBf16{.exponent_bits = 8, .mantissa_bits = 7};
inline constexpr NarrowFormat kTf32{.exponent_bits = 8, .mantissa_bits = 10};
inline constexpr NarrowFormat kE4m3{.exponent_bits = 4, .mantissa_bits = 3, .has_infinity = false};
inline constexpr NarrowFormat kE5m2{.exponent_bits = 5, .mantissa_bits = 2};

/// The registers of f16 and bf16 values.
struct Half {
  static constexpr const NarrowFormat& kFormat = kF16;
  std::uint16_t bits;
};
struct Bfloat {
  static constexpr const NarrowFormat& kFormat = kBf16;
  std::uint16_t bits;
};

/// The exact value. All NaNs become the quiet NaN of the host.
template <NarrowFormat kFormat>
double decode(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & (kFormat.sign() - 1);
  const double sign = bits & kFormat.sign() ? -1.0 : 1.0;
  if (kFormat.has_infinity ? magnitude > kFormat.infinity() : magnitude == kFormat.nan())
    return std::numeric_limits<double>::quiet_NaN();
  if (kFormat.has_infinity && magnitude == kFormat.infinity())
    return std::copysign(std::numeric_limits<double>::infinity(), sign);
  const std::uint32_t exponent = magnitude >> kFormat.mantissa_bits;
  const std::uint32_t mantissa = magnitude & ((1u << kFormat.mantissa_bits) - 1);
  if (exponent == 0) {
    // The power of two of the last place of subnormal numbers, written as a double.
    constexpr std::uint64_t kPlace = 1023 + 1 - kFormat.bias() - kFormat.mantissa_bits;
    return sign * mantissa * std::bit_cast<double>(kPlace << 52);
  }
  const std::uint64_t wide = (std::uint64_t{exponent} + 1023 - kFormat.bias()) << 52 |
                             std::uint64_t{mantissa} << (52 - kFormat.mantissa_bits);
  return sign * std::bit_cast<double>(wide);
}

/// True if a magnitude, of which `kept` remains and `rest` is dropped, is rounded outward. A rest
/// of `half` is in the middle between two results.
[[gnu::always_inline]] constexpr bool rounds_outward(Rounding rounding, bool is_negative,
                                                     std::uint64_t kept, std::uint64_t rest,
                                                     std::uint64_t half) {
  switch (rounding) {
    case Rounding::nearest_even: return rest > half || (rest == half && (kept & 1));
    case Rounding::nearest_away: return rest >= half;
    case Rounding::toward_zero: return false;
    case Rounding::downward: return rest != 0 && is_negative;
    case Rounding::upward: return rest != 0 && !is_negative;
  }
  return false;
}

/// The encoding of an infinity, or of a number beyond the largest one.
template <NarrowFormat kFormat, Rounding kRounding, bool kIsSaturated>
constexpr std::uint32_t encode_overflow(bool is_negative, bool is_infinite) {
  const bool is_inward = kRounding == Rounding::toward_zero ||
                         (kRounding == Rounding::downward && !is_negative) ||
                         (kRounding == Rounding::upward && is_negative);
  if (kIsSaturated || (is_inward && !is_infinite)) return kFormat.largest();
  return kFormat.has_infinity ? kFormat.infinity() : kFormat.nan();
}

/// A value that is exact or rounded to odd, rounded to the format. If it is saturated, numbers
/// beyond the largest one, and infinities, become the largest one (`.satfinite`).
template <NarrowFormat kFormat, Rounding kRounding, bool kIsSaturated = false>
std::uint32_t encode(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool is_negative = (bits >> 63) != 0;
  const std::uint32_t sign = is_negative ? kFormat.sign() : 0;
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & 0x000fffffffffffffu;
  if (biased == 0x7ff) {
    if (fraction != 0) return kFormat.nan();
    return sign | encode_overflow<kFormat, kRounding, kIsSaturated>(is_negative, true);
  }
  // The value is `mantissa` times 2 to the power exponent - 52.
  const std::uint64_t mantissa = biased == 0 ? fraction : fraction | 0x0010000000000000u;
  const int exponent = std::max(biased, 1) - 1023;
  constexpr int kSmallest = 1 - kFormat.bias();
  const int place = std::max(exponent, kSmallest);
  const int dropped = std::min(52 - kFormat.mantissa_bits + place - exponent, 63);
  std::uint64_t kept = mantissa >> dropped;
  const std::uint64_t rest = mantissa & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  kept += rounds_outward(kRounding, is_negative, kept, rest, half);
  // A normal number has its leading one in `kept`, which adds 1 to the exponent field.
  const std::uint64_t magnitude =
      kept + (static_cast<std::uint64_t>(place - kSmallest) << kFormat.mantissa_bits);
  if (magnitude > kFormat.largest())
    return sign | encode_overflow<kFormat, kRounding, kIsSaturated>(is_negative, false);
  return sign | static_cast<std::uint32_t>(magnitude);
}

template <class T>
double decode(T value) {
  return decode<T::kFormat>(value.bits);
}
template <class T, Rounding kRounding = Rounding::nearest_even, bool kIsSaturated = false>
T encode_half(double value) {
  return {static_cast<std::uint16_t>(encode<T::kFormat, kRounding, kIsSaturated>(value))};
}

}  // namespace sinter::virtual_gpu
