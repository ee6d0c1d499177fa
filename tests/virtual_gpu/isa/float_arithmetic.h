// Arithmetic of f32 and f64 with every rounding, and the rules for NaN, subnormal and saturated
// values. The f16 and bf16 instructions use the same functions on wider values.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/virtual_gpu/isa/opcode_text.h"

namespace sinter::virtual_gpu {

/// The NaN that f32 instructions return. Section 9.7.3 of the PTX ISA manual leaves it unspecified;
/// it is CUDART_NAN_F of CUDA's math_constants.h. NaN operands do not pass their payload on.
inline constexpr std::uint32_t kCanonicalNan32 = 0x7fffffffu;
/// The NaN that f64 instructions make of operands without one: CUDART_NAN of math_constants.h.
inline constexpr std::uint64_t kDefaultNan64 = 0xfff8000000000000u;

inline float canonical_nan() { return std::bit_cast<float>(kCanonicalNan32); }

/// Section 9.7.3: f64 instructions support NaN payloads. A signalling NaN becomes quiet.
inline double quiet(double nan) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | 0x0008000000000000u);
}

template <class T>
bool is_negative(T value) {
  return std::signbit(value);
}

// ---- Exact sums and rounding to f32 ----

/// Rounds `value + error`, with an error of at most half a unit of the last place, to odd: an
/// inexact value gets an odd last bit. A later rounding to a format of at most 51 bits is then the
/// rounding of the exact sum. Errors of infinities are NaN and ignored.
inline double rounded_to_odd(double value, double error) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  // Without branches, so that the compiler computes several lanes at once.
  const std::uint64_t step = (error > 0) == (value > 0) ? 1 : ~std::uint64_t{0};
  const bool is_inexact = error < 0 || error > 0;
  return std::bit_cast<double>(bits + (is_inexact && (bits & 1) == 0 ? step : 0));
}

/// a + b, rounded to odd, if no intermediate value overflows. An exact zero has the sign that IEEE
/// 754 section 6.3 prescribes: of operands of opposite signs, -0 if the rounding is downward.
template <Rounding kRounding>
double sum_to_odd(double a, double b) {
  const double sum = a + b;
  // The error of a sum, as Knuth's TwoSum computes it. It is 0 if the sum is 0.
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  const double a_error = a - a_part;
  const double b_error = b - b_part;
  const double odd = rounded_to_odd(sum, a_error + b_error);
  if constexpr (kRounding == Rounding::downward)
    return sum == 0 && is_negative(a) != is_negative(b) ? -0.0 : odd;
  return odd;
}

inline float next_down(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value == 0) return -std::numeric_limits<float>::denorm_min();
  return std::bit_cast<float>(value > 0 ? bits - 1 : bits + 1);
}

/// A value that is exact or rounded to odd, rounded to f32.
template <Rounding kRounding>
float to_float(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if constexpr (kRounding == Rounding::downward) return back > value ? next_down(nearest) : nearest;
  if constexpr (kRounding == Rounding::upward) return back < value ? -next_down(-nearest) : nearest;
  if constexpr (kRounding == Rounding::toward_zero) {
    if (std::fabs(back) > std::fabs(value))
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1);
  }
  return nearest;
}

// ---- f32 ----

template <Rounding kRounding>
float add(float a, float b) {
  if constexpr (kRounding == Rounding::nearest_even)
    return a + b;
  else
    return to_float<kRounding>(sum_to_odd<kRounding>(a, b));
}
template <Rounding kRounding>
float multiply(float a, float b) {
  if constexpr (kRounding == Rounding::nearest_even)
    return a * b;
  else
    return to_float<kRounding>(static_cast<double>(a) * static_cast<double>(b));
}
/// The product is exact in double.
template <Rounding kRounding>
float fused_multiply_add(float a, float b, float c) {
  if constexpr (kRounding == Rounding::nearest_even) return std::fma(a, b, c);
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return to_float<kRounding>(sum_to_odd<kRounding>(product, c));
}
/// The exact quotient of two f32, unless it is an f32, differs from each f32 by at least 2^-48 of
/// its value. So the double is on the same side. The same is true of roots, with 2^-49.
template <Rounding kRounding>
float divide(float a, float b) {
  if constexpr (kRounding == Rounding::nearest_even) return a / b;
  return to_float<kRounding>(static_cast<double>(a) / static_cast<double>(b));
}
template <Rounding kRounding>
float square_root(float a) {
  if constexpr (kRounding == Rounding::nearest_even) return std::sqrt(a);
  return to_float<kRounding>(std::sqrt(static_cast<double>(a)));
}

// ---- f64 ----

/// Sets the host's rounding for its lifetime. Operands and results must be volatile, so that the
/// compiler computes between the two changes.
class ScopedRounding {
 public:
  explicit ScopedRounding(Rounding rounding) : before_(std::fegetround()) {
    const int mode = rounding == Rounding::downward ? FE_DOWNWARD
                     : rounding == Rounding::upward ? FE_UPWARD
                                                    : FE_TOWARDZERO;
    std::fesetround(mode);
  }
  ScopedRounding(const ScopedRounding&) = delete;
  ScopedRounding& operator=(const ScopedRounding&) = delete;
  ~ScopedRounding() { std::fesetround(before_); }

 private:
  int before_;
};

template <Rounding kRounding, class F>
double compute_double(F function, double a, double b = 0, double c = 0) {
  if constexpr (kRounding == Rounding::nearest_even) return function(a, b, c);
  const volatile double first = a, second = b, third = c;
  const ScopedRounding scope(kRounding);
  const volatile double result = function(first, second, third);
  return result;
}

template <Rounding kRounding>
double add(double a, double b) {
  return compute_double<kRounding>([](double x, double y, double) { return x + y; }, a, b);
}
template <Rounding kRounding>
double multiply(double a, double b) {
  return compute_double<kRounding>([](double x, double y, double) { return x * y; }, a, b);
}
template <Rounding kRounding>
double fused_multiply_add(double a, double b, double c) {
  return compute_double<kRounding>([](double x, double y, double z) { return std::fma(x, y, z); },
                                   a, b, c);
}
template <Rounding kRounding>
double divide(double a, double b) {
  return compute_double<kRounding>([](double x, double y, double) { return x / y; }, a, b);
}
template <Rounding kRounding>
double square_root(double a) {
  return compute_double<kRounding>([](double x, double, double) { return std::sqrt(x); }, a);
}

// ---- Modifiers ----

/// An operand or result under `.ftz`: a subnormal f32 becomes zero with its sign.
template <Modifiers kModifiers, class T>
T flushed(T value) {
  if constexpr (kModifiers.ftz && std::is_same_v<T, float>) {
    if (std::fabs(value) < std::numeric_limits<float>::min()) return std::copysign(0.0f, value);
  }
  return value;
}

/// Under `.sat`: the range [+0, 1], with NaN and -0 as +0. Under `.relu`: a negative value and -0
/// become +0.
template <Modifiers kModifiers, class T>
T clamped(T value) {
  if constexpr (kModifiers.sat) return value > 0 ? (value < 1 ? value : T{1}) : T{0};
  if constexpr (kModifiers.relu) return value <= 0 ? T{0} : value;
  return value;
}

/// The result of an f32 instruction.
template <Modifiers kModifiers, class... T>
float finished(float value, T...) {
  if (std::isnan(value)) value = canonical_nan();
  return clamped<kModifiers>(flushed<kModifiers>(value));
}
/// The result of an f64 instruction: a NaN is the first operand that is one. Section 9.7.3 does not
/// say which operand's payload is returned.
template <Modifiers kModifiers, class... T>
double finished(double value, T... operands) {
  if (std::isnan(value)) {
    value = std::bit_cast<double>(kDefaultNan64);
    bool is_found = false;
    ((!is_found && std::isnan(operands) ? (value = quiet(operands), is_found = true) : false), ...);
  }
  return clamped<kModifiers>(value);
}

// ---- Minimum and maximum ----

/// The smaller operand, with -0 < +0 (sections 9.7.3.11 and 9.7.4.7). A number wins over a NaN,
/// except under `.NaN`. Under `.xorsign.abs` it compares magnitudes; the sign is the XOR of those
/// of the operands, unless the result is NaN.
template <Modifiers kModifiers, bool kIsMaximum, class T>
T extremum(T a, T b) {
  a = flushed<kModifiers>(a);
  b = flushed<kModifiers>(b);
  const bool sign = is_negative(a) != is_negative(b);
  if (std::isnan(a) || std::isnan(b)) {
    if (kModifiers.propagates_nan || (std::isnan(a) && std::isnan(b)))
      return finished<kModifiers>(std::numeric_limits<T>::quiet_NaN(), a, b);
    const T number = std::isnan(a) ? b : a;
    return kModifiers.xorsign_abs ? std::copysign(number, sign ? T{-1} : T{1}) : number;
  }
  if constexpr (kModifiers.xorsign_abs) {
    const T x = std::fabs(a), y = std::fabs(b);
    return std::copysign((x < y) != kIsMaximum ? x : y, sign ? T{-1} : T{1});
  }
  const bool is_less = a < b || (a == b && is_negative(a));
  return is_less != kIsMaximum ? a : b;
}

}  // namespace sinter::virtual_gpu
