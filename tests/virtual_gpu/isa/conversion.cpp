// Rows of cvt and cvt.pack (sections 9.7.9.21 and 9.7.9.22 of the PTX ISA manual). A register wider
// than the type gives its low bits, and the result is extended to the register.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>

#include "tests/virtual_gpu/isa/float_arithmetic.h"
#include "tests/virtual_gpu/isa/half_floats.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu::conversion_rows {
namespace {

template <class T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

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

// ---- Rows ----

constexpr std::string_view kCvt = "9.7.9.21";
constexpr std::string_view kCvtPack = "9.7.9.22";

/// The C++ type of a scalar type in an opcode.
template <OpcodeText kOpcode, int kPart>
consteval auto scalar_type() {
  constexpr std::string_view kName = kOpcode.part(kPart);
  if constexpr (kName == "u8")
    return std::type_identity<std::uint8_t>();
  else if constexpr (kName == "u16")
    return std::type_identity<std::uint16_t>();
  else if constexpr (kName == "u32")
    return std::type_identity<std::uint32_t>();
  else if constexpr (kName == "u64")
    return std::type_identity<std::uint64_t>();
  else if constexpr (kName == "s8")
    return std::type_identity<std::int8_t>();
  else if constexpr (kName == "s16")
    return std::type_identity<std::int16_t>();
  else if constexpr (kName == "s32")
    return std::type_identity<std::int32_t>();
  else if constexpr (kName == "s64")
    return std::type_identity<std::int64_t>();
  else if constexpr (kName == "f16")
    return std::type_identity<Half>();
  else if constexpr (kName == "bf16")
    return std::type_identity<Bfloat>();
  else if constexpr (kName == "f32")
    return std::type_identity<float>();
  else if constexpr (kName == "f64")
    return std::type_identity<double>();
}

template <OpcodeText kOpcode, NarrowFormat kFormat>
consteval Semantics float8_row() {
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, 2);
  if constexpr (kOpcode.part(-2) == "f16x2")
    return lanewise<&floats8_to_halves<kModifiers, kFormat>>(kOpcode.view(), kCvt);
  else if constexpr (kOpcode.part(-1) == "f16x2")
    return lanewise<&halves_to_floats8<kModifiers, kFormat>>(kOpcode.view(), kCvt);
  else if constexpr (kOpcode.part(-1) == "f32")
    return lanewise<&floats_to_floats8<kModifiers, kFormat>>(kOpcode.view(), kCvt);
}

template <OpcodeText kOpcode>
constexpr Semantics row = [] {
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, 2);
  constexpr std::string_view kTo = kOpcode.part(-2), kFrom = kOpcode.part(-1);
  if constexpr (kTo == "e4m3x2" || kFrom == "e4m3x2") {
    return float8_row<kOpcode, kE4m3>();
  } else if constexpr (kTo == "e5m2x2" || kFrom == "e5m2x2") {
    return float8_row<kOpcode, kE5m2>();
  } else if constexpr (kTo == "f16x2") {
    return lanewise<&convert_pair<kModifiers, Half>>(kOpcode.view(), kCvt);
  } else if constexpr (kTo == "bf16x2") {
    return lanewise<&convert_pair<kModifiers, Bfloat>>(kOpcode.view(), kCvt);
  } else if constexpr (kTo == "tf32") {
    return lanewise<&convert_to_tf32<kModifiers>>(kOpcode.view(), kCvt);
  } else {
    using To = typename decltype(scalar_type<kOpcode, -2>())::type;
    using From = typename decltype(scalar_type<kOpcode, -1>())::type;
    return lanewise<&convert<kModifiers, To, From>>(kOpcode.view(), kCvt);
  }
}();

// clang-format off
constexpr Semantics kRows[] = {
    row<"cvt.u8.u8">, row<"cvt.u8.u16">, row<"cvt.u8.u32">, row<"cvt.u8.u64">, row<"cvt.u8.s8">,
    row<"cvt.u8.s16">, row<"cvt.u8.s32">, row<"cvt.u8.s64">, row<"cvt.u16.u8">, row<"cvt.u16.u16">,
    row<"cvt.u16.u32">, row<"cvt.u16.u64">, row<"cvt.u16.s8">, row<"cvt.u16.s16">,
    row<"cvt.u16.s32">, row<"cvt.u16.s64">, row<"cvt.u32.u8">, row<"cvt.u32.u16">,
    row<"cvt.u32.u32">, row<"cvt.u32.u64">, row<"cvt.u32.s8">, row<"cvt.u32.s16">,
    row<"cvt.u32.s32">, row<"cvt.u32.s64">, row<"cvt.u64.u8">, row<"cvt.u64.u16">,
    row<"cvt.u64.u32">, row<"cvt.u64.u64">, row<"cvt.u64.s8">, row<"cvt.u64.s16">,
    row<"cvt.u64.s32">, row<"cvt.u64.s64">, row<"cvt.s8.u8">, row<"cvt.s8.u16">, row<"cvt.s8.u32">,
    row<"cvt.s8.u64">, row<"cvt.s8.s8">, row<"cvt.s8.s16">, row<"cvt.s8.s32">, row<"cvt.s8.s64">,
    row<"cvt.s16.u8">, row<"cvt.s16.u16">, row<"cvt.s16.u32">, row<"cvt.s16.u64">,
    row<"cvt.s16.s8">, row<"cvt.s16.s16">, row<"cvt.s16.s32">, row<"cvt.s16.s64">,
    row<"cvt.s32.u8">, row<"cvt.s32.u16">, row<"cvt.s32.u32">, row<"cvt.s32.u64">,
    row<"cvt.s32.s8">, row<"cvt.s32.s16">, row<"cvt.s32.s32">, row<"cvt.s32.s64">,
    row<"cvt.s64.u8">, row<"cvt.s64.u16">, row<"cvt.s64.u32">, row<"cvt.s64.u64">,
    row<"cvt.s64.s8">, row<"cvt.s64.s16">, row<"cvt.s64.s32">, row<"cvt.s64.s64">,
    row<"cvt.sat.u8.u16">, row<"cvt.sat.u8.u32">, row<"cvt.sat.u8.u64">, row<"cvt.sat.u8.s8">,
    row<"cvt.sat.u8.s16">, row<"cvt.sat.u8.s32">, row<"cvt.sat.u8.s64">, row<"cvt.sat.u16.u32">,
    row<"cvt.sat.u16.u64">, row<"cvt.sat.u16.s8">, row<"cvt.sat.u16.s16">, row<"cvt.sat.u16.s32">,
    row<"cvt.sat.u16.s64">, row<"cvt.sat.u32.u64">, row<"cvt.sat.u32.s8">, row<"cvt.sat.u32.s16">,
    row<"cvt.sat.u32.s32">, row<"cvt.sat.u32.s64">, row<"cvt.sat.u64.s8">, row<"cvt.sat.u64.s16">,
    row<"cvt.sat.u64.s32">, row<"cvt.sat.u64.s64">, row<"cvt.sat.s8.u8">, row<"cvt.sat.s8.u16">,
    row<"cvt.sat.s8.u32">, row<"cvt.sat.s8.u64">, row<"cvt.sat.s8.s16">, row<"cvt.sat.s8.s32">,
    row<"cvt.sat.s8.s64">, row<"cvt.sat.s16.u16">, row<"cvt.sat.s16.u32">, row<"cvt.sat.s16.u64">,
    row<"cvt.sat.s16.s32">, row<"cvt.sat.s16.s64">, row<"cvt.sat.s32.u32">, row<"cvt.sat.s32.u64">,
    row<"cvt.sat.s32.s64">, row<"cvt.sat.s64.u64">,
    row<"cvt.rni.u8.f16">, row<"cvt.rzi.u8.f16">, row<"cvt.rmi.u8.f16">, row<"cvt.rpi.u8.f16">,
    row<"cvt.rni.u8.bf16">, row<"cvt.rzi.u8.bf16">, row<"cvt.rmi.u8.bf16">, row<"cvt.rpi.u8.bf16">,
    row<"cvt.rni.u8.f32">, row<"cvt.rzi.u8.f32">, row<"cvt.rmi.u8.f32">, row<"cvt.rpi.u8.f32">,
    row<"cvt.rni.ftz.u8.f32">, row<"cvt.rzi.ftz.u8.f32">, row<"cvt.rmi.ftz.u8.f32">,
    row<"cvt.rpi.ftz.u8.f32">, row<"cvt.rni.u8.f64">, row<"cvt.rzi.u8.f64">, row<"cvt.rmi.u8.f64">,
    row<"cvt.rpi.u8.f64">,
    row<"cvt.rni.u16.f16">, row<"cvt.rzi.u16.f16">, row<"cvt.rmi.u16.f16">, row<"cvt.rpi.u16.f16">,
    row<"cvt.rni.u16.bf16">, row<"cvt.rzi.u16.bf16">, row<"cvt.rmi.u16.bf16">,
    row<"cvt.rpi.u16.bf16">, row<"cvt.rni.u16.f32">, row<"cvt.rzi.u16.f32">, row<"cvt.rmi.u16.f32">,
    row<"cvt.rpi.u16.f32">, row<"cvt.rni.ftz.u16.f32">, row<"cvt.rzi.ftz.u16.f32">,
    row<"cvt.rmi.ftz.u16.f32">, row<"cvt.rpi.ftz.u16.f32">, row<"cvt.rni.u16.f64">,
    row<"cvt.rzi.u16.f64">, row<"cvt.rmi.u16.f64">, row<"cvt.rpi.u16.f64">,
    row<"cvt.rni.u32.f16">, row<"cvt.rzi.u32.f16">, row<"cvt.rmi.u32.f16">, row<"cvt.rpi.u32.f16">,
    row<"cvt.rni.u32.bf16">, row<"cvt.rzi.u32.bf16">, row<"cvt.rmi.u32.bf16">,
    row<"cvt.rpi.u32.bf16">, row<"cvt.rni.u32.f32">, row<"cvt.rzi.u32.f32">, row<"cvt.rmi.u32.f32">,
    row<"cvt.rpi.u32.f32">, row<"cvt.rni.ftz.u32.f32">, row<"cvt.rzi.ftz.u32.f32">,
    row<"cvt.rmi.ftz.u32.f32">, row<"cvt.rpi.ftz.u32.f32">, row<"cvt.rni.u32.f64">,
    row<"cvt.rzi.u32.f64">, row<"cvt.rmi.u32.f64">, row<"cvt.rpi.u32.f64">,
    row<"cvt.rni.u64.f16">, row<"cvt.rzi.u64.f16">, row<"cvt.rmi.u64.f16">, row<"cvt.rpi.u64.f16">,
    row<"cvt.rni.u64.bf16">, row<"cvt.rzi.u64.bf16">, row<"cvt.rmi.u64.bf16">,
    row<"cvt.rpi.u64.bf16">, row<"cvt.rni.u64.f32">, row<"cvt.rzi.u64.f32">, row<"cvt.rmi.u64.f32">,
    row<"cvt.rpi.u64.f32">, row<"cvt.rni.ftz.u64.f32">, row<"cvt.rzi.ftz.u64.f32">,
    row<"cvt.rmi.ftz.u64.f32">, row<"cvt.rpi.ftz.u64.f32">, row<"cvt.rni.u64.f64">,
    row<"cvt.rzi.u64.f64">, row<"cvt.rmi.u64.f64">, row<"cvt.rpi.u64.f64">,
    row<"cvt.rni.s8.f16">, row<"cvt.rzi.s8.f16">, row<"cvt.rmi.s8.f16">, row<"cvt.rpi.s8.f16">,
    row<"cvt.rni.s8.bf16">, row<"cvt.rzi.s8.bf16">, row<"cvt.rmi.s8.bf16">, row<"cvt.rpi.s8.bf16">,
    row<"cvt.rni.s8.f32">, row<"cvt.rzi.s8.f32">, row<"cvt.rmi.s8.f32">, row<"cvt.rpi.s8.f32">,
    row<"cvt.rni.ftz.s8.f32">, row<"cvt.rzi.ftz.s8.f32">, row<"cvt.rmi.ftz.s8.f32">,
    row<"cvt.rpi.ftz.s8.f32">, row<"cvt.rni.s8.f64">, row<"cvt.rzi.s8.f64">, row<"cvt.rmi.s8.f64">,
    row<"cvt.rpi.s8.f64">,
    row<"cvt.rni.s16.f16">, row<"cvt.rzi.s16.f16">, row<"cvt.rmi.s16.f16">, row<"cvt.rpi.s16.f16">,
    row<"cvt.rni.s16.bf16">, row<"cvt.rzi.s16.bf16">, row<"cvt.rmi.s16.bf16">,
    row<"cvt.rpi.s16.bf16">, row<"cvt.rni.s16.f32">, row<"cvt.rzi.s16.f32">, row<"cvt.rmi.s16.f32">,
    row<"cvt.rpi.s16.f32">, row<"cvt.rni.ftz.s16.f32">, row<"cvt.rzi.ftz.s16.f32">,
    row<"cvt.rmi.ftz.s16.f32">, row<"cvt.rpi.ftz.s16.f32">, row<"cvt.rni.s16.f64">,
    row<"cvt.rzi.s16.f64">, row<"cvt.rmi.s16.f64">, row<"cvt.rpi.s16.f64">,
    row<"cvt.rni.s32.f16">, row<"cvt.rzi.s32.f16">, row<"cvt.rmi.s32.f16">, row<"cvt.rpi.s32.f16">,
    row<"cvt.rni.s32.bf16">, row<"cvt.rzi.s32.bf16">, row<"cvt.rmi.s32.bf16">,
    row<"cvt.rpi.s32.bf16">, row<"cvt.rni.s32.f32">, row<"cvt.rzi.s32.f32">, row<"cvt.rmi.s32.f32">,
    row<"cvt.rpi.s32.f32">, row<"cvt.rni.ftz.s32.f32">, row<"cvt.rzi.ftz.s32.f32">,
    row<"cvt.rmi.ftz.s32.f32">, row<"cvt.rpi.ftz.s32.f32">, row<"cvt.rni.s32.f64">,
    row<"cvt.rzi.s32.f64">, row<"cvt.rmi.s32.f64">, row<"cvt.rpi.s32.f64">,
    row<"cvt.rni.s64.f16">, row<"cvt.rzi.s64.f16">, row<"cvt.rmi.s64.f16">, row<"cvt.rpi.s64.f16">,
    row<"cvt.rni.s64.bf16">, row<"cvt.rzi.s64.bf16">, row<"cvt.rmi.s64.bf16">,
    row<"cvt.rpi.s64.bf16">, row<"cvt.rni.s64.f32">, row<"cvt.rzi.s64.f32">, row<"cvt.rmi.s64.f32">,
    row<"cvt.rpi.s64.f32">, row<"cvt.rni.ftz.s64.f32">, row<"cvt.rzi.ftz.s64.f32">,
    row<"cvt.rmi.ftz.s64.f32">, row<"cvt.rpi.ftz.s64.f32">, row<"cvt.rni.s64.f64">,
    row<"cvt.rzi.s64.f64">, row<"cvt.rmi.s64.f64">, row<"cvt.rpi.s64.f64">,
    row<"cvt.rn.f16.u8">, row<"cvt.rz.f16.u8">, row<"cvt.rm.f16.u8">, row<"cvt.rp.f16.u8">,
    row<"cvt.rn.bf16.u8">, row<"cvt.rz.bf16.u8">, row<"cvt.rm.bf16.u8">, row<"cvt.rp.bf16.u8">,
    row<"cvt.rn.f32.u8">, row<"cvt.rz.f32.u8">, row<"cvt.rm.f32.u8">, row<"cvt.rp.f32.u8">,
    row<"cvt.rn.f64.u8">, row<"cvt.rz.f64.u8">, row<"cvt.rm.f64.u8">, row<"cvt.rp.f64.u8">,
    row<"cvt.rn.f16.u16">, row<"cvt.rz.f16.u16">, row<"cvt.rm.f16.u16">, row<"cvt.rp.f16.u16">,
    row<"cvt.rn.bf16.u16">, row<"cvt.rz.bf16.u16">, row<"cvt.rm.bf16.u16">, row<"cvt.rp.bf16.u16">,
    row<"cvt.rn.f32.u16">, row<"cvt.rz.f32.u16">, row<"cvt.rm.f32.u16">, row<"cvt.rp.f32.u16">,
    row<"cvt.rn.f64.u16">, row<"cvt.rz.f64.u16">, row<"cvt.rm.f64.u16">, row<"cvt.rp.f64.u16">,
    row<"cvt.rn.f16.u32">, row<"cvt.rz.f16.u32">, row<"cvt.rm.f16.u32">, row<"cvt.rp.f16.u32">,
    row<"cvt.rn.bf16.u32">, row<"cvt.rz.bf16.u32">, row<"cvt.rm.bf16.u32">, row<"cvt.rp.bf16.u32">,
    row<"cvt.rn.f32.u32">, row<"cvt.rz.f32.u32">, row<"cvt.rm.f32.u32">, row<"cvt.rp.f32.u32">,
    row<"cvt.rn.f64.u32">, row<"cvt.rz.f64.u32">, row<"cvt.rm.f64.u32">, row<"cvt.rp.f64.u32">,
    row<"cvt.rn.f16.u64">, row<"cvt.rz.f16.u64">, row<"cvt.rm.f16.u64">, row<"cvt.rp.f16.u64">,
    row<"cvt.rn.bf16.u64">, row<"cvt.rz.bf16.u64">, row<"cvt.rm.bf16.u64">, row<"cvt.rp.bf16.u64">,
    row<"cvt.rn.f32.u64">, row<"cvt.rz.f32.u64">, row<"cvt.rm.f32.u64">, row<"cvt.rp.f32.u64">,
    row<"cvt.rn.f64.u64">, row<"cvt.rz.f64.u64">, row<"cvt.rm.f64.u64">, row<"cvt.rp.f64.u64">,
    row<"cvt.rn.f16.s8">, row<"cvt.rz.f16.s8">, row<"cvt.rm.f16.s8">, row<"cvt.rp.f16.s8">,
    row<"cvt.rn.bf16.s8">, row<"cvt.rz.bf16.s8">, row<"cvt.rm.bf16.s8">, row<"cvt.rp.bf16.s8">,
    row<"cvt.rn.f32.s8">, row<"cvt.rz.f32.s8">, row<"cvt.rm.f32.s8">, row<"cvt.rp.f32.s8">,
    row<"cvt.rn.f64.s8">, row<"cvt.rz.f64.s8">, row<"cvt.rm.f64.s8">, row<"cvt.rp.f64.s8">,
    row<"cvt.rn.f16.s16">, row<"cvt.rz.f16.s16">, row<"cvt.rm.f16.s16">, row<"cvt.rp.f16.s16">,
    row<"cvt.rn.bf16.s16">, row<"cvt.rz.bf16.s16">, row<"cvt.rm.bf16.s16">, row<"cvt.rp.bf16.s16">,
    row<"cvt.rn.f32.s16">, row<"cvt.rz.f32.s16">, row<"cvt.rm.f32.s16">, row<"cvt.rp.f32.s16">,
    row<"cvt.rn.f64.s16">, row<"cvt.rz.f64.s16">, row<"cvt.rm.f64.s16">, row<"cvt.rp.f64.s16">,
    row<"cvt.rn.f16.s32">, row<"cvt.rz.f16.s32">, row<"cvt.rm.f16.s32">, row<"cvt.rp.f16.s32">,
    row<"cvt.rn.bf16.s32">, row<"cvt.rz.bf16.s32">, row<"cvt.rm.bf16.s32">, row<"cvt.rp.bf16.s32">,
    row<"cvt.rn.f32.s32">, row<"cvt.rz.f32.s32">, row<"cvt.rm.f32.s32">, row<"cvt.rp.f32.s32">,
    row<"cvt.rn.f64.s32">, row<"cvt.rz.f64.s32">, row<"cvt.rm.f64.s32">, row<"cvt.rp.f64.s32">,
    row<"cvt.rn.f16.s64">, row<"cvt.rz.f16.s64">, row<"cvt.rm.f16.s64">, row<"cvt.rp.f16.s64">,
    row<"cvt.rn.bf16.s64">, row<"cvt.rz.bf16.s64">, row<"cvt.rm.bf16.s64">, row<"cvt.rp.bf16.s64">,
    row<"cvt.rn.f32.s64">, row<"cvt.rz.f32.s64">, row<"cvt.rm.f32.s64">, row<"cvt.rp.f32.s64">,
    row<"cvt.rn.f64.s64">, row<"cvt.rz.f64.s64">, row<"cvt.rm.f64.s64">, row<"cvt.rp.f64.s64">,
    row<"cvt.f16.f16">, row<"cvt.rni.f16.f16">, row<"cvt.rzi.f16.f16">, row<"cvt.rmi.f16.f16">,
    row<"cvt.rpi.f16.f16">, row<"cvt.sat.f16.f16">, row<"cvt.rni.sat.f16.f16">,
    row<"cvt.rzi.sat.f16.f16">, row<"cvt.rmi.sat.f16.f16">, row<"cvt.rpi.sat.f16.f16">,
    row<"cvt.rn.f16.bf16">, row<"cvt.rz.f16.bf16">, row<"cvt.rm.f16.bf16">, row<"cvt.rp.f16.bf16">,
    row<"cvt.rn.f16.f32">, row<"cvt.rz.f16.f32">, row<"cvt.rm.f16.f32">, row<"cvt.rp.f16.f32">,
    row<"cvt.rn.sat.f16.f32">, row<"cvt.rz.sat.f16.f32">, row<"cvt.rm.sat.f16.f32">,
    row<"cvt.rp.sat.f16.f32">, row<"cvt.rn.ftz.f16.f32">, row<"cvt.rz.ftz.f16.f32">,
    row<"cvt.rm.ftz.f16.f32">, row<"cvt.rp.ftz.f16.f32">, row<"cvt.rn.ftz.sat.f16.f32">,
    row<"cvt.rz.ftz.sat.f16.f32">, row<"cvt.rm.ftz.sat.f16.f32">, row<"cvt.rp.ftz.sat.f16.f32">,
    row<"cvt.rn.f16.f64">, row<"cvt.rz.f16.f64">, row<"cvt.rm.f16.f64">, row<"cvt.rp.f16.f64">,
    row<"cvt.rn.sat.f16.f64">, row<"cvt.rz.sat.f16.f64">, row<"cvt.rm.sat.f16.f64">,
    row<"cvt.rp.sat.f16.f64">,
    row<"cvt.rn.bf16.f16">, row<"cvt.rz.bf16.f16">, row<"cvt.rm.bf16.f16">, row<"cvt.rp.bf16.f16">,
    row<"cvt.bf16.bf16">, row<"cvt.rni.bf16.bf16">, row<"cvt.rzi.bf16.bf16">,
    row<"cvt.rmi.bf16.bf16">, row<"cvt.rpi.bf16.bf16">, row<"cvt.rn.bf16.f32">,
    row<"cvt.rz.bf16.f32">, row<"cvt.rm.bf16.f32">, row<"cvt.rp.bf16.f32">, row<"cvt.rn.bf16.f64">,
    row<"cvt.rz.bf16.f64">, row<"cvt.rm.bf16.f64">, row<"cvt.rp.bf16.f64">,
    row<"cvt.f32.f16">, row<"cvt.sat.f32.f16">, row<"cvt.ftz.f32.f16">, row<"cvt.ftz.sat.f32.f16">,
    row<"cvt.f32.bf16">, row<"cvt.ftz.f32.bf16">, row<"cvt.f32.f32">, row<"cvt.rni.f32.f32">,
    row<"cvt.rzi.f32.f32">, row<"cvt.rmi.f32.f32">, row<"cvt.rpi.f32.f32">, row<"cvt.sat.f32.f32">,
    row<"cvt.rni.sat.f32.f32">, row<"cvt.rzi.sat.f32.f32">, row<"cvt.rmi.sat.f32.f32">,
    row<"cvt.rpi.sat.f32.f32">, row<"cvt.ftz.f32.f32">, row<"cvt.rni.ftz.f32.f32">,
    row<"cvt.rzi.ftz.f32.f32">, row<"cvt.rmi.ftz.f32.f32">, row<"cvt.rpi.ftz.f32.f32">,
    row<"cvt.ftz.sat.f32.f32">, row<"cvt.rni.ftz.sat.f32.f32">, row<"cvt.rzi.ftz.sat.f32.f32">,
    row<"cvt.rmi.ftz.sat.f32.f32">, row<"cvt.rpi.ftz.sat.f32.f32">, row<"cvt.rn.f32.f64">,
    row<"cvt.rz.f32.f64">, row<"cvt.rm.f32.f64">, row<"cvt.rp.f32.f64">, row<"cvt.rn.sat.f32.f64">,
    row<"cvt.rz.sat.f32.f64">, row<"cvt.rm.sat.f32.f64">, row<"cvt.rp.sat.f32.f64">,
    row<"cvt.rn.ftz.f32.f64">, row<"cvt.rz.ftz.f32.f64">, row<"cvt.rm.ftz.f32.f64">,
    row<"cvt.rp.ftz.f32.f64">, row<"cvt.rn.ftz.sat.f32.f64">, row<"cvt.rz.ftz.sat.f32.f64">,
    row<"cvt.rm.ftz.sat.f32.f64">, row<"cvt.rp.ftz.sat.f32.f64">,
    row<"cvt.f64.f16">, row<"cvt.sat.f64.f16">, row<"cvt.f64.bf16">, row<"cvt.f64.f32">,
    row<"cvt.sat.f64.f32">, row<"cvt.ftz.f64.f32">, row<"cvt.ftz.sat.f64.f32">, row<"cvt.f64.f64">,
    row<"cvt.rni.f64.f64">, row<"cvt.rzi.f64.f64">, row<"cvt.rmi.f64.f64">, row<"cvt.rpi.f64.f64">,
    row<"cvt.sat.f64.f64">, row<"cvt.rni.sat.f64.f64">, row<"cvt.rzi.sat.f64.f64">,
    row<"cvt.rmi.sat.f64.f64">, row<"cvt.rpi.sat.f64.f64">,
    row<"cvt.rn.satfinite.f16.f32">, row<"cvt.rz.satfinite.f16.f32">, row<"cvt.rn.relu.f16.f32">,
    row<"cvt.rz.relu.f16.f32">, row<"cvt.rn.relu.satfinite.f16.f32">,
    row<"cvt.rz.relu.satfinite.f16.f32">, row<"cvt.rn.satfinite.bf16.f32">,
    row<"cvt.rz.satfinite.bf16.f32">, row<"cvt.rn.relu.bf16.f32">, row<"cvt.rz.relu.bf16.f32">,
    row<"cvt.rn.relu.satfinite.bf16.f32">, row<"cvt.rz.relu.satfinite.bf16.f32">,
    row<"cvt.rn.f16x2.f32">, row<"cvt.rz.f16x2.f32">, row<"cvt.rn.satfinite.f16x2.f32">,
    row<"cvt.rz.satfinite.f16x2.f32">, row<"cvt.rn.relu.f16x2.f32">, row<"cvt.rz.relu.f16x2.f32">,
    row<"cvt.rn.relu.satfinite.f16x2.f32">, row<"cvt.rz.relu.satfinite.f16x2.f32">,
    row<"cvt.rn.bf16x2.f32">, row<"cvt.rz.bf16x2.f32">, row<"cvt.rn.satfinite.bf16x2.f32">,
    row<"cvt.rz.satfinite.bf16x2.f32">, row<"cvt.rn.relu.bf16x2.f32">,
    row<"cvt.rz.relu.bf16x2.f32">, row<"cvt.rn.relu.satfinite.bf16x2.f32">,
    row<"cvt.rz.relu.satfinite.bf16x2.f32">, row<"cvt.rna.tf32.f32">,
    row<"cvt.rna.satfinite.tf32.f32">, row<"cvt.rn.tf32.f32">, row<"cvt.rz.tf32.f32">,
    row<"cvt.rn.relu.tf32.f32">, row<"cvt.rz.relu.tf32.f32">, row<"cvt.rn.satfinite.tf32.f32">,
    row<"cvt.rz.satfinite.tf32.f32">, row<"cvt.rn.satfinite.relu.tf32.f32">,
    row<"cvt.rz.satfinite.relu.tf32.f32">, row<"cvt.rn.satfinite.e4m3x2.f32">,
    row<"cvt.rn.satfinite.relu.e4m3x2.f32">, row<"cvt.rn.satfinite.e4m3x2.f16x2">,
    row<"cvt.rn.satfinite.relu.e4m3x2.f16x2">, row<"cvt.rn.f16x2.e4m3x2">,
    row<"cvt.rn.relu.f16x2.e4m3x2">, row<"cvt.rn.satfinite.e5m2x2.f32">,
    row<"cvt.rn.satfinite.relu.e5m2x2.f32">, row<"cvt.rn.satfinite.e5m2x2.f16x2">,
    row<"cvt.rn.satfinite.relu.e5m2x2.f16x2">, row<"cvt.rn.f16x2.e5m2x2">,
    row<"cvt.rn.relu.f16x2.e5m2x2">,
    lanewise<&pack<16, false>>("cvt.pack.sat.u16.s32", kCvtPack),
    lanewise<&pack<16, true>>("cvt.pack.sat.s16.s32", kCvtPack),
    lanewise<&pack_above<8, false>>("cvt.pack.sat.u8.s32.b32", kCvtPack),
    lanewise<&pack_above<8, true>>("cvt.pack.sat.s8.s32.b32", kCvtPack),
    lanewise<&pack_above<4, false>>("cvt.pack.sat.u4.s32.b32", kCvtPack),
    lanewise<&pack_above<4, true>>("cvt.pack.sat.s4.s32.b32", kCvtPack),
    lanewise<&pack_above<2, false>>("cvt.pack.sat.u2.s32.b32", kCvtPack),
    lanewise<&pack_above<2, true>>("cvt.pack.sat.s2.s32.b32", kCvtPack),
};
// clang-format on

}  // namespace
}  // namespace sinter::virtual_gpu::conversion_rows

namespace sinter::virtual_gpu {

std::span<const Semantics> conversion_semantics() { return conversion_rows::kRows; }

}  // namespace sinter::virtual_gpu
