// Conversions of the panels of products have the bits of the conversions of dtypes.
#include "runtime/libraries/host/panel_elements.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace sinter::panel_elements_test {
namespace {

bool is_same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(a)) == 0;
}

TEST(PanelElements, AllHalvesHaveTheirValues) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    ASSERT_TRUE(is_same(F16Element::value(bits), f16_value(bits))) << i;
    ASSERT_TRUE(is_same(Bf16Element::value(bits), bf16_value(bits))) << i;
  }
}

TEST(PanelElements, AllEightBitFloatsHaveTheirValues) {
  for (int i = 0; i < 256; ++i) {
    const auto bits = static_cast<std::uint8_t>(i);
    ASSERT_TRUE(is_same(F8Element<kF8e4m3>::value(bits), f8_value(kF8e4m3, bits))) << i;
    ASSERT_TRUE(is_same(F8Element<kF8e5m2>::value(bits), f8_value(kF8e5m2, bits))) << i;
  }
}

void expect_rounded(float value) {
  ASSERT_EQ(round_to_f16(value) & 0x7fff, f16_bits(double{value}) & 0x7fff) << value;
  ASSERT_EQ(round_to_bf16(value) & 0x7fff, bf16_bits(double{value}) & 0x7fff) << value;
  if (std::isnan(value)) return;
  ASSERT_EQ(round_to_f16(value), f16_bits(double{value})) << value;
  ASSERT_EQ(round_to_bf16(value), bf16_bits(double{value})) << value;
}

TEST(PanelElements, SumsRoundOnceToNearestEven) {
  // All halves, the points in the middle between two of them, and their neighbours.
  for (int i = 0; i < 65536; ++i)
    for (const float half :
         {f16_value(static_cast<std::uint16_t>(i)), bf16_value(static_cast<std::uint16_t>(i))})
      for (const std::uint32_t offset : {0U, 0x1000U, 0x8000U})
        for (const int beside : {-1, 0, 1})
          expect_rounded(std::bit_cast<float>(std::bit_cast<std::uint32_t>(half) + offset +
                                              static_cast<std::uint32_t>(beside)));
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i)
    expect_rounded(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (int i = 0; i < 100'000; ++i)  // denormal numbers of f16
    expect_rounded(std::ldexp(static_cast<float>(static_cast<int>(random() % 65536) - 32768), -30));
}

}  // namespace
}  // namespace sinter::panel_elements_test
