#include "runtime/mpi/fast_half.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "ir/types/half.h"
#include "tests/mpi/support/ranks.h"

namespace sinter::test::fast_half_test {
namespace {

template <class Fast, class Format>
void compare_values() {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float fast = Fast::decode(bits), exact = Format::decode(bits);
    if (std::isnan(exact))
      ASSERT_TRUE(std::isnan(fast)) << i;
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(fast), std::bit_cast<std::uint32_t>(exact)) << i;
  }
}

/// Compares floats of every exponent, and the neighbours of all ties.
template <class Fast, class Format>
void compare_roundings() {
  for (std::uint64_t high = 0; high < 65536; ++high)
    for (const std::uint64_t low : {0x0u, 0x1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u,
                                    0x7fffu, 0x8000u, 0x8001u, 0xd555u, 0xffffu}) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(high << 16 | low));
      ASSERT_EQ(Fast::encode(value), Format::encode(static_cast<double>(value)))
          << high << " " << low;
    }
}

TEST(MpiFastHalf, DecodesAsTheReference) {
  if (own_rank() != 0) return;
  compare_values<FastF16, F16Format>();
  compare_values<FastBf16, Bf16Format>();
}

TEST(MpiFastHalf, RoundsAsTheReference) {
  if (own_rank() != 0) return;
  compare_roundings<FastF16, F16Format>();
  compare_roundings<FastBf16, Bf16Format>();
}

}  // namespace
}  // namespace sinter::test::fast_half_test
