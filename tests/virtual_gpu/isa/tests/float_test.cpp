// Tests of the exactly rounded f32 and f64 instructions: documented special values, directed f32
// rounding against the host's, and bounds of directed f64 results.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/virtual_gpu/isa/tests/float_oracle.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"
#include "tests/virtual_gpu/isa/tests/warp_runner.h"

namespace sinter::virtual_gpu::float_test {
namespace {

using float_oracle::kSingle;
using float_oracle::round_to;
using Values = std::vector<std::uint64_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kCanonical = 0x7fffffffu;

/// The bits of an f32 result.
template <class... T>
std::uint32_t on(std::string_view opcode, T... operands) {
  return run_lane<std::uint32_t>(opcode, operands...);
}
template <class... T>
std::uint64_t on_double(std::string_view opcode, T... operands) {
  return run_lane<std::uint64_t>(opcode, operands...);
}

// ---- f32 against the host ----

struct HostRounding {
  const char* name;
  int mode;
};
const HostRounding kRoundings[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

/// The function of volatile floats under the host's rounding. NaN becomes canonical.
template <class F>
std::uint64_t on_host(int mode, F function, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const auto float_of = [](std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  };
  const volatile float x = float_of(a), y = float_of(b), z = float_of(c);
  std::fesetround(mode);
  const volatile float result = function(x, y, z);
  std::fesetround(FE_TONEAREST);
  const float value = result;
  return std::isnan(value) ? kCanonical : std::bit_cast<std::uint32_t>(value);
}

struct Triples {
  Values a, b, c;
};
/// All pairs of special values, and random numbers of near and of any exponents.
Triples make_triples() {
  const Values special = float_oracle::special_values(kSingle);
  Triples result;
  std::mt19937 random(5);
  const auto add = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    result.a.push_back(a), result.b.push_back(b), result.c.push_back(c);
  };
  for (const std::uint64_t a : special)
    for (const std::uint64_t b : special) add(a, b, special[random() % special.size()]);
  for (int i = 0; i < 20000; ++i) add(random(), random(), random());
  for (int i = 0; i < 20000; ++i) {
    const auto near_one = [&] { return (random() & 0x87ffffffu) | 0x38000000u; };
    add(near_one(), near_one(), near_one());
  }
  return result;
}
const Triples& triples() {
  static const Triples result = make_triples();
  return result;
}

TEST(FloatArithmetic, AddsSubtractsAndMultipliesAsTheHost) {
  const auto& [a, b, c] = triples();
  for (const auto& [name, mode] : kRoundings) {
    const auto host = [mode = mode](auto function) {
      return [=](std::uint64_t x, std::uint64_t y) { return on_host(mode, function, x, y, 0); };
    };
    const std::string suffix = std::string(".") + name + ".f32";
    expect_results("add" + suffix, host([](float x, float y, float) { return x + y; }), a, b);
    expect_results("sub" + suffix, host([](float x, float y, float) { return x - y; }), a, b);
    expect_results("mul" + suffix, host([](float x, float y, float) { return x * y; }), a, b);
    expect_results("div" + suffix, host([](float x, float y, float) { return x / y; }), a, b);
  }
}

TEST(FloatArithmetic, FusesMultiplyAndAddAsTheHost) {
  const auto& [a, b, c] = triples();
  for (const auto& [name, mode] : kRoundings) {
    const auto host = [mode = mode](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
      return on_host(
          mode, [](float p, float q, float r) { return std::fma(p, q, r); }, x, y, z);
    };
    expect_results(std::string("fma.") + name + ".f32", host, a, b, c);
    expect_results(std::string("mad.") + name + ".f32", host, a, b, c);
  }
}

TEST(FloatArithmetic, TakesRootsAndReciprocalsAsTheHost) {
  const Values& a = triples().a;
  for (const auto& [name, mode] : kRoundings) {
    const auto host = [mode = mode](auto function) {
      return [=](std::uint64_t x) { return on_host(mode, function, x, 0, 0); };
    };
    const std::string suffix = std::string(".") + name + ".f32";
    expect_results("sqrt" + suffix, host([](float x, float, float) { return std::sqrt(x); }), a);
    expect_results("rcp" + suffix, host([](float x, float, float) { return 1 / x; }), a);
  }
}

TEST(FloatArithmetic, RoundsPlainOpcodesToNearest) {
  EXPECT_EQ(on("add.f32", 1.0f, 0x1p-24f), 0x3f800000u);
  EXPECT_EQ(on("add.f32", 0x1.000002p0f, 0x1p-24f), 0x3f800002u);
  EXPECT_EQ(on("sub.f32", 1.0f, 0x1p-26f), 0x3f800000u);
  EXPECT_EQ(on("mul.f32", 3.0f, 0x1.555556p-2f), 0x3f800000u);
  EXPECT_EQ(on_double("add.f64", 1.0, 0x1p-53), 0x3ff0000000000000u);
  EXPECT_EQ(on_double("sub.f64", 1.0, 0x1p-55), 0x3ff0000000000000u);
  EXPECT_EQ(on_double("mul.f64", 1.5, 3.0), 0x4012000000000000u);
}

// ---- f32 special values ----

TEST(FloatArithmetic, RoundsInEachDirection) {
  EXPECT_EQ(on("add.rz.f32", 1.0f, -0x1p-60f), 0x3f7fffffu);
  EXPECT_EQ(on("add.rm.f32", 1.0f, -0x1p-60f), 0x3f7fffffu);
  EXPECT_EQ(on("add.rp.f32", 1.0f, 0x1p-60f), 0x3f800001u);
  EXPECT_EQ(on("div.rm.f32", 1.0f, 3.0f), 0x3eaaaaaau);
  EXPECT_EQ(on("div.rp.f32", 1.0f, 3.0f), 0x3eaaaaabu);
  EXPECT_EQ(on("sqrt.rm.f32", 2.0f), 0x3fb504f3u);
  EXPECT_EQ(on("sqrt.rp.f32", 2.0f), 0x3fb504f4u);
  EXPECT_EQ(on("mul.rp.f32", 0x1p-149f, 0x1p-149f), 1u);
  EXPECT_EQ(on("mul.rm.f32", 0x1p-149f, -0x1p-149f), 0x80000001u);
  EXPECT_EQ(on("mul.rz.f32", 0x1p127f, 2.0f), 0x7f7fffffu);
  EXPECT_EQ(on("mul.rp.f32", 0x1p127f, -2.0f), 0xff7fffffu);
  EXPECT_EQ(on("mul.rm.f32", 0x1p127f, -2.0f), 0xff800000u);
}

TEST(FloatArithmetic, GivesExactZeroItsSign) {
  EXPECT_EQ(on("add.rn.f32", 1.0f, -1.0f), 0u);
  EXPECT_EQ(on("add.rm.f32", 1.0f, -1.0f), 0x80000000u);
  EXPECT_EQ(on("sub.rm.f32", 1.0f, 1.0f), 0x80000000u);
  EXPECT_EQ(on("add.rm.f32", 0.0f, 0.0f), 0u);
  EXPECT_EQ(on("add.rn.f32", -0.0f, -0.0f), 0x80000000u);
  EXPECT_EQ(on("fma.rm.f32", 1.0f, 1.0f, -1.0f), 0x80000000u);
  EXPECT_EQ(on("fma.rn.f32", -0.0f, 1.0f, 0.0f), 0u);
  EXPECT_EQ(on_double("add.rm.f64", 1.0, -1.0), 0x8000000000000000u);
}

TEST(FloatArithmetic, FusesWithoutRoundingTheProduct) {
  EXPECT_EQ(on("fma.rn.f32", 0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f), 0x28800000u);
  EXPECT_EQ(on("fma.rn.f32", 0x1p127f, 2.0f, -0x1p127f), 0x7f000000u);
  EXPECT_EQ(on("fma.rm.f32", 1.0f, 1.0f, -0x1p-149f), 0x3f7fffffu);
  EXPECT_EQ(on_double("fma.rn.f64", 1 + 0x1p-52, 1 + 0x1p-52, -(1 + 0x1p-51)), 0x3970000000000000u);
}

TEST(FloatArithmetic, ReturnsTheCanonicalNan) {
  EXPECT_EQ(on("add.rn.f32", 0xffc12345u, 1.0f), kCanonical);
  EXPECT_EQ(on("add.rn.f32", kInfinity, -kInfinity), kCanonical);
  EXPECT_EQ(on("mul.rn.f32", kInfinity, 0.0f), kCanonical);
  EXPECT_EQ(on("fma.rm.f32", 0.0f, kInfinity, 1.0f), kCanonical);
  EXPECT_EQ(on("div.rn.f32", 0.0f, 0.0f), kCanonical);
  EXPECT_EQ(on("sqrt.rn.f32", -1.0f), kCanonical);
  EXPECT_EQ(on("neg.f32", 0x7fc00001u), kCanonical);
  EXPECT_EQ(on("abs.f32", 0xffc00001u), kCanonical);
}

TEST(FloatArithmetic, FlushesSubnormalOperandsAndResults) {
  EXPECT_EQ(on("add.rn.ftz.f32", 0x1p-127f, 0x1p-126f), 0x00800000u);
  EXPECT_EQ(on("sub.ftz.f32", 0x1.8p-126f, 0x1p-126f), 0u);
  EXPECT_EQ(on("mul.rn.ftz.f32", -0x1p-126f, 0.5f), 0x80000000u);
  EXPECT_EQ(on("fma.rn.ftz.f32", 0x1p-149f, 0x1p100f, -0.0f), 0u);
  EXPECT_EQ(on("div.rn.ftz.f32", 1.0f, -0x1p-127f), 0xff800000u);
  EXPECT_EQ(on("sqrt.rn.ftz.f32", -0x1p-149f), 0x80000000u);
  EXPECT_EQ(on("abs.ftz.f32", -0x1p-149f), 0u);
  EXPECT_EQ(on("neg.ftz.f32", 0x1p-149f), 0x80000000u);
  EXPECT_EQ(on("min.ftz.f32", 0x1p-149f, 1.0f), 0u);
  EXPECT_EQ(on("max.ftz.f32", -0x1p-149f, -1.0f), 0x80000000u);
  EXPECT_EQ(on("mul.rn.f32", -0x1p-126f, 0.5f), 0x80400000u);
}

TEST(FloatArithmetic, SaturatesToTheUnitInterval) {
  EXPECT_EQ(on("add.sat.f32", 1.0f, 1.0f), 0x3f800000u);
  EXPECT_EQ(on("sub.rn.sat.f32", 1.0f, 2.0f), 0u);
  EXPECT_EQ(on("mul.sat.f32", -0.0f, 1.0f), 0u);
  EXPECT_EQ(on("mul.sat.f32", 0.5f, 0.5f), 0x3e800000u);
  EXPECT_EQ(on("fma.rn.sat.f32", kNan, 1.0f, 1.0f), 0u);
  EXPECT_EQ(on("mad.rp.ftz.sat.f32", 0x1p-149f, 1.0f, 0.0f), 0u);
}

/// The result of an opcode of one to three operands, all 32 lanes of which are equal.
std::uint64_t result_of(const Semantics& row, std::span<const std::uint64_t> operands) {
  std::array<WarpRegister, 3> registers = {};
  for (std::size_t i = 0; i < operands.size(); ++i) registers[i].fill(operands[i]);
  return run_warp(row, std::span(registers).first(operands.size()))[0];
}

/// `.ftz` flushes the operands and the result of the opcode without it, then `.sat` clamps.
TEST(FloatArithmetic, AppliesModifiersToTheRoundedResult) {
  const Values special = float_oracle::special_values(kSingle);
  int rows = 0;
  for (const Semantics& row : float_semantics()) {
    const float_oracle::PlainOpcode plain = float_oracle::without_modifiers(row.opcode);
    if (!plain.is_changed() || !row.opcode.ends_with(".f32")) continue;
    ++rows;
    const Semantics* base = find_semantics(plain.text);
    ASSERT_NE(base, nullptr) << row.opcode;
    const auto count = static_cast<std::size_t>(row.operand_count());
    for (std::size_t i = 0; i < 4 * special.size(); ++i) {
      const auto at = [&](std::size_t step) { return special[i * step % special.size()]; };
      const std::uint64_t operands[] = {at(1), at(7), at(13)};
      std::uint64_t flushed[3];
      for (int k = 0; k < 3; ++k)
        flushed[k] = plain.ftz && kSingle.is_subnormal(operands[k]) ? operands[k] & 0x80000000u
                                                                    : operands[k];
      const std::uint64_t rounded = result_of(*base, std::span(flushed).first(count));
      ASSERT_EQ(result_of(row, std::span(operands).first(count)),
                float_oracle::with_modifiers(kSingle, plain, rounded, 0x3f800000u))
          << row.opcode << std::hex << " " << operands[0] << " " << operands[1] << " "
          << operands[2];
    }
  }
  EXPECT_EQ(rows, 91);
}

TEST(FloatArithmetic, DividesByZero) {
  EXPECT_EQ(on("rcp.rn.f32", -0.0f), 0xff800000u);
  EXPECT_EQ(on("rcp.rn.f32", -kInfinity), 0x80000000u);
  EXPECT_EQ(on("div.rz.f32", 1.0f, 0.0f), 0x7f800000u);
  EXPECT_EQ(on("sqrt.rn.f32", -0.0f), 0x80000000u);
  EXPECT_EQ(on_double("rcp.rn.f64", -0.0), 0xfff0000000000000u);
}

// ---- Signs, minimum and maximum, properties ----

TEST(FloatArithmetic, ChangesSigns) {
  EXPECT_EQ(on("neg.f32", 0.0f), 0x80000000u);
  EXPECT_EQ(on("abs.f32", -kInfinity), 0x7f800000u);
  EXPECT_EQ(on("copysign.f32", -0.0f, 3.0f), 0xc0400000u);
  EXPECT_EQ(on("copysign.f32", 1.0f, 0xffc12345u), 0x7fc12345u);
  EXPECT_EQ(on_double("copysign.f64", -1.0, 0.0), 0x8000000000000000u);
  EXPECT_EQ(on_double("neg.f64", 0.0), 0x8000000000000000u);
  EXPECT_EQ(on_double("abs.f64", 0xfff8000000000001ull), 0xfff8000000000001u);
  EXPECT_EQ(on_double("abs.f64", -2.0), 0x4000000000000000u);
}

TEST(FloatArithmetic, PrefersNumbersToNan) {
  EXPECT_EQ(on("min.f32", kNan, 1.0f), 0x3f800000u);
  EXPECT_EQ(on("max.f32", -1.0f, kNan), 0xbf800000u);
  EXPECT_EQ(on("max.f32", 0xffc00001u, 0x7fc00001u), kCanonical);
  EXPECT_EQ(on("min.NaN.f32", kNan, 1.0f), kCanonical);
  EXPECT_EQ(on("max.NaN.f32", 1.0f, 0xff800001u), kCanonical);
  EXPECT_EQ(on("max.NaN.f32", 1.0f, kInfinity), 0x7f800000u);
  EXPECT_EQ(on_double("max.f64", std::nan(""), -1.0), 0xbff0000000000000u);
}

TEST(FloatArithmetic, OrdersZerosBySign) {
  EXPECT_EQ(on("min.f32", 0.0f, -0.0f), 0x80000000u);
  EXPECT_EQ(on("min.f32", -0.0f, 0.0f), 0x80000000u);
  EXPECT_EQ(on("max.f32", -0.0f, 0.0f), 0u);
  EXPECT_EQ(on("max.NaN.f32", 0.0f, -0.0f), 0u);
  EXPECT_EQ(on_double("min.f64", 0.0, -0.0), 0x8000000000000000u);
  EXPECT_EQ(on("min.f32", 2.0f, 1.0f), 0x3f800000u);
  EXPECT_EQ(on("max.f32", 2.0f, 1.0f), 0x40000000u);
}

TEST(FloatArithmetic, TakesTheSignByXor) {
  EXPECT_EQ(on("max.xorsign.abs.f32", -2.0f, 1.0f), 0xc0000000u);
  EXPECT_EQ(on("min.xorsign.abs.f32", -2.0f, -1.0f), 0x3f800000u);
  EXPECT_EQ(on("min.xorsign.abs.f32", 2.0f, -1.0f), 0xbf800000u);
  EXPECT_EQ(on("max.xorsign.abs.f32", kNan, -1.0f), 0xbf800000u);
  EXPECT_EQ(on("max.xorsign.abs.f32", -kNan, -1.0f), 0x3f800000u);
  EXPECT_EQ(on("max.NaN.xorsign.abs.f32", -2.0f, kNan), kCanonical);
  EXPECT_EQ(on("min.ftz.xorsign.abs.f32", -0x1p-149f, 1.0f), 0x80000000u);
}

TEST(FloatArithmetic, TestsProperties) {
  struct Case {
    double value;
    bool is_finite, is_infinite, is_number, is_normal, is_subnormal_single, is_subnormal_double;
  };
  const Case cases[] = {{1.0, true, false, true, true, false, false},
                        {-0.0, true, false, true, true, false, false},
                        {0x1p-149, true, false, true, true, true, false},
                        {-kDoubleInfinity, false, true, true, false, false, false},
                        {std::nan(""), false, false, false, false, false, false},
                        {0x1p-1074, true, false, true, false, false, true}};
  for (const Case& c : cases) {
    EXPECT_EQ(run_lane<bool>("testp.finite.f64", c.value), c.is_finite) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.infinite.f64", c.value), c.is_infinite) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.number.f64", c.value), c.is_number) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.notanumber.f64", c.value), !c.is_number) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.normal.f64", c.value), c.is_normal) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.subnormal.f64", c.value), c.is_subnormal_double) << c.value;
    const auto single = static_cast<float>(c.value);
    if (single == 0 && c.value != 0) continue;
    EXPECT_EQ(run_lane<bool>("testp.finite.f32", single), c.is_finite) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.infinite.f32", single), c.is_infinite) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.number.f32", single), c.is_number) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.notanumber.f32", single), !c.is_number) << c.value;
    EXPECT_EQ(run_lane<bool>("testp.normal.f32", single), c.is_normal && !c.is_subnormal_single)
        << c.value;
    EXPECT_EQ(run_lane<bool>("testp.subnormal.f32", single), c.is_subnormal_single) << c.value;
  }
}

// ---- f64 ----

TEST(FloatArithmetic, RoundsDoublesInEachDirection) {
  EXPECT_EQ(on_double("add.rz.f64", 1.0, -0x1p-200), 0x3fefffffffffffffu);
  EXPECT_EQ(on_double("add.rm.f64", -1.0, -0x1p-200), 0xbff0000000000001u);
  EXPECT_EQ(on_double("sub.rp.f64", 1.0, -0x1p-200), 0x3ff0000000000001u);
  EXPECT_EQ(on_double("mul.rp.f64", 0x1p-1074, 0x1p-1074), 1u);
  EXPECT_EQ(on_double("mul.rz.f64", 0x1p1023, -2.0), 0xffefffffffffffffu);
  EXPECT_EQ(on_double("div.rm.f64", 1.0, 3.0), 0x3fd5555555555555u);
  EXPECT_EQ(on_double("div.rp.f64", 1.0, 3.0), 0x3fd5555555555556u);
  EXPECT_EQ(on_double("rcp.rp.f64", -3.0), 0xbfd5555555555555u);
  EXPECT_EQ(on_double("sqrt.rm.f64", 2.0), 0x3ff6a09e667f3bccu);
  EXPECT_EQ(on_double("sqrt.rp.f64", 2.0), 0x3ff6a09e667f3bcdu);
  EXPECT_EQ(on_double("fma.rm.f64", 1.0, 1.0, -0x1p-1074), 0x3fefffffffffffffu);
  EXPECT_EQ(on_double("mad.rp.f64", 1.0, 1.0, 0x1p-1074), 0x3ff0000000000001u);
  EXPECT_EQ(on_double("mad.rz.f64", 1.0, 1.0, 0x1p-1074), 0x3ff0000000000000u);
}

TEST(FloatArithmetic, LeavesTheRoundingOfTheHost) {
  on_double("div.rp.f64", 1.0, 3.0);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

/// A number of at most `bits` bits between 1 and 16, of any sign.
double short_double(std::mt19937_64& random, int bits) {
  const double mantissa =
      static_cast<double>((random() >> (64 - bits)) | 1) * std::ldexp(1.0, -bits);
  return std::ldexp(random() & 1 ? mantissa : -mantissa, 1 + static_cast<int>(random() % 4));
}

/// Sums of such numbers, and of products of numbers of 29 bits, are exact in long double.
TEST(FloatArithmetic, RoundsDoublesAsTheOracle) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const double a = short_double(random, 53), b = short_double(random, 53);
    const double x = short_double(random, 29), y = short_double(random, 29), z = -x * y;
    const long double product = static_cast<long double>(x) * y;
    for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
      const std::string suffix = "." + rounding + ".f64";
      const auto expected = [&](long double exact) {
        return round_to(float_oracle::kDouble, exact, rounding);
      };
      EXPECT_EQ(on_double("add" + suffix, a, b), expected(static_cast<long double>(a) + b));
      EXPECT_EQ(on_double("sub" + suffix, a, b), expected(static_cast<long double>(a) - b));
      EXPECT_EQ(on_double("mul" + suffix, x, y), expected(product));
      EXPECT_EQ(on_double("fma" + suffix, x, y, z + 1), expected(product + (z + 1)));
      EXPECT_EQ(on_double("mad" + suffix, x, y, a), expected(product + a));
    }
  }
}

/// The four results of an f64 opcode.
struct DoubleResults {
  double nearest, inward, down, up;
};
template <class... T>
DoubleResults all_roundings(const std::string& base, T... operands) {
  const auto result = [&](const char* rounding) {
    return run_lane<double>(base + "." + rounding + ".f64", operands...);
  };
  return {result("rn"), result("rz"), result("rm"), result("rp")};
}
/// `excess(r)` has the sign of the exact value minus r.
template <class F>
void expect_brackets(const DoubleResults& results, double nearest, F excess) {
  EXPECT_EQ(results.nearest, nearest);
  EXPECT_EQ(results.inward, nearest > 0 ? results.down : results.up);
  EXPECT_GE(excess(results.down), 0);
  EXPECT_LE(excess(results.up), 0);
  EXPECT_EQ(results.up, excess(results.down) == 0 ? results.down
                                                  : std::nextafter(results.down, kDoubleInfinity));
}

TEST(FloatArithmetic, BracketsDoubleQuotientsAndRoots) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    const double a = short_double(random, 53), b = short_double(random, 53);
    const double c = std::fabs(a), sign = b < 0 ? -1 : 1;
    expect_brackets(all_roundings("div", a, b), a / b,
                    [&](double r) { return sign * std::fma(-r, b, a); });
    expect_brackets(all_roundings("rcp", b), 1 / b,
                    [&](double r) { return sign * std::fma(-r, b, 1.0); });
    expect_brackets(all_roundings("sqrt", c), std::sqrt(c),
                    [&](double r) { return std::fma(-r, r, c); });
  }
}

TEST(FloatArithmetic, KeepsThePayloadOfTheFirstDoubleNan) {
  EXPECT_EQ(on_double("add.rn.f64", 0xfff8000000000123ull, 1.0), 0xfff8000000000123u);
  EXPECT_EQ(on_double("mul.rn.f64", 1.0, 0x7ff0000000000123ull), 0x7ff8000000000123u);
  EXPECT_EQ(on_double("fma.rp.f64", 1.0, 0x7ff8000000000001ull, 0x7ff8000000000002ull),
            0x7ff8000000000001u);
  EXPECT_EQ(on_double("add.rn.f64", kDoubleInfinity, -kDoubleInfinity), 0xfff8000000000000u);
}

// ---- Pairs of f32 ----

TEST(FloatArithmetic, ComputesPairsByHalves) {
  const std::uint64_t values[] = {0x3f800000u, 0x80000001u, 0x7fc00000u, 0xc0490fdbu, 0x00800000u};
  int rows = 0;
  for (const Semantics& row : float_semantics()) {
    if (!row.opcode.ends_with("x2")) continue;
    ++rows;
    const std::string_view scalar = row.opcode.substr(0, row.opcode.size() - 2);
    const bool has_three = row.operand_count() == 3;
    for (const std::uint64_t x : values)
      for (const std::uint64_t y : values) {
        const std::uint64_t a = x << 32 | y, b = y << 32 | 0x3f800001u, c = 0x34000000bf800000u;
        const std::uint64_t both =
            has_three ? on_double(row.opcode, a, b, c) : on_double(row.opcode, a, b);
        const auto half = [&](int shift) -> std::uint64_t {
          const auto p = static_cast<std::uint32_t>(a >> shift);
          const auto q = static_cast<std::uint32_t>(b >> shift);
          const auto r = static_cast<std::uint32_t>(c >> shift);
          return has_three ? on(scalar, p, q, r) : on(scalar, p, q);
        };
        EXPECT_EQ(both, half(32) << 32 | half(0)) << row.opcode;
      }
  }
  EXPECT_EQ(rows, 38);
  EXPECT_EQ(on_double("add.rn.f32x2", 0x3f80000040000000ull, 0x3f800000bf800000ull),
            0x400000003f800000u);
}

TEST(FloatArithmetic, NamesTheSectionOfEachRow) {
  for (const Semantics& row : float_semantics())
    EXPECT_TRUE(row.section.starts_with("9.7.3.")) << row.opcode;
}

}  // namespace
}  // namespace sinter::virtual_gpu::float_test
