// Values and rounding of the 8-bit floating formats.
#include "ir/types/float8.h"

#include "ir/types/casts.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sinter::float8_test {
namespace {

const Float8Format* const kFormats[] = {&kF8e4m3, &kF8e5m2};

bool is_number(const Float8Format& format, int bits) {
  return std::isfinite(f8_value(format, static_cast<std::uint8_t>(bits)));
}

// OCP 8-bit Floating Point Specification, revision 1.0, table 1.
TEST(Float8Test, MatchesTheSpecification) {
  EXPECT_EQ(f8_value(kF8e4m3, 0x7e), 448);
  EXPECT_EQ(f8_value(kF8e4m3, 0x08), std::ldexp(1.0F, -6));
  EXPECT_EQ(f8_value(kF8e4m3, 0x07), std::ldexp(0.875F, -6));
  EXPECT_EQ(f8_value(kF8e4m3, 0x01), std::ldexp(1.0F, -9));
  EXPECT_TRUE(std::isnan(f8_value(kF8e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(f8_value(kF8e4m3, 0xff)));
  EXPECT_EQ(f8_value(kF8e5m2, 0x7b), 57344);
  EXPECT_EQ(f8_value(kF8e5m2, 0x04), std::ldexp(1.0F, -14));
  EXPECT_EQ(f8_value(kF8e5m2, 0x03), std::ldexp(0.75F, -14));
  EXPECT_EQ(f8_value(kF8e5m2, 0x01), std::ldexp(1.0F, -16));
  EXPECT_EQ(f8_value(kF8e5m2, 0x7c), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f8_value(kF8e5m2, 0x7d)));
}

TEST(Float8Test, RepresentableNumbersAreUnchanged) {
  for (const Float8Format* format : kFormats)
    for (int bits = 0; bits < 256; ++bits)
      if (is_number(*format, bits)) {
        const float value = f8_value(*format, static_cast<std::uint8_t>(bits));
        EXPECT_EQ(f8_bits(*format, value), bits);
        EXPECT_EQ(round_to_f8(*format, value), value);
      }
}

TEST(Float8Test, RoundsToNearestWithTiesToEven) {
  for (const Float8Format* format : kFormats)
    for (int bits = 0; bits < 127; ++bits) {
      if (!is_number(*format, bits) || !is_number(*format, bits + 1)) continue;
      const double low = f8_value(*format, static_cast<std::uint8_t>(bits));
      const double high = f8_value(*format, static_cast<std::uint8_t>(bits + 1));
      const double middle = (low + high) / 2;
      EXPECT_EQ(f8_bits(*format, middle), bits % 2 == 0 ? bits : bits + 1);
      EXPECT_EQ(f8_bits(*format, std::nextafter(middle, low)), bits);
      EXPECT_EQ(f8_bits(*format, std::nextafter(middle, high)), bits + 1);
      EXPECT_EQ(f8_bits(*format, -std::nextafter(middle, high)), (bits + 1) | 0x80);
    }
}

TEST(Float8Test, SaturatesNumbersAndKeepsInfinities) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(round_to(f8e4m3, 449), 448);
  EXPECT_EQ(round_to(f8e4m3, -1e30), -448);
  EXPECT_EQ(round_to(f8e4m3, infinity), 448);
  EXPECT_EQ(round_to(f8e5m2, 1e30), 57344);
  EXPECT_EQ(round_to(f8e5m2, infinity), infinity);
  EXPECT_EQ(round_to(f8e5m2, -infinity), -infinity);
  EXPECT_EQ(f8_bits(kF8e5m2, -infinity), 0xfc);
  EXPECT_EQ(f8_bits(kF8e4m3, -infinity), 0xfe);
  EXPECT_TRUE(std::isnan(round_to(f8e5m2, std::nan(""))));
  EXPECT_TRUE(std::signbit(round_to(f8e4m3, -1e-9)));
}

}  // namespace
}  // namespace sinter::float8_test
