// Comparisons of special values (NaN, zeros, subnormals, ends of integers), and selections.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/virtual_gpu/isa/integer_types.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"

namespace sinter::virtual_gpu::comparison_test {
namespace {

using namespace integer_types;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

bool operator==(PredicatePair a, PredicatePair b) {
  return a.first == b.first && a.second == b.second;
}

/// The comparison operators, with their results if a < b, a == b, a > b, or one is NaN.
struct Truth {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Truth kOrdered[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false},
};
constexpr Truth kUnsigned[] = {
    {"lo", true, false, false, false},
    {"ls", true, true, false, false},
    {"hi", false, false, true, false},
    {"hs", false, true, true, false},
};
constexpr Truth kFloat[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false},
    {"equ", false, true, false, true}, {"neu", true, false, true, true},
    {"ltu", true, false, false, true}, {"leu", true, true, false, true},
    {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},  {"nan", false, false, false, true},
};

/// Checks `setp` and its forms with a predicate operand.
template <class T>
void expect(const std::string& name, const std::string& type, T a, T b, bool result) {
  const auto check = [&](const std::string& combination, bool c, PredicatePair expected) {
    const std::string opcode = "setp." + name + "." + combination + type;
    const PredicatePair pair = combination.empty() ? run_lane<PredicatePair>(opcode, a, b)
                                                   : run_lane<PredicatePair>(opcode, a, b, c);
    EXPECT_TRUE(pair == expected) << opcode << " " << c << " gives " << pair.first << ", "
                                  << pair.second;
  };
  check("", false, {result, !result});
  check("and.", true, {result, !result});
  check("and.", false, {false, false});
  check("or.", false, {result, !result});
  check("or.", true, {true, true});
  check("xor.", false, {result, !result});
  check("xor.", true, {!result, result});
}

/// `small` < `large`.
template <class T>
void expect_order(std::span<const Truth> operators, const std::string& type, T small, T large) {
  for (const Truth& truth : operators) {
    expect(truth.name, type, small, large, truth.less);
    expect(truth.name, type, large, small, truth.greater);
    expect(truth.name, type, large, large, truth.equal);
    expect(truth.name, type, small, small, truth.equal);
  }
}
template <class T>
void expect_equal(std::span<const Truth> operators, const std::string& type, T a, T b) {
  for (const Truth& truth : operators) expect(truth.name, type, a, b, truth.equal);
}
template <class T>
void expect_unordered(const std::string& type, T number, T nan) {
  for (const Truth& truth : kFloat) {
    expect(truth.name, type, number, nan, truth.unordered);
    expect(truth.name, type, nan, number, truth.unordered);
    expect(truth.name, type, nan, nan, truth.unordered);
  }
}

TEST(Comparison, SignedIntegersOrderByTheirSign) {
  expect_order<s16>(kOrdered, "s16", -0x8000, 0x7fff);
  expect_order<s32>(kOrdered, "s32", INT32_MIN, INT32_MAX);
  expect_order<s32>(kOrdered, "s32", -1, 0);
  expect_order<s64>(kOrdered, "s64", INT64_MIN, INT64_MAX);
  expect_order<s64>(kOrdered, "s64", s64{1}, s64{1} << 32);
}

TEST(Comparison, UnsignedIntegersHaveNoSign) {
  for (const std::span<const Truth> operators :
       {std::span<const Truth>(kOrdered), std::span<const Truth>(kUnsigned)}) {
    expect_order<u16>(operators, "u16", 0x7fff, 0x8000);
    expect_order<u32>(operators, "u32", 0x7fffffffu, 0x80000000u);
    expect_order<u64>(operators, "u64", u64{1} << 62, u64{1} << 63);
  }
}

TEST(Comparison, BitsAreEqualOrNot) {
  const std::span<const Truth> equality = std::span<const Truth>(kOrdered).first(2);
  expect_order<b16>(equality, "b16", 0x7fff, 0xffff);
  expect_order<b32>(equality, "b32", 0x7fffffffu, 0xffffffffu);
  expect_order<b64>(equality, "b64", b64{1}, b64{1} << 63 | 1);
}

TEST(Comparison, FloatsOrderByTheirValue) {
  expect_order(kFloat, "f32", -kInf, kInf);
  expect_order(kFloat, "f32", -2.0f, -1.0f);
  expect_order(kFloat, "f32", 0.0f, kDenormal);
  expect_equal(kFloat, "f32", -0.0f, 0.0f);
  expect_unordered("f32", 1.0f, kNan);
  expect_order(kFloat, "f64", -1.0, 5e-324);
  expect_equal(kFloat, "f64", -0.0, 0.0);
  expect_unordered("f64", 1.0, std::numeric_limits<double>::quiet_NaN());
}

TEST(Comparison, FtzFlushesSubnormalOperands) {
  expect_equal(kFloat, "ftz.f32", -kDenormal, kDenormal);
  expect_equal(kFloat, "ftz.f32", 0.0f, 1.17549421e-38f);
  expect_order(kFloat, "ftz.f32", 0.0f, std::numeric_limits<float>::min());
  expect_unordered("ftz.f32", kDenormal, kNan);
  expect_equal(kFloat, "ftz.f16", u16{0x83ff}, u16{0x03ff});
  expect_order(kFloat, "ftz.f16", u16{0x03ff}, u16{0x0400});
  expect_unordered("ftz.f16", u16{0x0001}, u16{0xfe00});
}

TEST(Comparison, HalvesOrderByTheirValue) {
  expect_order(kFloat, "f16", u16{0xfc00}, u16{0x7c00});  // -inf, inf
  expect_order(kFloat, "f16", u16{0xc000}, u16{0xbc00});  // -2, -1
  expect_order(kFloat, "f16", u16{0x8001}, u16{0x0001});  // subnormals
  expect_equal(kFloat, "f16", u16{0x8000}, u16{0x0000});  // zeros
  expect_unordered("f16", u16{0x3c00}, u16{0x7c01});
  expect_order(kFloat, "bf16", u16{0xff80}, u16{0x7f80});
  expect_order(kFloat, "bf16", u16{0xc000}, u16{0xbf80});
  expect_order(kFloat, "bf16", u16{0x0000}, u16{0x0001});
  expect_equal(kFloat, "bf16", u16{0x8000}, u16{0x0000});
  expect_unordered("bf16", u16{0x7f80}, u16{0x7f81});
}

TEST(Comparison, PairsHaveAPredicateForEachHalf) {
  // Low halves: 1 < 2. High halves: 2 > 1 for both formats, or NaN.
  const auto lt = [](const char* opcode, u32 a, u32 b) {
    return run_lane<PredicatePair>(opcode, a, b);
  };
  EXPECT_TRUE(lt("setp.lt.f16x2", 0x40003c00u, 0x3c004000u) == (PredicatePair{true, false}));
  EXPECT_TRUE(lt("setp.ge.f16x2", 0x40003c00u, 0x3c004000u) == (PredicatePair{false, true}));
  EXPECT_TRUE(lt("setp.nan.f16x2", 0x7e003c00u, 0x3c004000u) == (PredicatePair{false, true}));
  EXPECT_TRUE(lt("setp.eq.ftz.f16x2", 0x00013c00u, 0x80004000u) == (PredicatePair{false, true}));
  EXPECT_TRUE(lt("setp.lt.bf16x2", 0x40003f80u, 0x3f804000u) == (PredicatePair{true, false}));
  EXPECT_TRUE(lt("setp.neu.bf16x2", 0x7fc03f80u, 0x3f803f80u) == (PredicatePair{false, true}));
  EXPECT_TRUE(run_lane<PredicatePair>("setp.lt.xor.f16x2", 0x40003c00u, 0x3c004000u, true) ==
              (PredicatePair{false, true}));
}

TEST(Comparison, TheSinkTakesNoResult) {
  const Semantics* setp = find_semantics("setp.lt.s32");
  ASSERT_NE(setp, nullptr);
  std::array<std::byte, 512> registers = {};
  Operation operation{.execute = setp->execute};
  operation.results = {kNoSlot, 256};
  operation.operands = {0, 128};
  LaneState state{.registers = registers.data(), .mask = 0x0000ff00u};
  setp->execute(state, operation);
  std::uint32_t second = 0;
  std::memcpy(&second, registers.data() + 256, sizeof second);
  EXPECT_EQ(second, 0x0000ff00u);  // 0 < 0 is false, its complement true
}

TEST(Comparison, TheNegatedPredicateIsComplemented) {
  const auto run = [](const char* opcode, bool c) {
    return run_lane_negating<PredicatePair>(4, opcode, 1, 2, c);
  };
  EXPECT_TRUE(run("setp.lt.and.s32", false) == (PredicatePair{true, false}));
  EXPECT_TRUE(run("setp.lt.and.s32", true) == (PredicatePair{false, false}));
  EXPECT_TRUE(run("setp.lt.or.s32", false) == (PredicatePair{true, true}));
}

TEST(Comparison, SetWritesAllOnesOrOne) {
  EXPECT_EQ(run_lane<u32>("set.lt.u32.s32", -1, 0), 0xffffffffu);
  EXPECT_EQ(run_lane<u32>("set.lt.u32.u32", 0xffffffffu, 0u), 0u);
  EXPECT_EQ(run_lane<s32>("set.eq.s32.b64", b64{1} << 32, b64{1} << 32), -1);
  EXPECT_EQ(run_lane<float>("set.gt.f32.f32", 2.0f, 1.0f), 1.0f);
  EXPECT_EQ(run_lane<float>("set.gtu.f32.f64", 2.0, 3.0), 0.0f);
  EXPECT_EQ(run_lane<u32>("set.nan.u32.f32", kNan, 1.0f), 0xffffffffu);
  EXPECT_EQ(run_lane<u32>("set.eq.ftz.u32.f32", kDenormal, 0.0f), 0xffffffffu);
  EXPECT_EQ(run_lane<u32>("set.hi.u32.u16", u16{0x8000}, u16{1}), 0xffffffffu);
}

TEST(Comparison, SetOfHalvesWritesTheirOne) {
  EXPECT_EQ(run_lane<u16>("set.lt.f16.f16", u16{0x3c00}, u16{0x4000}), 0x3c00);
  EXPECT_EQ(run_lane<u16>("set.lt.bf16.bf16", u16{0x3f80}, u16{0x4000}), 0x3f80);
  EXPECT_EQ(run_lane<u16>("set.lt.u16.f16", u16{0x3c00}, u16{0x4000}), 0xffff);
  EXPECT_EQ(run_lane<s16>("set.ge.s16.f16", u16{0x3c00}, u16{0x4000}), 0);
  EXPECT_EQ(run_lane<u32>("set.lt.u32.bf16", u16{0x3f80}, u16{0x4000}), 0xffffffffu);
  EXPECT_EQ(run_lane<u32>("set.lt.f16x2.f16x2", 0x40003c00u, 0x3c004000u), 0x00003c00u);
  EXPECT_EQ(run_lane<u32>("set.ge.f16x2.f16x2", 0x40003c00u, 0x3c004000u), 0x3c000000u);
  EXPECT_EQ(run_lane<u32>("set.lt.u32.f16x2", 0x40003c00u, 0x3c004000u), 0x0000ffffu);
  EXPECT_EQ(run_lane<u32>("set.ge.bf16x2.bf16x2", 0x40003f80u, 0x3f804000u), 0x3f800000u);
  EXPECT_EQ(run_lane<u32>("set.nan.s32.bf16x2", 0x7fc07fc0u, 0u), 0xffffffffu);
}

TEST(Comparison, SelpCopiesEveryBit) {
  for (const char* opcode : {"selp.b16", "selp.u16", "selp.s16"}) {
    EXPECT_EQ(run_lane<b16>(opcode, b16{0x8001}, b16{2}, true), 0x8001) << opcode;
    EXPECT_EQ(run_lane<b16>(opcode, b16{0x8001}, b16{2}, false), 2) << opcode;
  }
  for (const char* opcode : {"selp.b32", "selp.u32", "selp.s32", "selp.f32"}) {
    EXPECT_EQ(run_lane<b32>(opcode, 0x7f800001u, 2u, true), 0x7f800001u) << opcode;
    EXPECT_EQ(run_lane<b32>(opcode, 1u, 0xff800001u, false), 0xff800001u) << opcode;
    EXPECT_EQ(run_lane_negating<b32>(4, opcode, 1u, 2u, false), 1u) << opcode;
  }
  for (const char* opcode : {"selp.b64", "selp.u64", "selp.s64", "selp.f64"}) {
    EXPECT_EQ(run_lane<b64>(opcode, b64{1} << 63, b64{2}, true), b64{1} << 63) << opcode;
    EXPECT_EQ(run_lane<b64>(opcode, b64{1} << 63, b64{2}, false), 2u) << opcode;
  }
}

TEST(Comparison, SlctSelectsByTheSign) {
  const auto expect_slct = []<class T>(const std::string& type, T a, T b) {
    EXPECT_EQ(run_lane<T>("slct." + type + ".s32", a, b, 0), a) << type;
    EXPECT_EQ(run_lane<T>("slct." + type + ".s32", a, b, INT32_MIN), b) << type;
    EXPECT_EQ(run_lane<T>("slct." + type + ".f32", a, b, -0.0f), a) << type;
    EXPECT_EQ(run_lane<T>("slct." + type + ".f32", a, b, -kDenormal), b) << type;
    EXPECT_EQ(run_lane<T>("slct." + type + ".f32", a, b, kNan), b) << type;
    EXPECT_EQ(run_lane<T>("slct.ftz." + type + ".f32", a, b, -kDenormal), a) << type;
    EXPECT_EQ(run_lane<T>("slct.ftz." + type + ".f32", a, b, -1.0f), b) << type;
    EXPECT_EQ(run_lane<T>("slct.ftz." + type + ".f32", a, b, kNan), b) << type;
  };
  for (const char* type : {"b16", "u16", "s16"}) expect_slct(type, b16{0x8001}, b16{2});
  for (const char* type : {"b32", "u32", "s32", "f32"}) expect_slct(type, 0x7f800001u, 2u);
  for (const char* type : {"b64", "u64", "s64", "f64"}) expect_slct(type, b64{1} << 63, b64{2});
}

}  // namespace
}  // namespace sinter::virtual_gpu::comparison_test
