// All f16 and bf16 numbers, and the rounding of wider types at all ties between them.
#include "ir/types/half.h"

#include <cstdint>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

namespace sinter::half_test {
namespace {

constexpr int kPatterns = 1 << 16;

/// The value of `bits` by the definition of the format, as an independent reference.
double by_definition(std::uint16_t bits, int mantissa, int bias) {
  const double sign = bits >> 15 ? -1 : 1;
  const int field = (bits & 0x7fff) >> mantissa;
  const double fraction = (bits & ((1 << mantissa) - 1)) / std::exp2(mantissa);
  if (field == (1 << (15 - mantissa)) - 1)
    return fraction == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  if (field == 0) return sign * fraction * std::exp2(1 - bias);
  return sign * (1 + fraction) * std::exp2(field - bias);
}

struct Format {
  int mantissa;
  int bias;
  std::function<float(std::uint16_t)> value;
  std::function<std::uint16_t(float)> from_float;
  std::function<std::uint16_t(double)> from_double;
  std::function<std::uint16_t(long double)> from_long_double;

  int infinity() const { return ((1 << (15 - mantissa)) - 1) << mantissa; }
  bool is_nan(int bits) const { return (bits & 0x7fff) > infinity(); }
};

Format f16_format() {
  return {.mantissa = 10,
          .bias = 15,
          .value = f16_value,
          .from_float = [](float x) { return f16_bits(x); },
          .from_double = [](double x) { return f16_bits(x); },
          .from_long_double = [](long double x) { return f16_bits(x); }};
}

Format bf16_format() {
  return {.mantissa = 7,
          .bias = 127,
          .value = bf16_value,
          .from_float = [](float x) { return bf16_bits(x); },
          .from_double = [](double x) { return bf16_bits(x); },
          .from_long_double = [](long double x) { return bf16_bits(x); }};
}

class HalfTest : public testing::TestWithParam<int> {
 protected:
  Format format = GetParam() == 0 ? f16_format() : bf16_format();
};

TEST_P(HalfTest, AllPatternsHaveTheirDefinedValue) {
  for (int i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double expected = by_definition(bits, format.mantissa, format.bias);
    const double actual = format.value(bits);
    ASSERT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << i;
    ASSERT_TRUE(std::isnan(expected) || std::signbit(actual) == (bits >> 15 != 0)) << i;
  }
}

TEST_P(HalfTest, AllPatternsRoundTripThroughWiderTypes) {
  for (int i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = format.value(bits);
    const std::uint16_t back[] = {format.from_float(value), format.from_double(value),
                                  format.from_long_double(value)};
    for (const std::uint16_t result : back)
      ASSERT_TRUE(format.is_nan(i) ? format.is_nan(result) : result == bits) << i;
  }
}

TEST_P(HalfTest, RoundsToNearestWithTiesToEven) {
  for (int i = 0; i < format.infinity(); ++i) {
    const auto below = static_cast<std::uint16_t>(i);
    const auto above = static_cast<std::uint16_t>(i + 1);
    const double low = format.value(below);
    // The successor of the largest number is the next number if the exponent had no limit.
    const double step = low - (i == 0 ? 0.0 : format.value(static_cast<std::uint16_t>(i - 1)));
    const double high = i + 1 == format.infinity() ? low + step : double{format.value(above)};
    const double middle = low + (high - low) / 2;
    const std::uint16_t even = i % 2 == 0 ? below : above;
    ASSERT_EQ(format.from_double(middle), even) << i;
    ASSERT_EQ(format.from_double(std::nextafter(middle, 0.0)), below) << i;
    ASSERT_EQ(format.from_double(std::nextafter(middle, HUGE_VAL)), above) << i;
    ASSERT_EQ(format.from_double(-middle), even | 0x8000) << i;
    ASSERT_EQ(format.from_float(static_cast<float>(middle)), even) << i;
    // Nearer to the tie than any other double. An intermediate rounding to double would give the
    // tie.
    const long double tie = middle;
    ASSERT_EQ(format.from_long_double(std::nextafter(tie, 0.0L)), below) << i;
    ASSERT_EQ(format.from_long_double(std::nextafter(tie, HUGE_VALL)), above) << i;
    ASSERT_EQ(format.from_long_double(tie), even) << i;
  }
}

TEST_P(HalfTest, OutOfRangeNumbersBecomeInfiniteOrZero) {
  const auto infinity = static_cast<std::uint16_t>(format.infinity());
  EXPECT_EQ(format.from_double(1e300), infinity);
  EXPECT_EQ(format.from_long_double(-1e4000L), infinity | 0x8000);
  EXPECT_EQ(format.from_double(HUGE_VAL), infinity);
  EXPECT_EQ(format.from_double(1e-300), 0);
  EXPECT_EQ(format.from_double(-1e-320), 0x8000);
  EXPECT_EQ(format.from_long_double(1e-4000L), 0);
  EXPECT_EQ(format.from_double(-0.0), 0x8000);
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfTest, testing::Values(0, 1),
                         [](const auto& test) { return test.param == 0 ? "f16" : "bf16"; });

}  // namespace
}  // namespace sinter::half_test
