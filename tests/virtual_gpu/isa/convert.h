// Functions of one lane for the rows of cvt and cvt.pack (sections 9.7.9.21 and 9.7.9.22 of the PTX
// ISA manual).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "tests/virtual_gpu/isa/float_arithmetic.h"
#include "tests/virtual_gpu/isa/half_floats.h"

namespace sinter::virtual_gpu::conversion_rows {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

// ---- From floats to integers ----

inline double rounded_to_integer(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero: return std::trunc(value);
    case Rounding::downward: return std::floor(value);
    case Rounding::upward: return std::ceil(value);
    default: return std::nearbyint(value);  // the host rounds to nearest even
  }
}

/// "Integer Notes": numbers beyond the range become its ends. NaN becomes zero, unless the source
/// is f64 or the destination has 64 bits: then it becomes the number with only the highest bit set.
template <std::integral To>
To to_integer(double value, bool is_from_double) {
  constexpr int kBits = sizeof(To) * 8;
  if (std::isnan(value)) {
    const std::uint64_t highest = std::uint64_t{1} << (kBits - 1);
    return is_from_double || kBits == 64 ? static_cast<To>(highest) : To{0};
  }
  constexpr double kEnd = (std::is_signed_v<To> ? 1.0 : 2.0) * (std::uint64_t{1} << (kBits - 1));
  if (value >= kEnd) return std::numeric_limits<To>::max();
  if (value < (std::is_signed_v<To> ? -kEnd : 0.0)) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

// ---- From integers to floats ----

/// The `kept` highest 53 bits of a magnitude, and the rest.
struct SplitMagnitude {
  bool is_negative;
  int dropped;
  std::uint64_t kept, rest;
  double value() const {
    const double scale = static_cast<double>(std::uint64_t{1} << dropped);
    const double magnitude = static_cast<double>(kept) * scale;
    return is_negative ? -magnitude : magnitude;
  }
};
template <std::integral T>
SplitMagnitude split(T integer) {
  const bool is_negative = integer < 0;
  const auto wide = static_cast<std::uint64_t>(integer);
  const std::uint64_t magnitude = is_negative ? ~wide + 1 : wide;
  const int dropped = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  return {.is_negative = is_negative,
          .dropped = dropped,
          .kept = magnitude >> dropped,
          .rest = magnitude & ((std::uint64_t{1} << dropped) - 1)};
}
template <std::integral T>
double integer_to_double(T integer, Rounding rounding) {
  SplitMagnitude parts = split(integer);
  if (parts.dropped == 0) return static_cast<double>(integer);
  const std::uint64_t half = std::uint64_t{1} << (parts.dropped - 1);
  if (rounds_outward(rounding, parts.is_negative, parts.kept, parts.rest, half)) ++parts.kept;
  return parts.value();
}
/// The integer, rounded to odd.
template <std::integral T>
double integer_to_odd(T integer) {
  SplitMagnitude parts = split(integer);
  if (parts.rest != 0) parts.kept |= 1;
  return parts.value();
}

// ---- Between floats ----

/// The manual leaves NaN results of cvt open, except that `cvt.f32.bf16` gives an unspecified one.
/// Between f32 and f64 the payload is kept, by section 9.7.3; others are canonical. ptxas 13.0
/// folds constants so too.
inline float narrowed_nan(double nan) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(quiet(nan));
  const auto sign = static_cast<std::uint32_t>(bits >> 32) & 0x80000000u;
  const auto payload = static_cast<std::uint32_t>(bits >> 29) & 0x007fffffu;
  return std::bit_cast<float>(sign | 0x7f800000u | payload);
}
inline double widened_nan(float nan) {
  const std::uint64_t bits = std::bit_cast<std::uint32_t>(nan);
  return quiet(std::bit_cast<double>((bits & 0x80000000u) << 32 | 0x7ff0000000000000u |
                                     (bits & 0x007fffffu) << 29));
}

template <Modifiers kModifiers, class From>
double source_value(From a) {
  if constexpr (is_half<From>)
    return decode(a);
  else
    return flushed<kModifiers>(a);
}

/// A NaN of the destination for a NaN of the source.
template <class To, class From>
To converted_nan(From a) {
  if constexpr (is_half<To>)
    return encode_half<To>(std::numeric_limits<double>::quiet_NaN());
  else if constexpr (is_half<From>)
    return std::is_same_v<To, float> ? canonical_nan() : widened_nan(canonical_nan());
  else if constexpr (std::is_same_v<To, From>)
    return std::is_same_v<To, float> ? canonical_nan() : quiet(a);
  else if constexpr (std::is_same_v<To, float>)
    return narrowed_nan(a);
  else
    return widened_nan(a);
}

/// A value that is exact or rounded to odd, rounded to the destination.
template <Modifiers kModifiers, class To>
To rounded_to(double value) {
  value = clamped<kModifiers>(value);
  if constexpr (is_half<To>)
    return encode_half<To, kModifiers.rounding, kModifiers.satfinite>(value);
  else if constexpr (std::is_same_v<To, float>)
    return flushed<kModifiers>(to_float<kModifiers.rounding>(value));
  else
    return value;
}

/// The most frequent conversion. A bf16 is the high half of an f32; a carry from the low half
/// rounds it to nearest even.
inline Bfloat to_nearest_bfloat(float a) {
  const auto bits = std::bit_cast<std::uint32_t>(a);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return {static_cast<std::uint16_t>(std::isnan(a) ? kBf16.nan() : rounded)};
}

template <Modifiers kModifiers, class To, class From>
To float_to_float(From a) {
  if constexpr (std::is_same_v<To, Bfloat> && std::is_same_v<From, float> &&
                kModifiers == Modifiers{})
    return to_nearest_bfloat(a);
  double value = source_value<kModifiers>(a);
  if (std::isnan(value) && !kModifiers.sat) return converted_nan<To>(a);
  if (kModifiers.rounds_to_integer) value = rounded_to_integer(value, kModifiers.rounding);
  return rounded_to<kModifiers, To>(value);
}

// ---- All scalar types ----

template <Modifiers kModifiers, class To, class From>
To convert(From a) {
  if constexpr (std::integral<To> && std::integral<From>) {
    if (kModifiers.sat) {
      if (std::cmp_less(a, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
      if (std::cmp_greater(a, std::numeric_limits<To>::max()))
        return std::numeric_limits<To>::max();
    }
    return static_cast<To>(a);
  } else if constexpr (std::integral<To>) {
    const double value = rounded_to_integer(source_value<kModifiers>(a), kModifiers.rounding);
    return to_integer<To>(value, std::is_same_v<From, double>);
  } else if constexpr (std::integral<From>) {
    if constexpr (std::is_same_v<To, double>)
      return integer_to_double(a, kModifiers.rounding);
    else
      return rounded_to<kModifiers, To>(integer_to_odd(a));
  } else {
    return float_to_float<kModifiers, To>(a);
  }
}

// ---- Pairs, tf32 and 8-bit floats ----

/// `a` becomes the high half.
template <Modifiers kModifiers, class To>
std::uint32_t convert_pair(float a, float b) {
  const To high = convert<kModifiers, To>(a), low = convert<kModifiers, To>(b);
  return std::uint32_t{high.bits} << 16 | low.bits;
}

/// A tf32 is the upper 19 bits of an f32.
template <Modifiers kModifiers>
std::uint32_t convert_to_tf32(float a) {
  if (std::isnan(a)) return kCanonicalNan32;
  const double value = clamped<kModifiers>(static_cast<double>(a));
  return encode<kTf32, kModifiers.rounding, kModifiers.satfinite>(value) << 13;
}

template <Modifiers kModifiers, NarrowFormat kTo>
std::uint16_t pack_floats8(double high, double low) {
  const auto byte = [](double value) {
    return encode<kTo, kModifiers.rounding, kModifiers.satfinite>(clamped<kModifiers>(value));
  };
  return static_cast<std::uint16_t>(byte(high) << 8 | byte(low));
}
template <Modifiers kModifiers, NarrowFormat kTo>
std::uint16_t floats_to_floats8(float a, float b) {
  return pack_floats8<kModifiers, kTo>(a, b);
}
template <Modifiers kModifiers, NarrowFormat kTo>
std::uint16_t halves_to_floats8(std::uint32_t a) {
  return pack_floats8<kModifiers, kTo>(decode<kF16>(a >> 16), decode<kF16>(a & 0xffff));
}
template <Modifiers kModifiers, NarrowFormat kFrom>
std::uint32_t floats8_to_halves(std::uint16_t a) {
  const auto half = [](std::uint32_t byte) {
    return encode<kF16, kModifiers.rounding>(clamped<kModifiers>(decode<kFrom>(byte)));
  };
  return half(a >> 8) << 16 | half(a & 0xffu);
}

// ---- cvt.pack ----

/// Both integers, limited to a type of `kBits`, with `a` above `b`.
template <int kBits, bool kIsSigned>
std::uint32_t pack(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t kLargest = (1 << (kIsSigned ? kBits - 1 : kBits)) - 1;
  constexpr std::int32_t kSmallest = kIsSigned ? -kLargest - 1 : 0;
  constexpr std::uint32_t kField = (1u << kBits) - 1;
  const auto field = [=](std::int32_t value) {
    return static_cast<std::uint32_t>(std::clamp(value, kSmallest, kLargest)) & kField;
  };
  return field(a) << kBits | field(b);
}
template <int kBits, bool kIsSigned>
std::uint32_t pack_above(std::int32_t a, std::int32_t b, std::uint32_t c) {
  return c << (2 * kBits) | pack<kBits, kIsSigned>(a, b);
}

}  // namespace sinter::virtual_gpu::conversion_rows
