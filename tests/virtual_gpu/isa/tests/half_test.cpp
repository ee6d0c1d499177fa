// Tests of the f16 and bf16 instructions: documented special values, an oracle, and all values of
// the instructions of one operand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/virtual_gpu/isa/tests/float_oracle.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"
#include "tests/virtual_gpu/isa/tests/warp_runner.h"

namespace sinter::virtual_gpu::half_test {
namespace {

using float_oracle::Format;
using float_oracle::kBfloat;
using float_oracle::kHalf;
using float_oracle::round_to;
using float_oracle::value_of;
using Code = std::uint16_t;
using Codes = std::vector<std::uint64_t>;

std::uint32_t on(std::string_view opcode, Code a) { return run_lane<std::uint32_t>(opcode, a); }
std::uint32_t on(std::string_view opcode, Code a, Code b) {
  return run_lane<std::uint32_t>(opcode, a, b);
}
std::uint32_t on(std::string_view opcode, Code a, Code b, Code c) {
  return run_lane<std::uint32_t>(opcode, a, b, c);
}

Codes all_codes() {
  Codes codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = i;
  return codes;
}

struct NamedFormat {
  std::string name;
  Format format;
};
const NamedFormat kFormats[] = {{"f16", kHalf}, {"bf16", kBfloat}};

// ---- One operand ----

TEST(HalfFloat, NegatesAndTakesMagnitudesOfAllValues) {
  for (const auto& [name, format] : kFormats) {
    const auto expected = [&, format = format](bool is_negation) {
      return [=](std::uint64_t code) -> std::uint64_t {
        if (format.is_nan(code)) return 0x7fff;
        return is_negation ? code ^ 0x8000 : code & 0x7fff;
      };
    };
    expect_results("neg." + name, expected(true), all_codes());
    expect_results("abs." + name, expected(false), all_codes());
  }
}

TEST(HalfFloat, KeepsAllValuesInExactOperations) {
  for (const auto& [name, format] : kFormats) {
    const Codes codes = all_codes();
    const Codes ones(codes.size(), round_to(format, 1, "rn"));
    const Codes minus_zeros(codes.size(), 0x8000);
    const auto same = [&, format = format](std::uint64_t code, auto...) -> std::uint64_t {
      return format.is_nan(code) ? 0x7fff : code;
    };
    expect_results("add.rn." + name, same, codes, minus_zeros);
    expect_results("mul.rn." + name, same, codes, ones);
    expect_results("fma.rn." + name, same, codes, ones, minus_zeros);
    expect_results("max." + name, same, codes, codes);
    expect_results("min.NaN." + name, same, codes, codes);
  }
}

TEST(HalfFloat, FlushesSubnormalHalves) {
  const auto expected = [](std::uint64_t code) -> std::uint64_t {
    if (kHalf.is_nan(code)) return 0x7fff;
    return kHalf.is_subnormal(code) ? 0 : code & 0x7fff;
  };
  expect_results("abs.ftz.f16", expected, all_codes());
  EXPECT_EQ(on("neg.ftz.f16", 0x0001), 0x8000u);
  EXPECT_EQ(on("add.ftz.f16", 0x03ff, 0x03ff), 0u);
  EXPECT_EQ(on("add.f16", 0x03ff, 0x03ff), 0x07feu);
  EXPECT_EQ(on("mul.rn.ftz.f16", 0x8400, 0x3800), 0x8000u);  // -2^-14 / 2
  EXPECT_EQ(on("mul.rn.f16", 0x8400, 0x3800), 0x8200u);
  EXPECT_EQ(on("fma.rn.ftz.f16", 0x8001, 0x7bff, 0x8001), 0x8000u);
  EXPECT_EQ(on("min.ftz.f16", 0x8001, 0x0400), 0x8000u);
}

// ---- Rounding ----

TEST(HalfFloat, RoundsTiesToEven) {
  EXPECT_EQ(on("add.rn.f16", 0x3c00, 0x1000), 0x3c00u);  // 1 + 2^-11
  EXPECT_EQ(on("add.rn.f16", 0x3c01, 0x1000), 0x3c02u);
  EXPECT_EQ(on("add.rn.f16", 0x3c00, 0x1001), 0x3c01u);
  EXPECT_EQ(on("add.rn.bf16", 0x3f80, 0x3b80), 0x3f80u);  // 1 + 2^-8
  EXPECT_EQ(on("add.rn.bf16", 0x3f81, 0x3b80), 0x3f82u);
  EXPECT_EQ(on("mul.f16", 0x0001, 0x3800), 0x0000u);  // half the least subnormal
  EXPECT_EQ(on("mul.f16", 0x0003, 0x3800), 0x0002u);
}

TEST(HalfFloat, OverflowsToInfinity) {
  EXPECT_EQ(on("add.f16", 0x7bff, 0x4b80), 0x7bffu);  // 65504 + 15
  EXPECT_EQ(on("add.f16", 0x7bff, 0x4c00), 0x7c00u);  // 65504 + 16, a tie
  EXPECT_EQ(on("mul.rn.bf16", 0x7f7f, 0xbfc0), 0xff80u);
}

TEST(HalfFloat, RoundsFusedMultiplyAddOnce) {
  // (1 + 2^-10)^2 is 1 + 2^-9 + 2^-20: the product is rounded with the sum only.
  EXPECT_EQ(on("fma.rn.f16", 0x3c01, 0x3c01, 0xbc02), 0x0010u);
  EXPECT_EQ(on("fma.rn.bf16", 0x3f81, 0x3f81, 0xbf82), 0x3880u);
}

/// Doubles cannot hold the sums of bf16 products and the least subnormal.
TEST(HalfFloat, BreaksTiesOfFusedMultiplyAddByTheSmallestBits) {
  EXPECT_EQ(on("fma.rn.bf16", 0x3f88, 0x3f88, 0x0000), 0x3f90u);  // 1 + 2^-3 + 2^-8
  EXPECT_EQ(on("fma.rn.bf16", 0x3f88, 0x3f88, 0x0001), 0x3f91u);
  EXPECT_EQ(on("fma.rn.bf16", 0x3f88, 0x3f88, 0x8001), 0x3f90u);
  EXPECT_EQ(on("fma.rn.bf16", 0x3f81, 0x3fc0, 0x0000), 0x3fc2u);
  EXPECT_EQ(on("fma.rn.bf16", 0x3f81, 0x3fc0, 0x8001), 0x3fc1u);
  EXPECT_EQ(on("fma.rn.f16", 0x4c00, 0x3c00, 0x7800), 0x7800u);  // 16 + 2^15
  EXPECT_EQ(on("fma.rn.f16", 0x4c01, 0x3c00, 0x7800), 0x7801u);
  EXPECT_EQ(on("fma.rn.f16", 0x4c00, 0x3c00, 0x7801), 0x7802u);
}

/// Sums and products of f16 and products of bf16 are exact in long double.
TEST(HalfFloat, AgreesWithTheOracle) {
  for (const auto& [name, format] : kFormats) {
    Codes values = float_oracle::special_values(format);
    const Codes more = float_oracle::random_values(format, 100, 11);
    values.insert(values.end(), more.begin(), more.end());
    Codes a, b;
    for (const std::uint64_t x : values)
      for (const std::uint64_t y : values) a.push_back(x), b.push_back(y);
    const auto rounded = [&, format = format](auto operation) {
      return [=](std::uint64_t x, std::uint64_t y) -> std::uint64_t {
        const long double exact = operation(value_of(format, x), value_of(format, y));
        return std::isnan(exact) ? 0x7fff : round_to(format, exact, "rn");
      };
    };
    expect_results("mul.rn." + name, rounded([](auto x, auto y) { return x * y; }), a, b);
    if (name == "bf16") continue;
    expect_results("add.rn." + name, rounded([](auto x, auto y) { return x + y; }), a, b);
    expect_results("sub.rn." + name, rounded([](auto x, auto y) { return x - y; }), a, b);
  }
}

// ---- Saturation ----

TEST(HalfFloat, SaturatesToTheUnitInterval) {
  EXPECT_EQ(on("add.sat.f16", 0x3c00, 0x3c00), 0x3c00u);
  EXPECT_EQ(on("sub.rn.sat.f16", 0x3800, 0x3c00), 0x0000u);
  EXPECT_EQ(on("mul.sat.f16", 0x8000, 0x3c00), 0x0000u);
  EXPECT_EQ(on("fma.rn.sat.f16", 0x7e00, 0x3c00, 0x3c00), 0x0000u);
  EXPECT_EQ(on("fma.rn.sat.f16", 0x3800, 0x3800, 0x0000), 0x3400u);
  EXPECT_EQ(on("fma.rn.ftz.sat.f16", 0x0001, 0x3c00, 0x0000), 0x0000u);
}

TEST(HalfFloat, ClampsNegativeResultsUnderRelu) {
  EXPECT_EQ(on("fma.rn.relu.f16", 0xbc00, 0x3c00, 0x0000), 0x0000u);
  EXPECT_EQ(on("fma.rn.relu.f16", 0x4000, 0x3c00, 0x3c00), 0x4200u);
  EXPECT_EQ(on("fma.rn.relu.f16", 0xfe01, 0x3c00, 0x3c00), 0x7fffu);
  EXPECT_EQ(on("fma.rn.relu.bf16", 0xbf80, 0x3f80, 0x0000), 0x0000u);
  EXPECT_EQ(on("fma.rn.ftz.relu.f16", 0x8001, 0x3c00, 0x8000), 0x0000u);
}

// ---- NaN, minimum and maximum ----

TEST(HalfFloat, ReturnsTheCanonicalNan) {
  EXPECT_EQ(on("add.f16", 0x7c00, 0xfc00), 0x7fffu);
  EXPECT_EQ(on("sub.f16", 0x7c00, 0x7c00), 0x7fffu);
  EXPECT_EQ(on("mul.bf16", 0x7f80, 0x0000), 0x7fffu);
  EXPECT_EQ(on("fma.rn.bf16", 0xffc1, 0x3f80, 0x3f80), 0x7fffu);
  EXPECT_EQ(on("neg.bf16", 0x7fc0), 0x7fffu);
}

TEST(HalfFloat, PrefersNumbersToNan) {
  EXPECT_EQ(on("max.f16", 0x7e00, 0xbc00), 0xbc00u);
  EXPECT_EQ(on("min.bf16", 0x3f80, 0xffc0), 0x3f80u);
  EXPECT_EQ(on("min.f16", 0x7e00, 0xfe00), 0x7fffu);
  EXPECT_EQ(on("max.NaN.f16", 0x7e00, 0xbc00), 0x7fffu);
  EXPECT_EQ(on("min.NaN.bf16", 0x3f80, 0xffc0), 0x7fffu);
}

TEST(HalfFloat, OrdersZerosBySign) {
  EXPECT_EQ(on("min.f16", 0x0000, 0x8000), 0x8000u);
  EXPECT_EQ(on("max.f16", 0x8000, 0x0000), 0x0000u);
  EXPECT_EQ(on("max.NaN.bf16", 0x8000, 0x0000), 0x0000u);
}

TEST(HalfFloat, TakesTheSignByXor) {
  EXPECT_EQ(on("max.xorsign.abs.f16", 0xc000, 0x3c00), 0xc000u);
  EXPECT_EQ(on("min.xorsign.abs.f16", 0xc000, 0xbc00), 0x3c00u);
  EXPECT_EQ(on("min.xorsign.abs.bf16", 0xc000, 0x3f80), 0xbf80u);
  EXPECT_EQ(on("max.NaN.xorsign.abs.bf16", 0xc000, 0xffc0), 0x7fffu);
}

// ---- Pairs ----

/// Each row of a pair computes what the scalar row computes, in both halves.
TEST(HalfFloat, ComputesPairsByHalves) {
  const Code values[] = {0x0000, 0x8001, 0x3c00, 0xbf80, 0x7c00, 0x7f80, 0xfe00, 0x4248};
  int rows = 0;
  for (const Semantics& row : half_semantics()) {
    if (!row.opcode.ends_with("x2")) continue;
    ++rows;
    const std::string_view scalar = row.opcode.substr(0, row.opcode.size() - 2);
    const auto pair = [](Code low, Code high) { return std::uint32_t{high} << 16 | low; };
    for (const Code x : values)
      for (const Code y : values) {
        const int count = row.operand_count();
        const std::uint32_t both =
            count == 1 ? run_lane<std::uint32_t>(row.opcode, pair(x, y))
            : count == 2
                ? run_lane<std::uint32_t>(row.opcode, pair(x, y), pair(y, 0x3c01))
                : run_lane<std::uint32_t>(row.opcode, pair(x, y), pair(y, 0x3c01), pair(0xbc00, x));
        const std::uint32_t low = count == 1   ? on(scalar, x)
                                  : count == 2 ? on(scalar, x, y)
                                               : on(scalar, x, y, 0xbc00);
        const std::uint32_t high = count == 1   ? on(scalar, y)
                                   : count == 2 ? on(scalar, y, 0x3c01)
                                                : on(scalar, y, 0x3c01, x);
        EXPECT_EQ(both, high << 16 | low) << row.opcode;
      }
  }
  EXPECT_EQ(rows, 68);
}

TEST(HalfFloat, ComputesKnownPairs) {
  EXPECT_EQ(run_lane<std::uint32_t>("add.f16x2", 0x3c004000u, 0x3c00bc00u), 0x40003c00u);
  EXPECT_EQ(run_lane<std::uint32_t>("fma.rn.bf16x2", 0x40003f80u, 0x40003f80u, 0x3f803f80u),
            0x40a04000u);
  EXPECT_EQ(run_lane<std::uint32_t>("max.NaN.f16x2", 0x7e004000u, 0x3c004200u), 0x7fff4200u);
}

/// The result of an opcode of one, two or three operands x, y, x.
std::uint32_t on_some(const Semantics& row, Code x, Code y) {
  if (row.operand_count() == 1) return on(row.opcode, x);
  return row.operand_count() == 2 ? on(row.opcode, x, y) : on(row.opcode, x, y, x);
}

/// `.ftz` flushes the operands and the result of the opcode without it, then `.sat` or `.relu`
/// clamps.
TEST(HalfFloat, AppliesModifiersToTheRoundedResult) {
  const Code values[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0xbc01,
                         0x3800, 0x7bff, 0x7c00, 0xfc00, 0xfe01, 0x1000, 0x9400};
  int rows = 0;
  for (const Semantics& row : half_semantics()) {
    const float_oracle::PlainOpcode plain = float_oracle::without_modifiers(row.opcode);
    if (!plain.is_changed() || row.opcode.ends_with("x2")) continue;
    ++rows;
    const Semantics* base = find_semantics(plain.text);
    ASSERT_NE(base, nullptr) << row.opcode;
    const Format format = row.opcode.ends_with("bf16") ? kBfloat : kHalf;
    const auto flush = [&](Code code) {
      const bool is_flushed = plain.ftz && format.is_subnormal(code);
      return static_cast<Code>(is_flushed ? code & 0x8000u : code);
    };
    for (const Code x : values)
      for (const Code y : values)
        EXPECT_EQ(on_some(row, x, y),
                  float_oracle::with_modifiers(format, plain, on_some(*base, flush(x), flush(y)),
                                               round_to(format, 1, "rn")))
            << row.opcode << std::hex << " " << x << " " << y;
  }
  EXPECT_EQ(rows, 34);
}

/// Plain opcodes round to nearest.
TEST(HalfFloat, RoundsPlainOpcodesToNearest) {
  const Codes values = float_oracle::special_values(kHalf);
  Codes a, b;
  for (const std::uint64_t x : values)
    for (const std::uint64_t y : values) a.push_back(x), b.push_back(y);
  for (const std::string base : {"add", "sub", "mul"}) {
    const auto with_rounding = [&](std::uint64_t x, std::uint64_t y) -> std::uint64_t {
      const long double p = value_of(kHalf, x), q = value_of(kHalf, y);
      const long double exact = base == "add" ? p + q : base == "sub" ? p - q : p * q;
      return std::isnan(exact) ? 0x7fff : round_to(kHalf, exact, "rn");
    };
    expect_results(base + ".f16", with_rounding, a, b);
  }
}

TEST(HalfFloat, NamesTheSectionOfEachRow) {
  for (const Semantics& row : half_semantics())
    EXPECT_TRUE(row.section.starts_with("9.7.4.")) << row.opcode;
}

}  // namespace
}  // namespace sinter::virtual_gpu::half_test
