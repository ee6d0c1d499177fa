// Tests of the rounding and the errors of approximate instructions. They walk the table of bounds.
#include "tests/virtual_gpu/isa/approximations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/isa/semantics.h"

namespace sinter::virtual_gpu::approximations_test {
namespace {

using Operands = std::array<std::uint64_t, 2>;

constexpr Approximations kRounded = {};
Approximations seeded(std::uint64_t seed) { return {.has_errors = true, .seed = seed}; }

/// The results of an opcode for many operands, 32 of them in one warp.
std::vector<std::uint64_t> run(std::string_view opcode, const Approximations& mode,
                               const std::vector<Operands>& operands) {
  const Semantics* semantics = find_semantics(opcode);
  if (semantics == nullptr) {
    ADD_FAILURE() << "the table lacks the opcode " << opcode;
    return std::vector<std::uint64_t>(operands.size());
  }
  const std::size_t width = semantics->results[0] == Width::double_word ? 8 : 4;
  alignas(64) std::array<std::byte, 3 * 256> registers = {};
  const Operation operation{
      .execute = semantics->execute, .results = {0, kNoSlot}, .operands = {256, 512}};
  LaneState state{.registers = registers.data(), .mask = kAllLanes, .approximations = &mode};
  std::vector<std::uint64_t> results;
  for (std::size_t first = 0; first < operands.size(); first += kLanes) {
    const std::size_t count = std::min<std::size_t>(kLanes, operands.size() - first);
    for (std::size_t lane = 0; lane < count; ++lane)
      for (std::size_t i = 0; i < 2; ++i)
        std::memcpy(&registers[256 * (i + 1) + lane * width], &operands[first + lane][i], width);
    semantics->execute(state, operation);
    for (std::size_t lane = 0; lane < count; ++lane) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &registers[lane * width], width);
      results.push_back(bits);
    }
  }
  return results;
}

/// The bits of a number in its format, seen as an integer of `bits` bits.
struct Layout {
  int bits, mantissa_bits, bias;
};
Layout layout_of(const ResultFormat& format) {
  if (format.precision == 24) return {.bits = 32, .mantissa_bits = 23, .bias = 127};
  if (format.precision == 11) return {.bits = 16, .mantissa_bits = 10, .bias = 15};
  if (format.precision == 8) return {.bits = 16, .mantissa_bits = 7, .bias = 127};
  return {.bits = 64, .mantissa_bits = 52, .bias = 1023};
}

/// The value of a number; NaN and infinity included.
long double value_of(const ResultFormat& format, std::uint64_t bits) {
  const Layout layout = layout_of(format);
  const std::uint64_t one = 1;
  const std::uint64_t mantissa = bits & ((one << layout.mantissa_bits) - 1);
  const int top = 2 * layout.bias + 1;
  const int field = static_cast<int>(bits >> layout.mantissa_bits) & top;
  long double value =
      std::ldexp(static_cast<long double>(mantissa), 1 - layout.bias - layout.mantissa_bits);
  if (field == top) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (field != 0) {
    value = std::ldexp(static_cast<long double>(mantissa | one << layout.mantissa_bits),
                       field - layout.bias - layout.mantissa_bits);
  }
  return (bits >> (layout.bits - 1) & 1) != 0 ? -value : value;
}

long double exact_value(std::string_view opcode, long double a, long double b) {
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  if (name == "div") return a / b;
  if (name == "rcp") return 1 / a;
  if (name == "sqrt") return std::sqrt(a);
  if (name == "rsqrt") return 1 / std::sqrt(a);
  if (name == "sin") return std::sin(a);
  if (name == "cos") return std::cos(a);
  if (name == "lg2") return std::log2(a);
  if (name == "ex2") return std::exp2(a);
  if (name == "tanh") return std::tanh(a);
  ADD_FAILURE() << "no function for " << opcode;
  return NAN;
}

/// The distance between the neighbours of a value, by its decomposition.
long double ulp_of(const ResultFormat& format, long double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0L, std::max(exponent - 1, format.min_exponent) - (format.precision - 1));
}

long double allowed(const ErrorBound& row, long double exact, long double rounded) {
  switch (row.kind) {
    case ErrorKind::ulp: return row.bound * ulp_of(row.format, exact);
    case ErrorKind::ulp_of_rounded: return row.bound * ulp_of(row.format, rounded);
    case ErrorKind::relative: return row.bound * std::abs(exact);
    case ErrorKind::absolute: return row.bound;
    case ErrorKind::none: return 2;
  }
  return 0;
}

/// True if the magnitude belongs to this row and to none before it.
bool is_first_row_of(const ErrorBound& row, long double magnitude) {
  for (const ErrorBound& other : kErrorBounds) {
    const bool is_same = other.opcode == row.opcode && other.ftz_opcode == row.ftz_opcode;
    const bool contains = other.low <= magnitude && magnitude <= other.high;
    if (is_same && contains) return &other == &row;
  }
  return false;
}

/// Numbers of every exponent, of both signs, with mantissas that are zero, all ones, or random.
std::vector<std::uint64_t> numbers_of(const ResultFormat& format, std::mt19937_64& random) {
  const Layout layout = layout_of(format);
  const std::uint64_t one = 1, mantissas = one << layout.mantissa_bits;
  const std::uint64_t skipped_mantissa_bits = layout.bits == 64 ? 0xffffffffu : 0;
  std::vector<std::uint64_t> numbers;
  for (int field = 0; field < 2 * layout.bias + 1; ++field) {
    std::vector<std::uint64_t> chosen = {0, 1, mantissas - 1, mantissas / 2};
    for (int i = 0; i < (layout.bits == 64 ? 12 : 40); ++i) chosen.push_back(random() % mantissas);
    for (std::uint64_t mantissa : chosen) {
      if (format.precision == 21) mantissa &= ~skipped_mantissa_bits;
      const std::uint64_t number = static_cast<std::uint64_t>(field) << layout.mantissa_bits;
      numbers.push_back(number | mantissa);
      numbers.push_back(number | mantissa | one << (layout.bits - 1));
    }
  }
  return numbers;
}

/// Numbers at the ends of a range and evenly spread in its last two binades.
void add_boundaries(const ErrorBound& row, std::mt19937_64& random,
                    std::vector<std::uint64_t>& numbers) {
  if (row.format.precision != 24) return;
  const auto add = [&](float value) {
    numbers.push_back(std::bit_cast<std::uint32_t>(value));
    numbers.push_back(std::bit_cast<std::uint32_t>(-value));
  };
  for (const double end : {row.low, row.high}) {
    const auto at_end = static_cast<float>(std::min(end, 0x1.fffffep127));
    for (const float side : {0.0f, INFINITY}) add(std::nextafter(at_end, side));
    add(at_end);
    for (int i = 0; i < 400; ++i)
      add(std::ldexp(at_end, -2) * (1 + static_cast<float>(random() % 3000) / 1000));
  }
}

/// Operands of the row with finite results that are not special.
std::vector<Operands> operands_of(const ErrorBound& row, std::string_view opcode) {
  std::mt19937_64 random(row.format.precision + opcode.size());
  std::vector<std::uint64_t> numbers = numbers_of(row.format, random);
  add_boundaries(row, random, numbers);
  const bool is_division = opcode.starts_with("div");
  const bool flushes = opcode.find(".ftz") != opcode.npos;
  const auto is_zero = [&](long double value) {
    return value == 0 || (flushes && std::abs(value) < std::ldexp(1.0L, row.format.min_exponent));
  };
  std::vector<Operands> operands;
  for (const std::uint64_t number : numbers) {
    const std::uint64_t other = numbers[random() % numbers.size()];
    const Operands pair = is_division ? Operands{other, number} : Operands{number, 0};
    const long double a = value_of(row.format, pair[0]), b = value_of(row.format, pair[1]);
    const long double selector = is_division ? b : a;
    if (!is_first_row_of(row, std::abs(selector)) || is_zero(a)) continue;
    if (is_division && is_zero(b)) continue;
    if (std::isfinite(exact_value(opcode, a, b))) operands.push_back(pair);
  }
  return operands;
}

std::string describe(std::string_view opcode, const Operands& operands, std::uint64_t result) {
  char text[120];
  std::snprintf(text, sizeof text, "%.*s of %llx, %llx gives %llx", static_cast<int>(opcode.size()),
                opcode.data(), static_cast<unsigned long long>(operands[0]),
                static_cast<unsigned long long>(operands[1]),
                static_cast<unsigned long long>(result));
  return text;
}

/// A row with one of its opcodes.
struct Case {
  const ErrorBound* row;
  std::string_view opcode;
};
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ErrorBound& row : kErrorBounds)
    for (const std::string_view opcode : {row.opcode, row.ftz_opcode})
      if (!opcode.empty()) cases.push_back({.row = &row, .opcode = opcode});
  return cases;
}

class EachBound : public testing::TestWithParam<Case> {
 protected:
  const ErrorBound& row() const { return *GetParam().row; }
  std::string_view opcode() const { return GetParam().opcode; }
  long double exact(const Operands& operands) const {
    return exact_value(opcode(), value_of(row().format, operands[0]),
                       value_of(row().format, operands[1]));
  }
  bool flushes() const { return opcode().find(".ftz") != opcode().npos; }
  /// True if `.ftz` makes zero of a result that may be this far from the exact one.
  bool may_be_flushed(long double exact_result, long double distance) const {
    return flushes() &&
           std::abs(exact_result) - distance < std::ldexp(1.0L, row().format.min_exponent);
  }
};

TEST_P(EachBound, RoundsCorrectlyWithoutErrors) {
  const std::vector<Operands> operands = operands_of(row(), opcode());
  const std::vector<std::uint64_t> results = run(opcode(), kRounded, operands);
  ASSERT_GT(operands.size(), 200u);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const long double expected = exact(operands[i]), result = value_of(row().format, results[i]);
    const long double half_ulp = ulp_of(row().format, expected) / 2;
    const long double slack = std::abs(expected) * 0x1p-61L;
    const long double limit = std::ldexp(1.0L, row().format.max_exponent + 1);
    ASSERT_EQ(std::signbit(result), std::signbit(expected));
    if (result == 0 && may_be_flushed(expected, half_ulp)) continue;
    ASSERT_LE(std::abs(std::clamp(result, -limit, limit) - std::clamp(expected, -limit, limit)),
              half_ulp + slack)
        << describe(opcode(), operands[i], results[i]);
    ASSERT_FALSE(flushes() && std::fpclassify(static_cast<double>(result)) == FP_SUBNORMAL);
  }
}

TEST_P(EachBound, HoldsForSeededErrors) {
  const std::vector<Operands> operands = operands_of(row(), opcode());
  const std::vector<std::uint64_t> rounded = run(opcode(), kRounded, operands);
  const std::vector<std::uint64_t> results = run(opcode(), seeded(7), operands);
  int different = 0, regular = 0;
  long double largest = 0, smallest = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const long double expected = exact(operands[i]), result = value_of(row().format, results[i]);
    const long double nearest = value_of(row().format, rounded[i]);
    const long double distance = allowed(row(), expected, nearest);
    if (result == 0 && may_be_flushed(expected, distance)) continue;
    if (results[i] == rounded[i] && (nearest == 0 || std::isinf(nearest))) continue;
    ++regular;
    if (results[i] == rounded[i]) continue;
    ++different;
    const long double centre = row().kind == ErrorKind::ulp_of_rounded ? nearest : expected;
    const long double error = (result - centre) / distance;
    largest = std::max(largest, error);
    smallest = std::min(smallest, error);
    ASSERT_LE(std::abs(error), 1 + 0x1p-40L) << describe(opcode(), operands[i], results[i]);
  }
  EXPECT_GT(different, regular / 5) << "of " << regular;
  EXPECT_GT(largest, 0.9L) << "errors reach the bound";
  EXPECT_LT(smallest, -0.9L) << "errors reach the bound";
}

TEST_P(EachBound, HasEqualErrorsInAllLanes) {
  const std::vector<Operands> operands = operands_of(row(), opcode());
  std::vector<Operands> reversed(operands.rbegin(), operands.rend());
  const std::vector<std::uint64_t> results = run(opcode(), seeded(7), operands);
  std::vector<std::uint64_t> again = run(opcode(), seeded(7), reversed);
  std::reverse(again.begin(), again.end());
  EXPECT_EQ(again, results);
  EXPECT_NE(run(opcode(), seeded(8), operands), results);
}

INSTANTIATE_TEST_SUITE_P(Approximations, EachBound, testing::ValuesIn(all_cases()),
                         [](const auto& test) {
                           std::string name(test.param.opcode);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name + "_" + std::to_string(test.param.row - kErrorBounds);
                         });

/// libdevice computes exp of f64 with them, to full precision.
TEST(Approximations, PowersOfTwoWithWholeExponentsAreExact) {
  std::vector<Operands> operands;
  for (int exponent = -126; exponent < 128; ++exponent)
    operands.push_back({std::bit_cast<std::uint32_t>(static_cast<float>(exponent)), 0});
  for (const char* const opcode : {"ex2.approx.f32", "ex2.approx.ftz.f32"})
    EXPECT_EQ(run(opcode, seeded(1), operands), run(opcode, kRounded, operands)) << opcode;
}

TEST(Approximations, BeyondAHundredPiIsAnyValueOfTheRange) {
  std::set<std::uint64_t> signs;
  std::vector<Operands> operands;
  for (std::uint32_t i = 0; i < 64; ++i) operands.push_back({0x47000000 + i * 1000, 0});
  for (const std::uint64_t bits : run("sin.approx.f32", seeded(1), operands)) {
    EXPECT_LE(std::abs(value_of(kF32Result, bits)), 1);
    signs.insert(bits >> 31);
  }
  EXPECT_EQ(signs.size(), 2u);
}

TEST(Approximations, PowersOfTwoWithFractionsAreThoseOfTheManual) {
  const auto log2_bound = [](const ApproximateInstruction& instruction, std::size_t row) {
    return std::log2(instruction.bounds[row].bound);
  };
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("rsqrt.approx.f32"), 0), -22.9);
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("sin.approx.f32"), 0), -20.5);
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("sin.approx.f32"), 1), -14.7);
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("cos.approx.f32"), 0), -20.5);
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("cos.approx.f32"), 1), -14.7);
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("tanh.approx.f16"), 0), -10.987);
  EXPECT_DOUBLE_EQ(log2_bound(approximate_instruction("ex2.approx.f16"), 0), -9.9);
}

TEST(Approximations, TheFirstRowThatContainsTheOperandApplies) {
  constexpr auto lg2 = approximate_instruction("lg2.approx.ftz.f32");
  EXPECT_EQ(lg2.bound_at(0.5).kind, ErrorKind::relative);
  EXPECT_EQ(lg2.bound_at(0.75).kind, ErrorKind::absolute);
  EXPECT_EQ(lg2.bound_at(2).kind, ErrorKind::relative);
  constexpr auto sin = approximate_instruction("sin.approx.f32");
  EXPECT_EQ(sin.bound_at(6.283).bound, sin.bounds[0].bound);
  EXPECT_EQ(sin.bound_at(6.284).bound, sin.bounds[1].bound);
  EXPECT_EQ(sin.bound_at(314.15).bound, sin.bounds[1].bound);
  EXPECT_EQ(sin.bound_at(314.16).kind, ErrorKind::none);
}

TEST(Approximations, RoundsTiesToEven) {
  EXPECT_EQ(round_to(kBf16Result, 1 + 0x1p-8), 1);
  EXPECT_EQ(round_to(kBf16Result, 1 + 0x1.8p-7), 1 + 0x1p-6);
  EXPECT_EQ(round_to(kBf16Result, 1 + 0x1.00001p-8), 1 + 0x1p-7);
  EXPECT_EQ(round_to(kF16Result, -2047.5), -2048);
  EXPECT_EQ(round_to(kF64HighResult, 1 + 0x1p-21), 1);
}

TEST(Approximations, RoundsToSubnormalNumbers) {
  EXPECT_EQ(round_to(kF16Result, 0x1p-25), 0);
  EXPECT_EQ(round_to(kF16Result, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(round_to(kF16Result, 0x1.ffep-15), 0x1p-14);
  EXPECT_EQ(round_to(kF32Result, 0x1.4p-148), 0x1p-148);
}

TEST(Approximations, RoundsToInfinityAtHalfAnUlpAboveTheLargestNumber) {
  EXPECT_EQ(round_to(kF16Result, 65519.9), 65504);
  EXPECT_EQ(round_to(kF16Result, 65520), INFINITY);
  EXPECT_EQ(round_to(kF32Result, -0x1.ffffffp127), -INFINITY);
  EXPECT_EQ(round_to(kF32Result, -0x1.fffffefp127), -0x1.fffffep127);
}

TEST(Approximations, FractionsDependOnSeedInstructionAndOperands) {
  constexpr auto ex2 = approximate_instruction("ex2.approx.f32");
  constexpr auto lg2 = approximate_instruction("lg2.approx.f32");
  const double fraction = error_fraction(1, ex2, 2, 3);
  EXPECT_EQ(error_fraction(1, ex2, 2, 3), fraction);
  EXPECT_NE(error_fraction(0, ex2, 2, 3), fraction);
  EXPECT_NE(error_fraction(1, lg2, 2, 3), fraction);
  EXPECT_NE(error_fraction(1, ex2, 3, 3), fraction);
  EXPECT_NE(error_fraction(1, ex2, 2, 2), fraction);
  EXPECT_NE(error_fraction(1, ex2, 3, 2), fraction);
}

TEST(Approximations, FractionsAreEvenlyDistributed) {
  constexpr auto ex2 = approximate_instruction("ex2.approx.f32");
  std::array<int, 10> counts = {};
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double fraction = error_fraction(5, ex2, i);
    ASSERT_LE(std::abs(fraction), 1);
    ++counts[std::min(9, static_cast<int>((fraction + 1) * 5))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Approximations, AnErrorMovesTheResultByItsFractionOfTheBound) {
  constexpr ErrorBound bound = {
      .format = kF32Result, .kind = ErrorKind::absolute, .bound = 0x1p-10};
  EXPECT_EQ(with_error(bound, 0.5, 0.5, 1), 0.5 + 0x1p-10);
  EXPECT_EQ(with_error(bound, 0.5, 0.5, -0.5), 0.5 - 0x1p-11);
  EXPECT_EQ(with_error(bound, 0.5, 0.5, 0), 0.5);
}

TEST(Approximations, ARoundingThatLeavesTheBoundGivesTheRoundedValue) {
  constexpr ErrorBound bound = {
      .format = kBf16Result, .kind = ErrorKind::absolute, .bound = 0x1.4p-8};
  EXPECT_EQ(with_error(bound, 1, 1, 1), 1);
  EXPECT_EQ(with_error(bound, 1, 1, -1), 1 - 0x1p-8);
}

TEST(Approximations, ErrorsInUlpKeepZeroInfinityAndSigns) {
  constexpr ErrorBound bound = {.format = kF32Result, .kind = ErrorKind::ulp, .bound = 2};
  EXPECT_EQ(with_error(bound, 0x1p-160, 0, 1), 0);
  EXPECT_EQ(with_error(bound, 0x1p130, INFINITY, -1), INFINITY);
  EXPECT_EQ(with_error(bound, 0x1p-149, 0x1p-149, -1), 0x1p-149);
  EXPECT_EQ(with_error(bound, 0x1p-149, 0x1p-149, 1), 0x1.8p-148);
  constexpr ErrorBound relative = {
      .format = kF16Result, .kind = ErrorKind::relative, .bound = 0x1p-3};
  EXPECT_EQ(with_error(relative, 0x1p16, INFINITY, -1), INFINITY);
}

}  // namespace
}  // namespace sinter::virtual_gpu::approximations_test
