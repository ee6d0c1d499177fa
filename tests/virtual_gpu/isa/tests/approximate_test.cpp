// Tests of approximate instructions on special values, on results near a boundary of rounding, and
// of the seeds of f64 division and square root.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "tests/virtual_gpu/isa/semantics.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"

namespace sinter::virtual_gpu::approximate_test {
namespace {

constexpr std::uint32_t kInf = 0x7f800000, kNan = 0x7fffffff, kMinus = 0x80000000;
constexpr std::uint32_t kOne = 0x3f800000, kLargest = 0x7f7fffff;
constexpr std::uint32_t kSubnormal = 0x00000001, kLargestSubnormal = 0x007fffff;
constexpr std::uint32_t kSignallingNan = 0x7f800001;

/// Correctly rounded, then seeded errors. Special results are the same in all.
constexpr Approximations kModes[] = {
    {}, {.has_errors = true, .seed = 0}, {.has_errors = true, .seed = 12345}};

struct Special {
  std::string_view opcode;
  std::uint32_t operand, result;
};

void expect_in_all_modes(std::span<const Special> specials) {
  for (const Special& special : specials)
    for (const Approximations& mode : kModes)
      EXPECT_EQ(run_lane_with<std::uint32_t>(mode, special.opcode, special.operand), special.result)
          << std::hex << special.opcode << " of " << special.operand;
}

TEST(Approximate, Ex2OfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"ex2.approx.f32", kMinus | kInf, 0},
      {"ex2.approx.f32", kMinus, kOne},
      {"ex2.approx.f32", 0, kOne},
      {"ex2.approx.f32", kInf, kInf},
      {"ex2.approx.f32", kNan, kNan},
      {"ex2.approx.f32", kMinus | kSignallingNan, kNan},
      {"ex2.approx.f32", 0x43000000, kInf},      // 128
      {"ex2.approx.f32", kLargest, kInf},        // overflow
      {"ex2.approx.f32", 0xc3160000, 0},         // -150: half the smallest number, to even
      {"ex2.approx.f32", kMinus | kLargest, 0},  // underflow
      {"ex2.approx.ftz.f32", 0xc2fe0000, 0},     // -127: a subnormal result
      {"ex2.approx.ftz.f32", kLargestSubnormal, kOne},
      {"ex2.approx.ftz.f32", kMinus | kLargestSubnormal, kOne},
      {"ex2.approx.ftz.f32", kMinus | kInf, 0},
      {"ex2.approx.ftz.f32", kInf, kInf},
      {"ex2.approx.ftz.f32", kNan, kNan},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, Lg2OfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"lg2.approx.f32", kMinus | kInf, kNan},
      {"lg2.approx.f32", kMinus | kOne, kNan},
      {"lg2.approx.f32", kMinus | kSubnormal, kNan},
      {"lg2.approx.f32", kMinus, kMinus | kInf},
      {"lg2.approx.f32", 0, kMinus | kInf},
      {"lg2.approx.f32", kInf, kInf},
      {"lg2.approx.f32", kSignallingNan, kNan},
      {"lg2.approx.ftz.f32", kLargestSubnormal, kMinus | kInf},
      {"lg2.approx.ftz.f32", kMinus | kLargestSubnormal, kMinus | kInf},
      {"lg2.approx.ftz.f32", kMinus | kOne, kNan},
      {"lg2.approx.ftz.f32", kInf, kInf},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, RcpOfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"rcp.approx.f32", kMinus | kInf, kMinus},
      {"rcp.approx.f32", kMinus, kMinus | kInf},
      {"rcp.approx.f32", 0, kInf},
      {"rcp.approx.f32", kInf, 0},
      {"rcp.approx.f32", kSignallingNan, kNan},
      {"rcp.approx.f32", kSubnormal, kInf},  // 2^149
      {"rcp.approx.f32", kMinus | kSubnormal, kMinus | kInf},
      {"rcp.approx.ftz.f32", kLargestSubnormal, kInf},
      {"rcp.approx.ftz.f32", kMinus | kLargestSubnormal, kMinus | kInf},
      {"rcp.approx.ftz.f32", kLargest, 0},  // a subnormal result
      {"rcp.approx.ftz.f32", kMinus | kLargest, kMinus},
      {"rcp.approx.ftz.f32", kMinus | kInf, kMinus},
      {"rcp.approx.ftz.f32", kNan, kNan},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, SqrtOfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"sqrt.approx.f32", kMinus | kInf, kNan},
      {"sqrt.approx.f32", kMinus | kOne, kNan},
      {"sqrt.approx.f32", kMinus | kSubnormal, kNan},
      {"sqrt.approx.f32", kMinus, kMinus},
      {"sqrt.approx.f32", 0, 0},
      {"sqrt.approx.f32", kInf, kInf},
      {"sqrt.approx.f32", kSignallingNan, kNan},
      {"sqrt.approx.ftz.f32", kLargestSubnormal, 0},
      {"sqrt.approx.ftz.f32", kMinus | kLargestSubnormal, kMinus},
      {"sqrt.approx.ftz.f32", kMinus | kOne, kNan},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, RsqrtOfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"rsqrt.approx.f32", kMinus | kInf, kNan},
      {"rsqrt.approx.f32", kMinus | kOne, kNan},
      {"rsqrt.approx.f32", kMinus | kSubnormal, kNan},
      {"rsqrt.approx.f32", kMinus, kMinus | kInf},
      {"rsqrt.approx.f32", 0, kInf},
      {"rsqrt.approx.f32", kInf, 0},
      {"rsqrt.approx.f32", kSignallingNan, kNan},
      {"rsqrt.approx.ftz.f32", kLargestSubnormal, kInf},
      {"rsqrt.approx.ftz.f32", kMinus | kLargestSubnormal, kMinus | kInf},
      {"rsqrt.approx.ftz.f32", kMinus | kOne, kNan},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, SinAndCosOfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"sin.approx.f32", kMinus | kInf, kNan},
      {"sin.approx.f32", kInf, kNan},
      {"sin.approx.f32", kMinus, kMinus},
      {"sin.approx.f32", 0, 0},
      {"sin.approx.f32", kSignallingNan, kNan},
      {"sin.approx.ftz.f32", kLargestSubnormal, 0},
      {"sin.approx.ftz.f32", kMinus | kLargestSubnormal, kMinus},
      {"cos.approx.f32", kMinus | kInf, kNan},
      {"cos.approx.f32", kInf, kNan},
      {"cos.approx.f32", kMinus, kOne},
      {"cos.approx.f32", 0, kOne},
      {"cos.approx.f32", kSignallingNan, kNan},
      {"cos.approx.ftz.f32", kLargestSubnormal, kOne},
      {"cos.approx.ftz.f32", kMinus | kLargestSubnormal, kOne},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, TanhOfSpecialValues) {
  constexpr Special kSpecials[] = {
      {"tanh.approx.f32", kMinus | kInf, kMinus | kOne},
      {"tanh.approx.f32", kInf, kOne},
      {"tanh.approx.f32", kMinus, kMinus},
      {"tanh.approx.f32", 0, 0},
      {"tanh.approx.f32", kSignallingNan, kNan},
      {"tanh.approx.f32", kLargestSubnormal, kLargestSubnormal},
      {"tanh.approx.f32", kMinus | kSubnormal, kMinus | kSubnormal},
      {"tanh.approx.f16", 0xfc00, 0xbc00},
      {"tanh.approx.f16", 0x7c00, 0x3c00},
      {"tanh.approx.f16", 0x8000, 0x8000},
      {"tanh.approx.f16", 0, 0},
      {"tanh.approx.f16", 0xfe01, 0x7fff},
      {"tanh.approx.bf16", 0xff80, 0xbf80},
      {"tanh.approx.bf16", 0x7f80, 0x3f80},
      {"tanh.approx.bf16", 0x8000, 0x8000},
      {"tanh.approx.bf16", 0, 0},
      {"tanh.approx.bf16", 0x7f81, 0x7fff},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, Ex2OfSpecialHalves) {
  constexpr Special kSpecials[] = {
      {"ex2.approx.f16", 0xfc00, 0},
      {"ex2.approx.f16", 0x8000, 0x3c00},
      {"ex2.approx.f16", 0, 0x3c00},
      {"ex2.approx.f16", 0x7c00, 0x7c00},
      {"ex2.approx.f16", 0xfc01, 0x7fff},
      {"ex2.approx.f16", 0x4c00, 0x7c00},  // 16: overflow
      {"ex2.approx.f16", 0xce80, 0},       // -26: underflow
      {"ex2.approx.ftz.bf16", 0xff80, 0},
      {"ex2.approx.ftz.bf16", 0x807f, 0x3f80},  // -subnormal
      {"ex2.approx.ftz.bf16", 0x8000, 0x3f80},
      {"ex2.approx.ftz.bf16", 0, 0x3f80},
      {"ex2.approx.ftz.bf16", 0x007f, 0x3f80},  // +subnormal
      {"ex2.approx.ftz.bf16", 0x7f80, 0x7f80},
      {"ex2.approx.ftz.bf16", 0xffff, 0x7fff},
      {"ex2.approx.ftz.bf16", 0x4300, 0x7f80},  // 128: overflow
      {"ex2.approx.ftz.bf16", 0xc2ff, 0},       // -127.5: a subnormal result
  };
  expect_in_all_modes(kSpecials);
}

struct SpecialQuotient {
  std::string_view opcode;
  std::uint32_t dividend, divisor, result;
};

void expect_in_all_modes(std::span<const SpecialQuotient> specials) {
  for (const SpecialQuotient& special : specials)
    for (const Approximations& mode : kModes)
      EXPECT_EQ(
          run_lane_with<std::uint32_t>(mode, special.opcode, special.dividend, special.divisor),
          special.result)
          << std::hex << special.opcode << " of " << special.dividend << ", " << special.divisor;
}

TEST(Approximate, QuotientsOfSpecialValues) {
  for (const std::string_view opcode :
       {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"}) {
    const SpecialQuotient specials[] = {
        {opcode, 0, 0, kNan},
        {opcode, kInf, kInf, kNan},
        {opcode, kNan, kOne, kNan},
        {opcode, kOne, kSignallingNan, kNan},
        {opcode, kOne, 0, kInf},
        {opcode, kOne, kMinus, kMinus | kInf},
        {opcode, kMinus | kOne, kInf, kMinus},
        {opcode, kInf, kMinus | kOne, kMinus | kInf},
        {opcode, kMinus, kOne, kMinus},
        {opcode, kLargest, 0x00800000, kInf},
    };
    expect_in_all_modes(specials);
  }
}

TEST(Approximate, QuotientsFlushSubnormalNumbers) {
  constexpr SpecialQuotient kSpecials[] = {
      {"div.full.ftz.f32", kOne, kLargestSubnormal, kInf},
      {"div.full.ftz.f32", kMinus | kLargestSubnormal, kOne, kMinus},
      {"div.full.ftz.f32", kLargestSubnormal, kLargestSubnormal, kNan},
      {"div.full.ftz.f32", 0x00800000, 0x40000000, 0},
      {"div.approx.ftz.f32", kOne, kMinus | kLargestSubnormal, kMinus | kInf},
      {"div.approx.ftz.f32", 0x00800000, 0x40000000, 0},
  };
  expect_in_all_modes(kSpecials);
}

TEST(Approximate, DivApproxTakesTheReciprocalOfALargeDivisorAsZero) {
  constexpr std::uint32_t kAbove2To126 = 0x7e800001;
  constexpr SpecialQuotient kSpecials[] = {
      {"div.approx.f32", kLargest, kAbove2To126, 0},
      {"div.approx.f32", kMinus | kLargest, kLargest, kMinus},
      {"div.approx.f32", kInf, kAbove2To126, kNan},
      {"div.approx.ftz.f32", kLargest, kMinus | kAbove2To126, kMinus},
      {"div.approx.ftz.f32", kMinus | kInf, kLargest, kNan},
  };
  expect_in_all_modes(kSpecials);
  EXPECT_EQ(run_lane<float>("div.approx.f32", 0x1p127f, 0x1p126f), 2.0f);
  EXPECT_EQ(run_lane<float>("div.full.f32", 0x1p127f, 0x1p127f), 1.0f);
}

struct Value {
  std::string_view opcode;
  float operand, result;
};

void expect_rounded(std::span<const Value> values) {
  for (const Value& value : values)
    EXPECT_EQ(run_lane<float>(value.opcode, value.operand), value.result)
        << value.opcode << " of " << value.operand;
}

// MPFR gave the expected values. A search over all operands found those whose results are nearest
// to the middle between two floats. The rounded double of the host's library is wrong for some.
TEST(Approximate, RoundsResultsNearAMiddleCorrectly) {
  constexpr Value kValues[] = {
      {"ex2.approx.f32", 0x1.853a6ep-9f, 0x1.00870ap+0f},
      {"ex2.approx.f32", 0x1.0f0af8p-11f, 0x1.00177cp+0f},
      {"ex2.approx.f32", 0x1.05535ap-7f, 0x1.016b46p+0f},
      {"ex2.approx.ftz.f32", -0x1.e7526ep-6f, 0x1.f58d62p-1f},
      {"ex2.approx.ftz.f32", -0x1.5a3f34p-21f, 0x1.fffffp-1f},
      {"ex2.approx.ftz.f32", -0x1.d8568p-10f, 0x1.ff5c68p-1f},
      {"lg2.approx.f32", 0x1.40f572p-2f, -0x1.ac7b44p+0f},
      {"lg2.approx.f32", 0x1.40f572p+1f, 0x1.5384bcp+0f},
      {"lg2.approx.ftz.f32", 0x1.22952p-115f, -0x1.cb44dp+6f},
      {"rsqrt.approx.f32", 0x1.7431c6p+1f, 0x1.2c413cp-1f},
      {"rsqrt.approx.f32", 0x1.13e07p+1f, 0x1.5cc0aap-1f},
      {"rsqrt.approx.ftz.f32", 0x1.fffffcp+1f, 0x1.000002p-1f},
      {"sin.approx.f32", 0x1.33333p+13f, -0x1.63f4bap-2f},
      {"sin.approx.f32", 0x1.e35bc6p+7f, 0x1.c5b4acp-3f},
      {"sin.approx.ftz.f32", 0x1.e7061ep-2f, 0x1.d4de8ap-2f},
      {"cos.approx.f32", 0x1p-12f, 0x1p+0f},
      {"cos.approx.f32", 0x1.20ffccp-7f, 0x1.fffae8p-1f},
      {"cos.approx.ftz.f32", 0x1.8f219cp+5f, 0x1.dc9802p-1f},
      {"tanh.approx.f32", 0x1.86fbc4p-10f, 0x1.86fbb2p-10f},
      {"tanh.approx.f32", 0x1.dc0accp-2f, 0x1.bc797cp-2f},
      {"tanh.approx.f32", 0x1.a83722p-6f, 0x1.a81eep-6f},
  };
  expect_rounded(kValues);
}

TEST(Approximate, SubnormalNumbersAreSupportedWithoutFtz) {
  constexpr Value kValues[] = {
      {"ex2.approx.f32", -127, 0x1p-127f},        {"ex2.approx.f32", -149, 0x1p-149f},
      {"ex2.approx.f32", 0x1p-149f, 1},           {"lg2.approx.f32", 0x1p-149f, -149},
      {"rcp.approx.f32", 0x1p127f, 0x1p-127f},    {"rcp.approx.f32", -0x1p-127f, -0x1p127f},
      {"sqrt.approx.f32", 0x1p-148f, 0x1p-74f},   {"rsqrt.approx.f32", 0x1p-148f, 0x1p74f},
      {"sin.approx.f32", -0x1p-149f, -0x1p-149f},
  };
  expect_rounded(kValues);
}

TEST(Approximate, ExactResultsAreExact) {
  constexpr Value kValues[] = {
      {"ex2.approx.ftz.f32", -126, 0x1p-126f},
      {"ex2.approx.ftz.f32", 127, 0x1p127f},
      {"lg2.approx.ftz.f32", 1, 0},
      {"lg2.approx.ftz.f32", 0x1p100f, 100},
      {"rcp.approx.ftz.f32", -4, -0.25f},
      {"sqrt.approx.ftz.f32", 6.25f, 2.5f},
      {"rsqrt.approx.ftz.f32", 0.0625f, 4.0f},
      {"tanh.approx.f32", 20, 1},
      {"rcp.approx.ftz.f32", 0x1p126f, 0x1p-126f},
  };
  expect_rounded(kValues);
}

TEST(Approximate, HalvesOfAPairAreIndependent) {
  for (const Approximations& mode : kModes) {
    for (const std::string_view name :
         {"tanh.approx.f16", "tanh.approx.bf16", "ex2.approx.f16", "ex2.approx.ftz.bf16"}) {
      const std::uint16_t low = 0x3e55, high = 0xbfff;
      const std::string opcode(name);
      const std::uint32_t expected = run_lane_with<std::uint16_t>(mode, opcode, low) |
                                     std::uint32_t{run_lane_with<std::uint16_t>(mode, opcode, high)}
                                         << 16;
      EXPECT_EQ(run_lane_with<std::uint32_t>(mode, opcode + "x2", 0xbfff3e55u), expected) << name;
    }
  }
}

// The expected values are rounded from decimal expansions: tanh(0.5) = 0.46211716,
// tanh(-1.5) = -0.90514825, 2^0.5 = 1.4142136, 2^-14.5 = 4.3158372e-05.
TEST(Approximate, RoundsHalvesCorrectly) {
  EXPECT_EQ(run_lane<std::uint16_t>("tanh.approx.f16", std::uint16_t{0x3800}), 0x3765);
  EXPECT_EQ(run_lane<std::uint16_t>("tanh.approx.f16", std::uint16_t{0xbe00}), 0xbb3e);
  EXPECT_EQ(run_lane<std::uint16_t>("tanh.approx.f16", std::uint16_t{0x0001}), 0x0001);
  EXPECT_EQ(run_lane<std::uint16_t>("tanh.approx.bf16", std::uint16_t{0x3f00}), 0x3eed);
  EXPECT_EQ(run_lane<std::uint16_t>("tanh.approx.bf16", std::uint16_t{0xbfc0}), 0xbf68);
  EXPECT_EQ(run_lane<std::uint16_t>("ex2.approx.f16", std::uint16_t{0x3800}), 0x3da8);
  EXPECT_EQ(run_lane<std::uint16_t>("ex2.approx.f16", std::uint16_t{0xcb40}), 0x02d4);
  EXPECT_EQ(run_lane<std::uint16_t>("ex2.approx.ftz.bf16", std::uint16_t{0x3f00}), 0x3fb5);
}

constexpr std::uint64_t kInf64 = 0x7ff0000000000000, kMinus64 = 0x8000000000000000;
constexpr std::uint64_t kNan64 = 0x7fffffff00000000;

struct Special64 {
  std::string_view opcode;
  std::uint64_t operand, result;
};

TEST(Approximate, SpecialValuesOfF64) {
  constexpr Special64 kSpecials[] = {
      {"rcp.approx.ftz.f64", kMinus64 | kInf64, kMinus64},
      {"rcp.approx.ftz.f64", kMinus64 | 0x000fffffffffffff, kMinus64 | kInf64},
      {"rcp.approx.ftz.f64", kMinus64, kMinus64 | kInf64},
      {"rcp.approx.ftz.f64", 0, kInf64},
      {"rcp.approx.ftz.f64", 0x000fffffffffffff, kInf64},
      {"rcp.approx.ftz.f64", kInf64, 0},
      {"rcp.approx.ftz.f64", 0xfff8000000000000, kNan64},
      {"rcp.approx.ftz.f64", 0x7ff0000100000000, kNan64},
      {"rcp.approx.ftz.f64", 0x7ff0000000000001, 0},  // the upper word is that of infinity
      {"rcp.approx.ftz.f64", 0x7fe8000000000000, 0},  // 1.5 * 2^1023: a subnormal result
      {"rcp.approx.ftz.f64", 0xffe0000000000000, kMinus64},
      {"rsqrt.approx.ftz.f64", kMinus64 | kInf64, kNan64},
      {"rsqrt.approx.ftz.f64", 0xbff0000000000000, kNan64},
      {"rsqrt.approx.ftz.f64", kMinus64 | 0x000fffffffffffff, kMinus64 | kInf64},
      {"rsqrt.approx.ftz.f64", kMinus64, kMinus64 | kInf64},
      {"rsqrt.approx.ftz.f64", 0, kInf64},
      {"rsqrt.approx.ftz.f64", 0x0000000000000001, kInf64},
      {"rsqrt.approx.ftz.f64", kInf64, 0},
      {"rsqrt.approx.ftz.f64", 0x7ff8000000000000, kNan64},
      {"rsqrt.approx.f64", kMinus64 | kInf64, 0xfff8000000000000},
      {"rsqrt.approx.f64", 0xbff0000000000000, 0xfff8000000000000},
      {"rsqrt.approx.f64", kMinus64, kMinus64 | kInf64},
      {"rsqrt.approx.f64", 0, kInf64},
      {"rsqrt.approx.f64", kInf64, 0},
      {"rsqrt.approx.f64", 0x7ff0000000000123, 0x7ff8000000000123},  // the payload remains
  };
  for (const Special64& special : kSpecials)
    for (const Approximations& mode : kModes)
      EXPECT_EQ(run_lane_with<std::uint64_t>(mode, special.opcode, special.operand), special.result)
          << std::hex << special.opcode << " of " << special.operand;
}

TEST(Approximate, SeedsOfF64AreOfTheUpperWordOnly) {
  // 1/3 = 0x3fd55555'55555555: the nearest upper word is 0x3fd55555.
  EXPECT_EQ(run_lane<std::uint64_t>("rcp.approx.ftz.f64", std::bit_cast<std::uint64_t>(3.0)),
            0x3fd5555500000000u);
  EXPECT_EQ(run_lane<std::uint64_t>("rcp.approx.ftz.f64", std::uint64_t{0x40080000ffffffff}),
            0x3fd5555500000000u);
  // 1/sqrt(2) = 0x3fe6a09e'667f3bcd: the nearest upper word is 0x3fe6a09e.
  EXPECT_EQ(run_lane<std::uint64_t>("rsqrt.approx.ftz.f64", std::bit_cast<std::uint64_t>(2.0)),
            0x3fe6a09e00000000u);
  EXPECT_EQ(run_lane<std::uint64_t>("rsqrt.approx.ftz.f64", std::uint64_t{0x40000000ffffffff}),
            0x3fe6a09e00000000u);
}

TEST(Approximate, SeedsOfF64HaveAZeroLowerWord) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t operand = random() >> 1;
    for (const Approximations& mode : kModes) {
      EXPECT_EQ(run_lane_with<std::uint64_t>(mode, "rcp.approx.ftz.f64", operand) << 32, 0u);
      EXPECT_EQ(run_lane_with<std::uint64_t>(mode, "rsqrt.approx.ftz.f64", operand) << 32, 0u);
    }
  }
}

// Two Newton steps must reach the precision of f64 from every seed within the bound.
TEST(Approximate, NewtonStepsRefineTheSeedsOfF64) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    const double a = std::ldexp(1 + static_cast<double>(random()) * 0x1p-64, i - 50);
    for (const Approximations& mode : kModes) {
      double reciprocal = run_lane_with<double>(mode, "rcp.approx.ftz.f64", a);
      double root = run_lane_with<double>(mode, "rsqrt.approx.ftz.f64", a);
      for (int step = 0; step < 2; ++step) {
        reciprocal = std::fma(std::fma(-a, reciprocal, 1.0), reciprocal, reciprocal);
        root = std::fma(std::fma(-a * root, root, 1.0), 0.5 * root, root);
      }
      EXPECT_NEAR(reciprocal * a, 1, 0x1p-51);
      EXPECT_NEAR(root * root * a, 1, 0x1p-50);
    }
  }
}

TEST(Approximate, RoundsRsqrtOfF64Correctly) {
  struct {
    double operand, result;
  } constexpr kValues[] = {
      {2, 0x1.6a09e667f3bcdp-1}, {3, 0x1.279a74590331cp-1}, {0x1p-1074, 0x1p537},
      {0x1p1022, 0x1p-511},      {0x1p-1022, 0x1p511},      {6.25, 0x1.999999999999ap-2},
  };
  for (const auto& value : kValues)
    EXPECT_EQ(run_lane<double>("rsqrt.approx.f64", value.operand), value.result) << value.operand;
}

TEST(Approximate, SectionsAreThoseOfTheManual) {
  for (const Semantics& row : approximate_semantics()) EXPECT_FALSE(row.section.empty());
  EXPECT_EQ(find_semantics("ex2.approx.ftz.f32")->section, "9.7.3.21");
  EXPECT_EQ(find_semantics("ex2.approx.ftz.bf16x2")->section, "9.7.4.10");
  EXPECT_EQ(find_semantics("rcp.approx.ftz.f64")->section, "9.7.3.14");
}

}  // namespace
}  // namespace sinter::virtual_gpu::approximate_test
