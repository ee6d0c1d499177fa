// Integer arithmetic on special values: wraps, signs, saturation, carries, division by zero.
#include <gtest/gtest.h>

#include "tests/virtual_gpu/isa/integer_types.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"

namespace sinter::virtual_gpu::integer_test {
namespace {

using namespace integer_types;

constexpr s16 kMin16 = -0x8000;
constexpr s16 kMax16 = 0x7fff;
constexpr s32 kMin32 = INT32_MIN;
constexpr s32 kMax32 = INT32_MAX;
constexpr s64 kMin64 = INT64_MIN;
constexpr s64 kMax64 = INT64_MAX;
constexpr u32 kAll32 = 0xffffffffu;
constexpr u64 kAll64 = ~u64{0};

/// Not deduced from the argument: literals convert to the type of the test.
template <class T>
using Of = std::type_identity_t<T>;

template <class R, class T = R>
void expect(std::string_view opcode, Of<T> a, Of<R> result) {
  EXPECT_EQ(run_lane<R>(opcode, a), result) << opcode << " " << a;
}
template <class R, class T = R>
void expect(std::string_view opcode, Of<T> a, Of<T> b, Of<R> result) {
  EXPECT_EQ(run_lane<R>(opcode, a, b), result) << opcode << " " << a << ", " << b;
}
template <class R, class T = R, class C = R>
void expect(std::string_view opcode, Of<T> a, Of<T> b, Of<C> c, Of<R> result) {
  EXPECT_EQ(run_lane<R>(opcode, a, b, c), result) << opcode << " " << a << ", " << b << ", " << c;
}
template <class T>
void expect_carry(std::string_view opcode, bool carry, Of<T> a, Of<T> b, Of<T> result,
                  bool carry_out) {
  const WithCarry<T> outcome = run_lane_with_carry<T>(carry, opcode, a, b);
  EXPECT_EQ(outcome.value, result) << opcode << " " << a << ", " << b << ", " << carry;
  EXPECT_EQ(outcome.carry, carry_out) << opcode << " " << a << ", " << b << ", " << carry;
}
template <class T>
void expect_carry(std::string_view opcode, bool carry, Of<T> a, Of<T> b, Of<T> c, Of<T> result,
                  bool carry_out) {
  const WithCarry<T> outcome = run_lane_with_carry<T>(carry, opcode, a, b, c);
  EXPECT_EQ(outcome.value, result) << opcode << " " << a << ", " << b << ", " << c << ", " << carry;
  EXPECT_EQ(outcome.carry, carry_out)
      << opcode << " " << a << ", " << b << ", " << c << ", " << carry;
}

TEST(Integer, AddWraps) {
  expect<u16>("add.u16", 0xffff, 2, 1);
  expect<s16>("add.s16", kMax16, 1, kMin16);
  expect<u32>("add.u32", kAll32, 2, 1);
  expect<s32>("add.s32", kMax32, 1, kMin32);
  expect<s32>("add.s32", kMin32, -1, kMax32);
  expect<u64>("add.u64", kAll64, 2, 1);
  expect<s64>("add.s64", kMax64, 1, kMin64);
}

TEST(Integer, SubWraps) {
  expect<u16>("sub.u16", 0, 1, 0xffff);
  expect<s16>("sub.s16", kMin16, 1, kMax16);
  expect<u32>("sub.u32", 0, 1, kAll32);
  expect<s32>("sub.s32", kMin32, 1, kMax32);
  expect<s32>("sub.s32", 5, 7, -2);
  expect<u64>("sub.u64", 0, 1, kAll64);
  expect<s64>("sub.s64", kMin64, 1, kMax64);
}

TEST(Integer, SaturationStopsAtTheEnds) {
  expect<s32>("add.sat.s32", kMax32, 1, kMax32);
  expect<s32>("add.sat.s32", kMin32, -1, kMin32);
  expect<s32>("add.sat.s32", kMin32, kMax32, -1);
  expect<s32>("sub.sat.s32", kMin32, 1, kMin32);
  expect<s32>("sub.sat.s32", 0, kMin32, kMax32);
  expect<s32>("sub.sat.s32", 3, 5, -2);
  expect<s32>("mad.hi.sat.s32", kMin32, kMin32, kMax32, kMax32);
  expect<s32>("mad.hi.sat.s32", kMin32, kMax32, kMin32, kMin32);
  expect<s32>("mad.hi.sat.s32", 1 << 16, 1 << 16, 1, 2);
  expect<s32>("mad24.hi.sat.s32", 0x7fffff, 0x7fffff, kMax32, kMax32);
  expect<s32>("mad24.hi.sat.s32", 0x7fffff, -0x800000, kMin32, kMin32);
}

TEST(Integer, MulLoKeepsTheLowHalf) {
  expect<u16>("mul.lo.u16", 0xffff, 0xffff, 1);
  expect<s16>("mul.lo.s16", kMin16, -1, kMin16);
  expect<u32>("mul.lo.u32", 0x10001u, 0x10001u, 0x20001u);
  expect<s32>("mul.lo.s32", kMin32, -1, kMin32);
  expect<s32>("mul.lo.s32", -7, 6, -42);
  expect<u64>("mul.lo.u64", kAll64, kAll64, 1);
  expect<s64>("mul.lo.s64", kMin64, -1, kMin64);
}

TEST(Integer, MulHiKeepsTheHighHalf) {
  expect<u16>("mul.hi.u16", 0xffff, 0xffff, 0xfffe);
  expect<s16>("mul.hi.s16", kMin16, kMin16, 0x4000);
  expect<s16>("mul.hi.s16", -1, 1, -1);
  expect<u32>("mul.hi.u32", kAll32, kAll32, 0xfffffffeu);
  expect<s32>("mul.hi.s32", kMin32, kMin32, 0x40000000);
  expect<s32>("mul.hi.s32", -1, 1, -1);
  expect<u64>("mul.hi.u64", kAll64, kAll64, kAll64 - 1);
  expect<s64>("mul.hi.s64", kMin64, kMin64, s64{1} << 62);
  expect<s64>("mul.hi.s64", -1, 1, -1);
}

TEST(Integer, MulWideIsExact) {
  expect<u32, u16>("mul.wide.u16", 0xffff, 0xffff, 0xfffe0001u);
  expect<s32, s16>("mul.wide.s16", kMin16, kMin16, 0x40000000);
  expect<s32, s16>("mul.wide.s16", kMin16, kMax16, -0x3fff8000);
  expect<u64, u32>("mul.wide.u32", kAll32, kAll32, 0xfffffffe00000001u);
  expect<s64, s32>("mul.wide.s32", kMin32, kMin32, s64{1} << 62);
  expect<s64, s32>("mul.wide.s32", -3, 5, -15);
}

TEST(Integer, MadAddsTheThirdOperand) {
  expect<u16>("mad.lo.u16", 0xffff, 0xffff, 0xffff, 0);
  expect<s16>("mad.lo.s16", kMin16, -1, -1, kMax16);
  expect<u32>("mad.lo.u32", kAll32, kAll32, kAll32, 0);
  expect<s32>("mad.lo.s32", -7, 6, 42, 0);
  expect<s32>("mad.lo.s32", kMax32, 1, 1, kMin32);
  expect<u64>("mad.lo.u64", kAll64, kAll64, kAll64, 0);
  expect<s64>("mad.lo.s64", -7, 6, 43, 1);
  expect<u16>("mad.hi.u16", 0xffff, 0xffff, 3, 1);
  expect<s16>("mad.hi.s16", -1, 1, kMin16, kMax16);
  expect<u32>("mad.hi.u32", kAll32, kAll32, 3, 1);
  expect<s32>("mad.hi.s32", -1, 1, kMin32, kMax32);
  expect<u64>("mad.hi.u64", kAll64, kAll64, 3, 1);
  expect<s64>("mad.hi.s64", -1, 1, kMin64, kMax64);
}

TEST(Integer, MadWideAddsATwiceAsWideOperand) {
  expect<u32, u16, u32>("mad.wide.u16", 0xffff, 0xffff, 0x1ffffu, 0);
  expect<s32, s16, s32>("mad.wide.s16", -1, 1, kMin32, kMax32);
  expect<u64, u32, u64>("mad.wide.u32", kAll32, kAll32, 0x1ffffffffu, 0);
  expect<u64, u32, u64>("mad.wide.u32", 3, 5, u64{1} << 40, (u64{1} << 40) + 15);
  expect<s64, s32, s64>("mad.wide.s32", -1, 1, kMin64, kMax64);
}

TEST(Integer, Mul24ReadsTheLow24Bits) {
  expect<u32>("mul24.lo.u32", 0xff000003u, 5, 15);
  expect<u32>("mul24.lo.u32", 0xffffffu, 0xffffffu, 0xfe000001u);
  expect<u32>("mul24.hi.u32", 0xffffffu, 0xffffffu, 0xfffffe00u);
  expect<s32>("mul24.lo.s32", 0x00ffffff, 5, -5);
  expect<s32>("mul24.hi.s32", -0x800000, -0x800000, 0x40000000);
  expect<s32>("mul24.hi.s32", -1, 1, -1);
  expect<u32>("mad24.lo.u32", 0xffffffu, 0xffffffu, 0x02000000u, 1);
  expect<u32>("mad24.hi.u32", 0xffffffu, 0xffffffu, 0x200u, 0);
  expect<s32>("mad24.lo.s32", -3, 5, 16, 1);
  expect<s32>("mad24.hi.s32", -1, 1, 1, 0);
}

TEST(Integer, SadAddsTheDistance) {
  expect<u16>("sad.u16", 1, 0xffff, 3, 1);
  expect<s16>("sad.s16", kMin16, kMax16, 0, -1);
  expect<u32>("sad.u32", 1, kAll32, 3, 1);
  expect<s32>("sad.s32", -5, 7, 100, 112);
  expect<s32>("sad.s32", 7, -5, 100, 112);
  expect<s32>("sad.s32", kMin32, kMax32, 0, -1);
  expect<u64>("sad.u64", 1, kAll64, 3, 1);
  expect<s64>("sad.s64", -5, 7, 100, 112);
}

TEST(Integer, DivTruncates) {
  expect<u16>("div.u16", 0xffff, 2, 0x7fff);
  expect<s16>("div.s16", -7, 2, -3);
  expect<u32>("div.u32", kAll32, 2, 0x7fffffffu);
  expect<s32>("div.s32", -7, 2, -3);
  expect<s32>("div.s32", 7, -2, -3);
  expect<u64>("div.u64", kAll64, kAll64, 1);
  expect<s64>("div.s64", -7, 2, -3);
}

TEST(Integer, RemHasTheSignOfTheDividend) {
  expect<u16>("rem.u16", 0xffff, 10, 5);
  expect<s16>("rem.s16", -7, 2, -1);
  expect<u32>("rem.u32", kAll32, 10, 5);
  expect<s32>("rem.s32", -7, 2, -1);
  expect<s32>("rem.s32", 7, -2, 1);
  expect<u64>("rem.u64", kAll64, 10, 5);
  expect<s64>("rem.s64", -7, 2, -1);
}

TEST(Integer, DivisionByZeroGivesAllOnes) {
  expect<u16>("div.u16", 7, 0, 0xffff);
  expect<s16>("div.s16", 7, 0, -1);
  expect<u32>("div.u32", 0, 0, kAll32);
  expect<s32>("div.s32", kMin32, 0, -1);
  expect<u64>("div.u64", 7, 0, kAll64);
  expect<s64>("div.s64", 7, 0, -1);
  expect<u16>("rem.u16", 7, 0, 0xffff);
  expect<s16>("rem.s16", 7, 0, -1);
  expect<u32>("rem.u32", 7, 0, kAll32);
  expect<s32>("rem.s32", kMin32, 0, -1);
  expect<u64>("rem.u64", 7, 0, kAll64);
  expect<s64>("rem.s64", 7, 0, -1);
}

TEST(Integer, TheLeastIntegerDividedByMinusOneWraps) {
  expect<s16>("div.s16", kMin16, -1, kMin16);
  expect<s32>("div.s32", kMin32, -1, kMin32);
  expect<s64>("div.s64", kMin64, -1, kMin64);
  expect<s32>("div.s32", 5, -1, -5);
  expect<u32>("div.u32", 0x80000000u, kAll32, 0);
  expect<s16>("rem.s16", kMin16, -1, 0);
  expect<s32>("rem.s32", kMin32, -1, 0);
  expect<s64>("rem.s64", kMin64, -1, 0);
  expect<u32>("rem.u32", 0x80000000u, kAll32, 0x80000000u);
}

TEST(Integer, AbsAndNegOfTheLeastIntegerWrap) {
  expect<s16>("abs.s16", kMin16, kMin16);
  expect<s16>("abs.s16", -3, 3);
  expect<s32>("abs.s32", kMin32, kMin32);
  expect<s32>("abs.s32", -3, 3);
  expect<s32>("abs.s32", kMax32, kMax32);
  expect<s64>("abs.s64", kMin64, kMin64);
  expect<s64>("abs.s64", -3, 3);
  expect<s16>("neg.s16", kMin16, kMin16);
  expect<s16>("neg.s16", 3, -3);
  expect<s32>("neg.s32", kMin32, kMin32);
  expect<s32>("neg.s32", 0, 0);
  expect<s64>("neg.s64", kMin64, kMin64);
  expect<s64>("neg.s64", kMax64, kMin64 + 1);
}

TEST(Integer, MinAndMaxCompareAsTheirTypes) {
  expect<u16>("min.u16", 0x8000, 1, 1);
  expect<s16>("min.s16", kMin16, 1, kMin16);
  expect<u32>("min.u32", 0x80000000u, 1, 1);
  expect<s32>("min.s32", kMin32, 1, kMin32);
  expect<u64>("min.u64", u64{1} << 63, 1, 1);
  expect<s64>("min.s64", kMin64, 1, kMin64);
  expect<u16>("max.u16", 0x8000, 1, 0x8000);
  expect<s16>("max.s16", kMin16, 1, 1);
  expect<u32>("max.u32", 0x80000000u, 1, 0x80000000u);
  expect<s32>("max.s32", kMin32, 1, 1);
  expect<u64>("max.u64", u64{1} << 63, 1, u64{1} << 63);
  expect<s64>("max.s64", kMin64, 1, 1);
  expect<s32>("min.relu.s32", kMin32, 1, 0);
  expect<s32>("min.relu.s32", 3, 2, 2);
  expect<s32>("max.relu.s32", kMin32, -1, 0);
  expect<s32>("max.relu.s32", kMin32, 7, 7);
}

TEST(Integer, PairsHaveNoCarryBetweenTheHalves) {
  expect<u32>("add.u16x2", 0x0001ffffu, 0xffff0001u, 0);
  expect<u32>("add.s16x2", 0x7fff0002u, 0x0001fffeu, 0x80000000u);
  expect<u32>("min.u16x2", 0x80000001u, 0x00018000u, 0x00010001u);
  expect<u32>("min.s16x2", 0x80000001u, 0x00018000u, 0x80008000u);
  expect<u32>("max.u16x2", 0x80000001u, 0x00018000u, 0x80008000u);
  expect<u32>("max.s16x2", 0x80000001u, 0x00018000u, 0x00010001u);
  expect<u32>("min.relu.s16x2", 0x80000003u, 0x00010002u, 0x00000002u);
  expect<u32>("max.relu.s16x2", 0x8000ffffu, 0xffff0005u, 0x00000005u);
}

TEST(Integer, AddWithCarryPropagates) {
  expect_carry<u32>("add.cc.u32", true, kAll32, 1, 0, true);
  expect_carry<s32>("add.cc.s32", true, kMax32, 1, kMin32, false);
  expect_carry<u64>("add.cc.u64", false, kAll64, kAll64, kAll64 - 1, true);
  expect_carry<s64>("add.cc.s64", true, -1, 1, 0, true);
  expect_carry<u32>("addc.u32", true, 2, 3, 6, true);
  expect_carry<u32>("addc.u32", false, kAll32, 3, 2, false);
  expect_carry<s32>("addc.s32", true, -1, 0, 0, true);
  expect_carry<u64>("addc.u64", true, kAll64, 0, 0, true);
  expect_carry<s64>("addc.s64", true, kMax64, 0, kMin64, true);
  expect_carry<u32>("addc.cc.u32", true, kAll32, kAll32, kAll32, true);
  expect_carry<u32>("addc.cc.u32", true, kAll32, 0, 0, true);
  expect_carry<u32>("addc.cc.u32", true, 1, 1, 3, false);
  expect_carry<s32>("addc.cc.s32", true, -1, 0, 0, true);
  expect_carry<u64>("addc.cc.u64", true, kAll64, kAll64, kAll64, true);
  expect_carry<s64>("addc.cc.s64", false, -1, 0, -1, false);
}

TEST(Integer, SubWithBorrowPropagates) {
  expect_carry<u32>("sub.cc.u32", true, 0, 1, kAll32, true);
  expect_carry<u32>("sub.cc.u32", true, 1, 1, 0, false);
  expect_carry<s32>("sub.cc.s32", false, kMin32, 1, kMax32, false);
  expect_carry<u64>("sub.cc.u64", false, 0, kAll64, 1, true);
  expect_carry<s64>("sub.cc.s64", false, 5, -1, 6, true);
  expect_carry<u32>("subc.u32", true, 5, 3, 1, true);
  expect_carry<s32>("subc.s32", false, 5, 3, 2, false);
  expect_carry<u64>("subc.u64", true, 0, 0, kAll64, true);
  expect_carry<s64>("subc.s64", true, 0, 0, -1, true);
  expect_carry<u32>("subc.cc.u32", true, 0, kAll32, 0, true);
  expect_carry<u32>("subc.cc.u32", true, 5, 4, 0, false);
  expect_carry<s32>("subc.cc.s32", true, 0, 0, -1, true);
  expect_carry<u64>("subc.cc.u64", true, 0, kAll64, 0, true);
  expect_carry<s64>("subc.cc.s64", false, 0, 0, 0, false);
}

TEST(Integer, MadWithCarryOutIgnoresTheCarryIn) {
  expect_carry<u32>("mad.lo.cc.u32", true, kAll32, kAll32, kAll32, 0, true);
  expect_carry<s32>("mad.lo.cc.s32", true, -1, 1, 1, 0, true);
  expect_carry<u64>("mad.lo.cc.u64", true, 3, 5, 1, 16, false);
  expect_carry<s64>("mad.lo.cc.s64", true, -1, 1, 1, 0, true);
  expect_carry<u32>("mad.hi.cc.u32", true, kAll32, kAll32, 2, 0, true);
  expect_carry<s32>("mad.hi.cc.s32", true, -1, 1, 1, 0, true);
  expect_carry<u64>("mad.hi.cc.u64", true, kAll64, kAll64, 2, 0, true);
  expect_carry<s64>("mad.hi.cc.s64", true, kMin64, kMin64, 0, s64{1} << 62, false);
}

TEST(Integer, MadWithCarryInAddsIt) {
  expect_carry<u32>("madc.lo.u32", true, 3, 5, 0, 16, true);
  expect_carry<s32>("madc.lo.s32", false, -3, 5, 15, 0, false);
  expect_carry<u64>("madc.lo.u64", true, kAll64, 1, 0, 0, true);
  expect_carry<s64>("madc.lo.s64", true, -3, 5, 14, 0, true);
  expect_carry<u32>("madc.hi.u32", true, kAll32, kAll32, 1, 0, true);
  expect_carry<s32>("madc.hi.s32", true, -1, 1, 0, 0, true);
  expect_carry<u64>("madc.hi.u64", false, kAll64, kAll64, 2, 0, false);
  expect_carry<s64>("madc.hi.s64", true, -1, 1, 0, 0, true);
  expect_carry<u32>("madc.lo.cc.u32", true, kAll32, kAll32, kAll32 - 1, 0, true);
  expect_carry<s32>("madc.lo.cc.s32", true, 1, 1, 1, 3, false);
  expect_carry<u64>("madc.lo.cc.u64", true, 1, kAll64, kAll64, kAll64, true);
  expect_carry<s64>("madc.lo.cc.s64", false, -1, 1, 1, 0, true);
  expect_carry<u32>("madc.hi.cc.u32", true, kAll32, kAll32, 1, 0, true);
  expect_carry<s32>("madc.hi.cc.s32", true, -1, 1, 0, 0, true);
  expect_carry<u64>("madc.hi.cc.u64", true, kAll64, kAll64, 1, 0, true);
  expect_carry<s64>("madc.hi.cc.s64", true, kMin64, kMin64, 0, (s64{1} << 62) + 1, false);
}

TEST(Integer, Dp4aExtendsBytesAsTheirTypes) {
  // 0xff * 0x80 in the highest byte, 2 * 3 in the lowest.
  expect<u32>("dp4a.u32.u32", 0xff000002u, 0x80000003u, 1, 255 * 128 + 7);
  expect<u32>("dp4a.u32.s32", 0xff000002u, 0x80000003u, 1, static_cast<u32>(255 * -128 + 7));
  expect<u32>("dp4a.s32.u32", 0xff000002u, 0x80000003u, 1, static_cast<u32>(-1 * 128 + 7));
  expect<u32>("dp4a.s32.s32", 0xff000002u, 0x80000003u, 1, 128 + 7);
  expect<u32>("dp4a.u32.u32", 0x01020304u, 0x05060708u, kAll32, 5 + 12 + 21 + 32 - 1);
}

TEST(Integer, Dp2aSelectsTwoBytes) {
  // The halves are -1 or 0xffff, and 2; the low bytes 0x80 and 3, the high ones 4 and 0xfe.
  expect<u32>("dp2a.lo.u32.u32", 0xffff0002u, 0xfe048003u, 1, 65535 * 128 + 7);
  expect<u32>("dp2a.lo.u32.s32", 0xffff0002u, 0xfe048003u, 1, static_cast<u32>(65535 * -128 + 7));
  expect<u32>("dp2a.lo.s32.u32", 0xffff0002u, 0xfe048003u, 1, static_cast<u32>(-128 + 7));
  expect<u32>("dp2a.lo.s32.s32", 0xffff0002u, 0xfe048003u, 1, 128 + 7);
  expect<u32>("dp2a.hi.u32.u32", 0xffff0002u, 0xfe048003u, 1, 65535 * 254 + 9);
  expect<u32>("dp2a.hi.u32.s32", 0xffff0002u, 0xfe048003u, 1, static_cast<u32>(65535 * -2 + 9));
  expect<u32>("dp2a.hi.s32.u32", 0xffff0002u, 0xfe048003u, 1, static_cast<u32>(-254 + 9));
  expect<u32>("dp2a.hi.s32.s32", 0xffff0002u, 0xfe048003u, 1, 2 + 9);
}

}  // namespace
}  // namespace sinter::virtual_gpu::integer_test
