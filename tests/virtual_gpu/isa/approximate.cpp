// approximate_semantics(): the rows of ex2, lg2, rcp, rsqrt, sqrt, div, sin, cos and tanh with
// `.approx` or `.full`. Special values follow the tables of the manual in both modes.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "tests/virtual_gpu/isa/approximations.h"
#include "tests/virtual_gpu/isa/half_floats.h"
#include "tests/virtual_gpu/isa/lanewise.h"
#include "tests/virtual_gpu/isa/semantics.h"

namespace sinter::virtual_gpu {
namespace approximate {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMinNormal = std::numeric_limits<float>::min();
// Section 9.7.3 leaves the NaN of f32 instructions unspecified. This one is that of the hardware.
constexpr float kNan = std::bit_cast<float>(0x7fffffffu);

constexpr auto kDiv = approximate_instruction("div.approx.f32");
constexpr auto kDivFull = approximate_instruction("div.full.f32");
constexpr auto kRcp = approximate_instruction("rcp.approx.f32");
constexpr auto kRcpHigh = approximate_instruction("rcp.approx.ftz.f64");
constexpr auto kSqrt = approximate_instruction("sqrt.approx.f32");
constexpr auto kRsqrt = approximate_instruction("rsqrt.approx.f32");
constexpr auto kRsqrtF64 = approximate_instruction("rsqrt.approx.f64");
constexpr auto kRsqrtHigh = approximate_instruction("rsqrt.approx.ftz.f64");
constexpr auto kSin = approximate_instruction("sin.approx.f32");
constexpr auto kCos = approximate_instruction("cos.approx.f32");
constexpr auto kLg2 = approximate_instruction("lg2.approx.f32");
constexpr auto kEx2 = approximate_instruction("ex2.approx.f32");
constexpr auto kTanh = approximate_instruction("tanh.approx.f32");
constexpr auto kTanhF16 = approximate_instruction("tanh.approx.f16");
constexpr auto kTanhBf16 = approximate_instruction("tanh.approx.bf16");
constexpr auto kEx2F16 = approximate_instruction("ex2.approx.f16");
constexpr auto kEx2Bf16 = approximate_instruction("ex2.approx.ftz.bf16");

template <bool kFtz>
float flush(float value) {
  return kFtz && std::abs(value) < kMinNormal ? std::copysign(0.0f, value) : value;
}

/// The result of `function` at an operand that is not special. The function computes in double and,
/// near a boundary of rounding, in long double.
template <bool kFtz, class Function>
float unary(const Approximations& mode, const ApproximateInstruction& instruction, float a,
            Function function) {
  const double exact = function(static_cast<double>(a));
  const float rounded = nearest_f32(exact, [&] { return function(static_cast<long double>(a)); });
  if (!mode.has_errors) return flush<kFtz>(rounded);
  const double fraction = error_fraction(mode.seed, instruction, std::bit_cast<std::uint32_t>(a));
  const ErrorBound& bound = instruction.bound_at(std::abs(a));
  return flush<kFtz>(static_cast<float>(with_error(bound, exact, rounded, fraction)));
}

template <bool kFtz>
float ex2(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (std::isnan(a)) return kNan;
  if (a == 0) return 1;
  if (std::isinf(a)) return a > 0 ? kInfinity : 0.0f;
  // Powers of two are exact: the functions of f64 in libdevice, such as erf, rely on it.
  const bool is_whole = a == std::trunc(a);
  return unary<kFtz>(is_whole ? Approximations{} : mode, kEx2, a,
                     [](auto x) { return std::exp2(x); });
}

template <bool kFtz>
float lg2(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (a == 0) return -kInfinity;
  if (!(a > 0)) return kNan;
  if (std::isinf(a)) return a;
  return unary<kFtz>(mode, kLg2, a, [](auto x) { return std::log2(x); });
}

template <bool kFtz>
float rcp(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (std::isnan(a)) return kNan;
  if (a == 0) return std::copysign(kInfinity, a);
  if (std::isinf(a)) return std::copysign(0.0f, a);
  return unary<kFtz>(mode, kRcp, a, [](auto x) { return 1 / x; });
}

template <bool kFtz>
float sqrt(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (a == 0) return a;
  if (!(a > 0)) return kNan;
  if (std::isinf(a)) return a;
  return unary<kFtz>(mode, kSqrt, a, [](auto x) { return std::sqrt(x); });
}

template <bool kFtz>
float rsqrt(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (a == 0) return std::copysign(kInfinity, a);
  if (!(a > 0)) return kNan;
  if (std::isinf(a)) return 0;
  return unary<kFtz>(mode, kRsqrt, a, [](auto x) { return 1 / std::sqrt(x); });
}

template <bool kFtz>
float sin(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (!std::isfinite(a)) return kNan;
  if (a == 0) return a;
  return unary<kFtz>(mode, kSin, a, [](auto x) { return std::sin(x); });
}

template <bool kFtz>
float cos(const Approximations& mode, float operand) {
  const float a = flush<kFtz>(operand);
  if (!std::isfinite(a)) return kNan;
  if (a == 0) return 1;
  return unary<kFtz>(mode, kCos, a, [](auto x) { return std::cos(x); });
}

float tanh(const Approximations& mode, float a) {
  if (std::isnan(a)) return kNan;
  if (std::isinf(a)) return std::copysign(1.0f, a);
  // The note of section 9.7.3.22: subnormal inputs, and zeros, are passed through.
  if (std::abs(a) < kMinNormal) return a;
  return unary<false>(mode, kTanh, a, [](auto x) { return std::tanh(x); });
}

template <bool kFtz>
float quotient(const Approximations& mode, const ApproximateInstruction& instruction, float a,
               float b) {
  const float rounded = a / b;
  if (std::isnan(rounded)) return kNan;
  if (!mode.has_errors || a == 0 || b == 0 || std::isinf(a) || std::isinf(b))
    return flush<kFtz>(rounded);
  const double fraction = error_fraction(mode.seed, instruction, std::bit_cast<std::uint32_t>(a),
                                         std::bit_cast<std::uint32_t>(b));
  const double exact = static_cast<double>(a) / static_cast<double>(b);
  const ErrorBound& bound = instruction.bound_at(std::abs(b));
  return flush<kFtz>(static_cast<float>(with_error(bound, exact, rounded, fraction)));
}

/// The reciprocal of a divisor above 2^126 is taken as zero: section 9.7.3.8.
template <bool kFtz>
float div_approx(const Approximations& mode, float dividend, float divisor) {
  const float a = flush<kFtz>(dividend), b = flush<kFtz>(divisor);
  if (!(std::abs(b) > 0x1p126f)) return quotient<kFtz>(mode, kDiv, a, b);
  const float product = a * std::copysign(0.0f, b);
  return std::isnan(product) ? kNan : product;
}

template <bool kFtz>
float div_full(const Approximations& mode, float dividend, float divisor) {
  return quotient<kFtz>(mode, kDivFull, flush<kFtz>(dividend), flush<kFtz>(divisor));
}

constexpr std::uint64_t kSignF64 = std::uint64_t{1} << 63;
constexpr std::uint64_t kInfinityF64 = std::uint64_t{0x7ff} << 52;

/// The result of an instruction on the upper words of f64 numbers, and its flush to zero.
template <class Function>
std::uint64_t on_high_words(const Approximations& mode, const ApproximateInstruction& instruction,
                            std::uint64_t operand, Function function) {
  const std::uint64_t bits = operand & 0xffffffff00000000u;
  const std::uint64_t sign = bits & kSignF64;
  const std::uint64_t magnitude = bits & ~kSignF64;
  if (magnitude > kInfinityF64) return 0x7fffffff00000000u;
  if (magnitude < std::uint64_t{1} << 52) return sign | kInfinityF64;
  const double exact = function(std::bit_cast<double>(bits));
  if (std::isnan(exact)) return 0x7fffffff00000000u;
  double result = round_to(kF64HighResult, exact);
  if (mode.has_errors) {
    const double fraction = error_fraction(mode.seed, instruction, bits);
    result = with_error(instruction.bounds[0], exact, result, fraction);
  }
  if (std::abs(result) < std::numeric_limits<double>::min()) result = std::copysign(0, result);
  return std::bit_cast<std::uint64_t>(result);
}

std::uint64_t rcp_high(const Approximations& mode, std::uint64_t a) {
  return on_high_words(mode, kRcpHigh, a, [](double x) { return 1 / x; });
}

std::uint64_t rsqrt_high(const Approximations& mode, std::uint64_t a) {
  return on_high_words(mode, kRsqrtHigh, a, [](double x) { return 1 / std::sqrt(x); });
}

/// The result for an `a` in [0.5, 2). A Newton step gives a correction to the reciprocal in double,
/// from the residual 1 - a y^2, whose relative error is 2^-52. The sum is exact to about 2^-100.
double rsqrt_f64_in_range(const Approximations& mode, double a) {
  const double y = 1 / std::sqrt(a);
  const double square = y * y, square_rest = std::fma(y, y, -square);
  const double residual = std::fma(-a, square_rest, std::fma(-a, square, 1.0));
  const double correction = y * residual * (0.5 + 0.375 * residual);
  const double rounded = y + correction;
  if (!mode.has_errors) return rounded;
  // Within 1 ulp are the two neighbours of the exact value, or those of an exact result.
  const double fraction = error_fraction(mode.seed, kRsqrtF64, std::bit_cast<std::uint64_t>(a));
  if (std::abs(fraction) < 0.5) return rounded;
  const double rest = correction - (rounded - y);
  return std::nextafter(rounded, (rest == 0 ? fraction : rest) > 0 ? 4.0 : 0.0);
}

double rsqrt_f64(const Approximations& mode, double a) {
  if (std::isnan(a)) return a + a;  // quiet, with its payload: section 9.7.3
  if (a == 0) return std::copysign(std::numeric_limits<double>::infinity(), a);
  if (a < 0) return std::bit_cast<double>(0xfff8000000000000u);
  if (std::isinf(a)) return 0;
  int exponent = 0;
  double fraction = std::frexp(a, &exponent);
  if (exponent % 2 != 0) {
    fraction *= 2;
    exponent -= 1;
  }
  return std::ldexp(rsqrt_f64_in_range(mode, fraction), -exponent / 2);
}

/// `function` of a number of 16 bits. The double decides the rounding: a comparison of all operands
/// with MPFR found no result of tanh or ex2 where that is wrong.
template <class T, class Function>
T unary16(const Approximations& mode, const ApproximateInstruction& instruction, T a,
          Function function) {
  const double operand = decode(a);
  const double exact = function(operand);
  const bool is_special = operand == 0 || !std::isfinite(operand);
  if (!mode.has_errors || is_special) return encode_half<T>(exact);
  const double rounded = round_to(instruction.format(), exact);
  const double fraction = error_fraction(mode.seed, instruction, a.bits);
  const ErrorBound& bound = instruction.bound_at(std::abs(operand));
  return encode_half<T>(with_error(bound, exact, rounded, fraction));
}

Half tanh_f16(const Approximations& mode, Half a) {
  return unary16(mode, kTanhF16, a, [](double x) { return std::tanh(x); });
}

Bfloat tanh_bf16(const Approximations& mode, Bfloat a) {
  return unary16(mode, kTanhBf16, a, [](double x) { return std::tanh(x); });
}

Half ex2_f16(const Approximations& mode, Half a) {
  return unary16(mode, kEx2F16, a, [](double x) { return std::exp2(x); });
}

Bfloat flush(Bfloat value) {
  constexpr int kExponentMask = 0x7f80, kSign = 0x8000;
  const bool is_subnormal = (value.bits & kExponentMask) == 0;
  return is_subnormal ? Bfloat{static_cast<std::uint16_t>(value.bits & kSign)} : value;
}

Bfloat ex2_bf16(const Approximations& mode, Bfloat a) {
  return flush(unary16(mode, kEx2Bf16, flush(a), [](double x) { return std::exp2(x); }));
}

/// The function of both halves of a word.
template <auto kFunction>
std::uint32_t pair(const Approximations& mode, std::uint32_t a) {
  const std::uint32_t low = kFunction(mode, {static_cast<std::uint16_t>(a)}).bits;
  const std::uint32_t high = kFunction(mode, {static_cast<std::uint16_t>(a >> 16)}).bits;
  return high << 16 | low;
}

constexpr Semantics kRows[] = {
    lanewise<div_approx<false>>("div.approx.f32", kDiv.section()),
    lanewise<div_approx<true>>("div.approx.ftz.f32", kDiv.section()),
    lanewise<div_full<false>>("div.full.f32", kDivFull.section()),
    lanewise<div_full<true>>("div.full.ftz.f32", kDivFull.section()),
    lanewise<rcp<false>>("rcp.approx.f32", kRcp.section()),
    lanewise<rcp<true>>("rcp.approx.ftz.f32", kRcp.section()),
    lanewise<rcp_high>("rcp.approx.ftz.f64", kRcpHigh.section()),
    lanewise<sqrt<false>>("sqrt.approx.f32", kSqrt.section()),
    lanewise<sqrt<true>>("sqrt.approx.ftz.f32", kSqrt.section()),
    lanewise<rsqrt<false>>("rsqrt.approx.f32", kRsqrt.section()),
    lanewise<rsqrt<true>>("rsqrt.approx.ftz.f32", kRsqrt.section()),
    lanewise<rsqrt_f64>("rsqrt.approx.f64", kRsqrtF64.section()),
    lanewise<rsqrt_high>("rsqrt.approx.ftz.f64", kRsqrtHigh.section()),
    lanewise<sin<false>>("sin.approx.f32", kSin.section()),
    lanewise<sin<true>>("sin.approx.ftz.f32", kSin.section()),
    lanewise<cos<false>>("cos.approx.f32", kCos.section()),
    lanewise<cos<true>>("cos.approx.ftz.f32", kCos.section()),
    lanewise<lg2<false>>("lg2.approx.f32", kLg2.section()),
    lanewise<lg2<true>>("lg2.approx.ftz.f32", kLg2.section()),
    lanewise<ex2<false>>("ex2.approx.f32", kEx2.section()),
    lanewise<ex2<true>>("ex2.approx.ftz.f32", kEx2.section()),
    lanewise<tanh>("tanh.approx.f32", kTanh.section()),
    lanewise<tanh_f16>("tanh.approx.f16", kTanhF16.section()),
    lanewise<pair<tanh_f16>>("tanh.approx.f16x2", kTanhF16.section()),
    lanewise<tanh_bf16>("tanh.approx.bf16", kTanhBf16.section()),
    lanewise<pair<tanh_bf16>>("tanh.approx.bf16x2", kTanhBf16.section()),
    lanewise<ex2_f16>("ex2.approx.f16", kEx2F16.section()),
    lanewise<pair<ex2_f16>>("ex2.approx.f16x2", kEx2F16.section()),
    lanewise<ex2_bf16>("ex2.approx.ftz.bf16", kEx2Bf16.section()),
    lanewise<pair<ex2_bf16>>("ex2.approx.ftz.bf16x2", kEx2Bf16.section()),
};

}  // namespace approximate

std::span<const Semantics> approximate_semantics() { return approximate::kRows; }

}  // namespace sinter::virtual_gpu
