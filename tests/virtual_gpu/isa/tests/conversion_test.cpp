// Tests of cvt and cvt.pack: documented special values, and exhaustive round trips and ties of the
// narrow formats.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "tests/virtual_gpu/isa/tests/float_oracle.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"
#include "tests/virtual_gpu/isa/tests/warp_runner.h"

namespace sinter::virtual_gpu::conversion_test {
namespace {

using float_oracle::Format;
using float_oracle::kBfloat;
using float_oracle::kHalf;
using float_oracle::round_to;
using float_oracle::value_of;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Conversion, NamesTheSectionOfEachRow) {
  for (const Semantics& row : conversion_semantics())
    EXPECT_EQ(row.section, row.opcode.starts_with("cvt.pack") ? "9.7.9.22" : "9.7.9.21")
        << row.opcode;
}

// ---- Integers ----

TEST(Conversion, ExtendsBySignOrZeros) {
  EXPECT_EQ(run_lane<std::int32_t>("cvt.s16.s8", std::int8_t{-5}), -5);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.s32.s16", std::int16_t{-30000}), -30000);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.u32.u8", std::uint8_t{0xfb}), 0xfbu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.u32.s8", std::int8_t{-5}), 0xfffffffbu);
  EXPECT_EQ(run_lane<std::int64_t>("cvt.s64.s32", -5), -5);
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.u64.u32", 0xfffffffbu), 0xfffffffbull);
}

TEST(Conversion, ExtendsNarrowResultsToTheRegister) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.u16.u32", 0x1234fffbu), 0xfffbu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.s16.s32", 0x1234fffb), 0xfffffffbu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.s8.u32", 0x12340180u), 0xffffff80u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.u8.s64", std::int64_t{-1}), 0xffu);
}

TEST(Conversion, SaturatesIntegers) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.sat.u8.s32", -1), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.sat.u8.s32", 256), 255u);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.sat.s8.s32", -129), -128);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.sat.s32.u32", 0x80000000u), 0x7fffffff);
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.sat.u64.s64", INT64_MIN), 0u);
  EXPECT_EQ(run_lane<std::int64_t>("cvt.sat.s64.u64", UINT64_MAX), INT64_MAX);
}

// ---- Floats and integers ----

TEST(Conversion, ClampsFloatsToTheRangeOfTheInteger) {
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s32.f32", 3e9f), INT32_MAX);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s32.f32", -kInfinity), INT32_MIN);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s32.f32", 2147483520.0f), 2147483520);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rzi.u32.f32", -1.0f), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rzi.u8.f32", 300.0f), 255u);
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.rzi.u64.f64", 0x1p64), UINT64_MAX);
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.rzi.u64.f64", 0x1p63), 0x8000000000000000u);
  EXPECT_EQ(run_lane<std::int64_t>("cvt.rzi.s64.f32", 0x1p63f), INT64_MAX);
  EXPECT_EQ(run_lane<std::int64_t>("cvt.rzi.s64.f32", -0x1p63f), INT64_MIN);
}

TEST(Conversion, MakesNanZeroOrTheHighestBit) {
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s32.f32", kNan), 0);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rni.u8.f32", kNan), 0u);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s16.f16", std::uint16_t{0x7e00}), 0);
  EXPECT_EQ(run_lane<std::int64_t>("cvt.rzi.s64.f32", kNan), INT64_MIN);
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.rzi.u64.bf16", std::uint16_t{0xffc0}),
            0x8000000000000000u);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s32.f64", kDoubleNan), INT32_MIN);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rzi.u32.f64", kDoubleNan), 0x80000000u);
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s16.f64", kDoubleNan), -32768);
}

TEST(Conversion, RoundsToIntegers) {
  struct Case {
    float value;
    int nearest, inward, down, up;
  };
  for (const Case& c : {Case{2.5f, 2, 2, 2, 3}, Case{3.5f, 4, 3, 3, 4}, Case{-2.5f, -2, -2, -3, -2},
                        Case{-0.75f, -1, 0, -1, 0}, Case{1e-40f, 0, 0, 0, 1}}) {
    EXPECT_EQ(run_lane<std::int32_t>("cvt.rni.s32.f32", c.value), c.nearest) << c.value;
    EXPECT_EQ(run_lane<std::int32_t>("cvt.rzi.s32.f32", c.value), c.inward) << c.value;
    EXPECT_EQ(run_lane<std::int32_t>("cvt.rmi.s32.f32", c.value), c.down) << c.value;
    EXPECT_EQ(run_lane<std::int32_t>("cvt.rpi.s32.f32", c.value), c.up) << c.value;
  }
  EXPECT_EQ(run_lane<std::int32_t>("cvt.rpi.ftz.s32.f32", 1e-40f), 0);
}

TEST(Conversion, RoundsIntegersToFloats) {
  EXPECT_EQ(run_lane<float>("cvt.rn.f32.s32", 16777217), 16777216.0f);
  EXPECT_EQ(run_lane<float>("cvt.rp.f32.s32", 16777217), 16777218.0f);
  EXPECT_EQ(run_lane<float>("cvt.rm.f32.s32", -16777217), -16777218.0f);
  EXPECT_EQ(run_lane<float>("cvt.rz.f32.u64", UINT64_MAX), 0x1.fffffep63f);
  EXPECT_EQ(run_lane<float>("cvt.rn.f32.u64", UINT64_MAX), 0x1p64f);
  EXPECT_EQ(run_lane<float>("cvt.rn.f32.s16", std::int16_t{-32768}), -32768.0f);
  EXPECT_EQ(run_lane<double>("cvt.rn.f64.u64", (1ull << 53) + 1), 0x1p53);
  EXPECT_EQ(run_lane<double>("cvt.rp.f64.u64", (1ull << 53) + 1), 0x1p53 + 2);
  // Just above the middle between two f32: rounding to f64 first would lose the last bit.
  EXPECT_EQ(run_lane<float>("cvt.rn.f32.u64", (1ull << 63) + (1ull << 39) + 1), 0x1p63f + 0x1p40f);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f16.u32", 70000u), 0x7c00u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rz.f16.u32", 70000u), 0x7bffu);
}

TEST(Conversion, RoundsFloatsToIntegralFloats) {
  EXPECT_EQ(run_lane<float>("cvt.rni.f32.f32", 2.5f), 2.0f);
  EXPECT_EQ(run_lane<float>("cvt.rpi.f32.f32", 2.5f), 3.0f);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rni.f32.f32", -0.25f), 0x80000000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rpi.f32.f32", -0.25f), 0x80000000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rni.f32.f32", kNan), 0x7fffffffu);
  EXPECT_EQ(run_lane<double>("cvt.rmi.f64.f64", -0x1p-1074), -1.0);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rzi.f16.f16", std::uint16_t{0xbe00}), 0xbc00u);
}

// ---- Between floats ----

TEST(Conversion, SaturatesFloatsToTheUnitInterval) {
  EXPECT_EQ(run_lane<float>("cvt.sat.f32.f32", 2.0f), 1.0f);
  EXPECT_EQ(run_lane<float>("cvt.sat.f32.f32", 0.25f), 0.25f);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.sat.f32.f32", -0.0f), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.sat.f32.f32", -kInfinity), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.sat.f32.f32", kNan), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.sat.f16.f32", 1.5f), 0x3c00u);
}

TEST(Conversion, RoundsToBfloat) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f32", 0x3f808000u), 0x3f80u);  // tie to even
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f32", 0x3f818000u), 0x3f82u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f32", 0x3f808001u), 0x3f81u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rz.bf16.f32", 0xbf80ffffu), 0xbf80u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f32", 0x7f7fffffu), 0x7f80u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.bf16.f32", kInfinity), 0x7f7fu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f32", 0x80000001u), 0x8000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f32", 0xffc12345u), 0x7fffu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.relu.bf16.f32", -3.0f), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.relu.bf16.f32", kNan), 0x7fffu);
}

TEST(Conversion, RoundsDoublesToHalvesOnce) {
  // Above the middle between 1 and the next f16, but not if it is rounded to f32 first.
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f16.f64", 1 + 0x1p-11 + 0x1p-40), 0x3c01u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16.f64", 1 + 0x1p-8 + 0x1p-40), 0x3f81u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rp.f16.f64", 0x1p-1074), 0x0001u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rm.f16.f64", 65505.0), 0x7bffu);
}

TEST(Conversion, KeepsThePayloadOfNanBetweenSinglesAndDoubles) {
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.f64.f32", 0xffc12345u), 0xfff82468a0000000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f32.f64", 0xfff8123456789abcull), 0xffc091a2u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.f32.f16", std::uint16_t{0x7e01}), 0x7fffffffu);
}

TEST(Conversion, FlushesSubnormalSingles) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.ftz.f32.f32", 0x807fffffu), 0x80000000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.ftz.f32.f64", -0x1p-140), 0x80000000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f32.f64", -0x1p-140), 0x80000200u);
  EXPECT_EQ(run_lane<std::uint64_t>("cvt.ftz.f64.f32", 0x00000001u), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.ftz.f32.bf16", std::uint16_t{0x8001}), 0x80000000u);
}

// ---- Exhaustive properties of f16 and bf16 ----

std::vector<std::uint64_t> all_codes() {
  std::vector<std::uint64_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = i;
  return codes;
}

TEST(Conversion, WidensAllHalvesExactly) {
  const auto expected = [](const Format& format) {
    return [&format](std::uint64_t bits) -> std::uint64_t {
      if (format.is_nan(bits)) return 0x7fffffff;
      return std::bit_cast<std::uint32_t>(static_cast<float>(value_of(format, bits)));
    };
  };
  expect_results("cvt.f32.f16", expected(kHalf), all_codes());
  expect_results("cvt.f32.bf16", expected(kBfloat), all_codes());
}

TEST(Conversion, NarrowsAllWidenedHalvesBack) {
  for (const auto& [type, format] : {std::pair{"f16", kHalf}, std::pair{"bf16", kBfloat}}) {
    std::vector<std::uint64_t> wide;
    for (const std::uint64_t code : all_codes())
      wide.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value_of(format, code))));
    for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
      std::uint64_t next = 0;
      const auto expected = [&next, format = format](std::uint64_t) {
        const std::uint64_t code = next++;
        return format.is_nan(code) ? 0x7fffu : code;
      };
      expect_results("cvt." + rounding + "." + type + ".f32", expected, wide);
    }
  }
}

/// The middles between neighbouring positive numbers and the f32 next to each middle.
TEST(Conversion, RoundsAroundAllTiesOfHalves) {
  for (const auto& [type, format] : {std::pair{"f16", kHalf}, std::pair{"bf16", kBfloat}}) {
    std::vector<std::uint64_t> below, middles, above;
    for (std::uint64_t code = 0; code + 1 < format.infinity(); ++code) {
      const long double middle = (value_of(format, code) + value_of(format, code + 1)) / 2;
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(middle));
      below.push_back(bits - 1);
      middles.push_back(bits);
      above.push_back(bits + 1);
    }
    std::uint64_t next = 0;
    const auto code = [&] { return next++; };
    const std::string opcode = std::string("cvt.rn.") + type + ".f32";
    expect_results(
        opcode, [&](std::uint64_t) { return code(); }, below);
    next = 0;
    expect_results(
        opcode,
        [&](std::uint64_t) {
          const auto c = code();
          return c + (c & 1);
        },
        middles);
    next = 0;
    expect_results(
        opcode, [&](std::uint64_t) { return code() + 1; }, above);
  }
}

// ---- Pairs and 8-bit floats ----

TEST(Conversion, PutsTheFirstOperandIntoTheHighHalf) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f16x2.f32", 1.0f, -2.0f), 0x3c00c000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.bf16x2.f32", 1.0f, -2.0f), 0x3f80c000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rz.bf16x2.f32", 0x3f80ffffu, 0xbf80ffffu), 0x3f80bf80u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.relu.f16x2.f32", -1.0f, kNan), 0x00007fffu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.f16x2.f32", -1e9f, 1e9f), 0xfbff7bffu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.relu.satfinite.f16x2.f32", -1e9f, 1e9f), 0x00007bffu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.e4m3x2.f32", 1.0f, -2.0f), 0x38c0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.e5m2x2.f32", 1.0f, -2.0f), 0x3cc0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.e5m2x2.f16x2", 0x3c00c000u), 0x3cc0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f16x2.e4m3x2", std::uint16_t{0x38c0}), 0x3c00c000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.f16x2.e5m2x2", std::uint16_t{0x3cc0}), 0x3c00c000u);
}

TEST(Conversion, SaturatesEightBitFloats) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.e4m3x2.f32", 464.0f, -1e9f), 0x7efeu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.e4m3x2.f32", kInfinity, kNan), 0x7e7fu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.e5m2x2.f32", kInfinity, -kNan), 0x7b7fu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.relu.e4m3x2.f32", -1.0f, kNan), 0x007fu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.satfinite.relu.e5m2x2.f16x2", 0xfc007c00u), 0x007bu);
}

/// The value of a code. An e5m2 is the high byte of an f16. An e4m3 has the bias 7 and no infinity.
long double float8_value(bool is_e4m3, std::uint32_t code) {
  if (!is_e4m3) return value_of(kHalf, code << 8);
  const std::uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7f) return NAN;
  const int exponent = static_cast<int>(magnitude >> 3), mantissa = static_cast<int>(magnitude & 7);
  const long double value =
      exponent == 0 ? std::ldexp(mantissa * 1.0L, -9) : std::ldexp(8.0L + mantissa, exponent - 10);
  return code & 0x80u ? -value : value;
}

TEST(Conversion, WidensAllEightBitFloats) {
  for (const bool is_e4m3 : {true, false}) {
    const auto half = [&](std::uint64_t code) -> std::uint64_t {
      const long double value = float8_value(is_e4m3, static_cast<std::uint32_t>(code));
      return std::isnan(value) ? 0x7fff : round_to(kHalf, value, "rn");
    };
    expect_results(
        is_e4m3 ? "cvt.rn.f16x2.e4m3x2" : "cvt.rn.f16x2.e5m2x2",
        [&](std::uint64_t pair) { return half(pair >> 8) << 16 | half(pair & 0xff); }, all_codes());
  }
}

TEST(Conversion, RoundsAroundAllTiesOfEightBitFloats) {
  for (const bool is_e4m3 : {true, false}) {
    const std::string opcode =
        is_e4m3 ? "cvt.rn.satfinite.e4m3x2.f32" : "cvt.rn.satfinite.e5m2x2.f32";
    for (std::uint32_t code = 0; code < (is_e4m3 ? 0x7eu : 0x7bu); ++code) {
      const auto value = static_cast<float>(float8_value(is_e4m3, code));
      const auto next = static_cast<float>(float8_value(is_e4m3, code + 1));
      const float middle = (value + next) / 2;
      EXPECT_EQ(run_lane<std::uint32_t>(opcode, -value, next), (code | 0x80u) << 8 | (code + 1));
      EXPECT_EQ(run_lane<std::uint32_t>(opcode, middle, std::nextafter(middle, 0.0f)),
                (code + (code & 1)) << 8 | code);
      EXPECT_EQ(run_lane<std::uint32_t>(opcode, std::nextafter(middle, 1e9f), 0.0f), (code + 1)
                                                                                         << 8);
    }
  }
}

TEST(Conversion, RoundsToTf32) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rna.tf32.f32", 0x3f801000u), 0x3f802000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.tf32.f32", 0x3f801000u), 0x3f800000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rz.tf32.f32", 0xbf801fffu), 0xbf800000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rn.relu.tf32.f32", -1.0f), 0u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rna.tf32.f32", kNan), 0x7fffffffu);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rna.tf32.f32", 0x7f7fffffu), 0x7f800000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.rna.satfinite.tf32.f32", kInfinity), 0x7f7fe000u);
}

// ---- cvt.pack ----

TEST(Conversion, PacksSaturatedIntegers) {
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.s16.s32", 40000, -40000), 0x7fff8000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.u16.s32", 70000, -1), 0xffff0000u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.u8.s32.b32", 300, 5, 0x12345678u), 0x5678ff05u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.s8.s32.b32", -300, 5, 0x12345678u), 0x56788005u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.u4.s32.b32", 16, 3, 0x12345678u), 0x345678f3u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.s4.s32.b32", -9, 7, 0x12345678u), 0x34567887u);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.u2.s32.b32", 4, 1, 0x12345678u), 0x2345678du);
  EXPECT_EQ(run_lane<std::uint32_t>("cvt.pack.sat.s2.s32.b32", -3, 1, 0x12345678u), 0x23456789u);
}

}  // namespace
}  // namespace sinter::virtual_gpu::conversion_test
