#include "bench/approximations/instruction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/types/half.h"

namespace sinter::approximations {

namespace {

using Exact = double (*)(double);
using Precise = long double (*)(long double);

/// A function in both widths.
struct Function {
  Exact exact;
  Precise precise;
};

constexpr Function kEx2 = {[](double x) { return std::exp2(x); },
                           [](long double x) { return std::exp2(x); }};
constexpr Function kLg2 = {[](double x) { return std::log2(x); },
                           [](long double x) { return std::log2(x); }};
constexpr Function kRcp = {[](double x) { return 1 / x; }, [](long double x) { return 1 / x; }};
constexpr Function kSqrt = {[](double x) { return std::sqrt(x); },
                            [](long double x) { return std::sqrt(x); }};
constexpr Function kRsqrt = {[](double x) { return 1 / std::sqrt(x); },
                             [](long double x) { return 1 / std::sqrt(x); }};
constexpr Function kSin = {[](double x) { return std::sin(x); },
                           [](long double x) { return std::sin(x); }};
constexpr Function kCos = {[](double x) { return std::cos(x); },
                           [](long double x) { return std::cos(x); }};
constexpr Function kTanh = {[](double x) { return std::tanh(x); },
                            [](long double x) { return std::tanh(x); }};
constexpr double kDividends[] = {1.0, 0x1.a61298p+0};  // the second is near sqrt(e)
constexpr Function kOver1 = kRcp;
constexpr Function kOver2 = {[](double x) { return kDividends[1] / x; },
                             [](long double x) { return kDividends[1] / x; }};

/// Positive f32 numbers with these exponents, in order.
std::vector<Range> positive(std::vector<int> exponents) {
  std::vector<Range> ranges;
  for (const int exponent : exponents)
    ranges.push_back(
        {.first = static_cast<std::uint32_t>(exponent + 127) << 23, .count = 1U << 23});
  return ranges;
}
/// The same with both signs.
std::vector<Range> signed_numbers(const std::vector<int>& exponents) {
  std::vector<Range> ranges = positive(exponents);
  for (std::size_t i = exponents.size(); i > 0; --i)
    ranges.push_back({.first = ranges[i - 1].first | 1U << 31, .count = 1U << 23});
  return ranges;
}
const std::vector<Range>& all_halfs() {
  static const std::vector<Range> ranges = {{.first = 0, .count = 1U << 16}};
  return ranges;
}
/// The upper words of f64 numbers of two neighbouring exponents.
const std::vector<Range>& high_words() {
  static const std::vector<Range> ranges = {{.first = 1023U << 20, .count = 1U << 21}};
  return ranges;
}

constexpr int kSubnormal = -127;  // the exponent field is 0

/// Appends the instruction without and with `.ftz`.
void add_both(std::vector<Instruction>& list, std::string_view opcode, std::string_view ftz_opcode,
              const Function& function, const std::vector<Range>& ranges, double dividend = 0) {
  for (const bool flushes : {false, true})
    list.push_back({.opcode = flushes ? ftz_opcode : opcode,
                    .flushes = flushes,
                    .dividend = dividend,
                    .exact = function.exact,
                    .precise = function.precise,
                    .ranges = ranges});
}

std::vector<Instruction> make_instructions() {
  std::vector<Instruction> list;
  add_both(list, "ex2.approx.f32", "ex2.approx.ftz.f32", kEx2,
           signed_numbers({-24, -2, -1, 0, 1, 3, 6}));
  add_both(list, "lg2.approx.f32", "lg2.approx.ftz.f32", kLg2,
           positive({kSubnormal, -126, -2, -1, 0, 1, 40}));
  add_both(list, "rcp.approx.f32", "rcp.approx.ftz.f32", kRcp,
           positive({kSubnormal, -126, 0, 1, 125, 126, 127}));
  add_both(list, "sqrt.approx.f32", "sqrt.approx.ftz.f32", kSqrt,
           positive({kSubnormal, -126, 0, 1, 127}));
  add_both(list, "rsqrt.approx.f32", "rsqrt.approx.ftz.f32", kRsqrt,
           positive({kSubnormal, -126, 0, 1, 127}));
  add_both(list, "sin.approx.f32", "sin.approx.ftz.f32", kSin,
           signed_numbers({-20, -2, -1, 0, 1, 2, 5}));
  add_both(list, "cos.approx.f32", "cos.approx.ftz.f32", kCos,
           signed_numbers({-20, -2, -1, 0, 1, 2, 5}));
  // Above 2^126 the manual defines other results of div.approx (section 9.7.3.8).
  const std::vector<Range> divisors = positive({kSubnormal, -126, 0, 1, 125});
  add_both(list, "div.approx.f32", "div.approx.ftz.f32", kOver1, divisors, kDividends[0]);
  add_both(list, "div.approx.f32", "div.approx.ftz.f32", kOver2, divisors, kDividends[1]);
  add_both(list, "div.full.f32", "div.full.ftz.f32", kOver1, divisors, kDividends[0]);
  add_both(list, "div.full.f32", "div.full.ftz.f32", kOver2, divisors, kDividends[1]);
  const auto add = [&](std::string_view opcode, Format format, bool flushes, int capability,
                       const Function& function, const std::vector<Range>& ranges) {
    list.push_back({.opcode = opcode,
                    .format = format,
                    .flushes = flushes,
                    .least_capability = capability,
                    .exact = function.exact,
                    .precise = function.precise,
                    .ranges = ranges});
  };
  add("tanh.approx.f32", Format::f32, false, 75, kTanh, signed_numbers({-12, -3, -2, -1, 0, 1, 2}));
  add("tanh.approx.f16", Format::f16, false, 75, kTanh, all_halfs());
  add("tanh.approx.bf16", Format::bf16, false, 90, kTanh, all_halfs());
  add("ex2.approx.f16", Format::f16, false, 75, kEx2, all_halfs());
  add("ex2.approx.ftz.bf16", Format::bf16, true, 90, kEx2, all_halfs());
  add("rcp.approx.ftz.f64", Format::f64_high_word, true, 70, kRcp, high_words());
  add("rsqrt.approx.ftz.f64", Format::f64_high_word, true, 70, kRsqrt, high_words());
  return list;
}

/// The f32 nearest to the exact result. Doubles near the middle between two floats are computed
/// again in long double.
float nearest_f32(const Instruction& instruction, double operand, double exact) {
  constexpr double kError = 0x1p-48;
  const auto low = static_cast<float>(exact * (1 - kError));
  const auto high = static_cast<float>(exact * (1 + kError));
  return low == high ? low : static_cast<float>(instruction.precise(operand));
}

double smallest_normal(Format format) {
  return format == Format::f16             ? 0x1p-14
         : format == Format::f64_high_word ? std::numeric_limits<double>::min()
                                           : 0x1p-126;
}

bool is_subnormal(Format format, double value) {
  return value != 0 && std::abs(value) < smallest_normal(format);
}

/// The upper word of a double, rounded to nearest even.
std::uint32_t high_word_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (!std::isfinite(value)) return static_cast<std::uint32_t>(bits >> 32);
  const std::uint64_t half = 0x7fffffffU + ((bits >> 32) & 1);
  return static_cast<std::uint32_t>((bits + half) >> 32);
}

std::uint32_t bits_in(Format format, const Instruction& instruction, double operand, double exact) {
  switch (format) {
    case Format::f32: return std::bit_cast<std::uint32_t>(nearest_f32(instruction, operand, exact));
    case Format::f16: return f16_bits(exact);
    case Format::bf16: return bf16_bits(exact);
    case Format::f64_high_word: return high_word_of(exact);
  }
  return 0;
}

}  // namespace

std::span<const Instruction> instructions() {
  static const std::vector<Instruction> list = make_instructions();
  return list;
}

double value_of(Format format, std::uint32_t bits) {
  switch (format) {
    case Format::f32: return std::bit_cast<float>(bits);
    case Format::f16: return f16_value(static_cast<std::uint16_t>(bits));
    case Format::bf16: return bf16_value(static_cast<std::uint16_t>(bits));
    case Format::f64_high_word: return std::bit_cast<double>(std::uint64_t{bits} << 32);
  }
  return 0;
}

double operand_of(const Instruction& instruction, std::uint32_t bits) {
  const double value = value_of(instruction.format, bits);
  const bool is_flushed = instruction.flushes && is_subnormal(instruction.format, value);
  return is_flushed ? std::copysign(0.0, value) : value;
}

std::uint32_t rounded_result(const Instruction& instruction, double operand, double exact) {
  const std::uint32_t bits = bits_in(instruction.format, instruction, operand, exact);
  const double value = value_of(instruction.format, bits);
  if (!instruction.flushes || !is_subnormal(instruction.format, value)) return bits;
  return bits_in(instruction.format, instruction, operand, std::copysign(0.0, value));
}

double ulp_at(Format format, double value) {
  const int precision = format == Format::f32    ? 24
                        : format == Format::f16  ? 11
                        : format == Format::bf16 ? 8
                                                 : 21;
  const int least = std::ilogb(smallest_normal(format));
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - precision + 1);
}

}  // namespace sinter::approximations
