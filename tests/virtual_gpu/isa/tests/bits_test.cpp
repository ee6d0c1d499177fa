// Bit operations on special values: amounts at and beyond the width, empty fields, sign bits.
#include <gtest/gtest.h>

#include "tests/virtual_gpu/isa/integer_types.h"
#include "tests/virtual_gpu/isa/tests/lane_runner.h"

namespace sinter::virtual_gpu::bits_test {
namespace {

using namespace integer_types;

constexpr u32 kAll32 = 0xffffffffu;
constexpr u64 kAll64 = ~u64{0};
constexpr u32 kTop32 = 0x80000000u;
constexpr u64 kTop64 = u64{1} << 63;
constexpr s32 kMin32 = INT32_MIN;
constexpr s64 kMin64 = INT64_MIN;

TEST(Bits, LogicActsOnEachBit) {
  EXPECT_EQ(run_lane<b16>("and.b16", b16{0xff0f}, b16{0x3c3c}), 0x3c0c);
  EXPECT_EQ(run_lane<b32>("and.b32", 0xff00ff0fu, 0x3c3c3c3cu), 0x3c003c0cu);
  EXPECT_EQ(run_lane<b64>("and.b64", kAll64, kTop64 | 5), kTop64 | 5);
  EXPECT_EQ(run_lane<b16>("or.b16", b16{0xf00f}, b16{0x0ff0}), 0xffff);
  EXPECT_EQ(run_lane<b32>("or.b32", 0xf0000000u, 0x0000000fu), 0xf000000fu);
  EXPECT_EQ(run_lane<b64>("or.b64", kTop64, u64{1}), kTop64 | 1);
  EXPECT_EQ(run_lane<b16>("xor.b16", b16{0xffff}, b16{0x00f0}), 0xff0f);
  EXPECT_EQ(run_lane<b32>("xor.b32", kAll32, 0x0f0f0f0fu), 0xf0f0f0f0u);
  EXPECT_EQ(run_lane<b64>("xor.b64", kAll64, u64{1}), kAll64 - 1);
  EXPECT_EQ(run_lane<b16>("not.b16", b16{0x00ff}), 0xff00);
  EXPECT_EQ(run_lane<b32>("not.b32", 0u), kAll32);
  EXPECT_EQ(run_lane<b64>("not.b64", u64{1}), kAll64 - 1);
}

TEST(Bits, CnotIsTheLogicalNegation) {
  EXPECT_EQ(run_lane<b16>("cnot.b16", b16{0}), 1);
  EXPECT_EQ(run_lane<b16>("cnot.b16", b16{0x8000}), 0);
  EXPECT_EQ(run_lane<b32>("cnot.b32", 0u), 1u);
  EXPECT_EQ(run_lane<b32>("cnot.b32", kAll32), 0u);
  EXPECT_EQ(run_lane<b64>("cnot.b64", u64{0}), 1u);
  EXPECT_EQ(run_lane<b64>("cnot.b64", u64{1} << 32), 0u);
}

TEST(Bits, PredicatesHaveTruthTables) {
  for (const bool a : {false, true}) {
    EXPECT_EQ(run_lane<bool>("not.pred", a), a ? false : true);
    EXPECT_EQ(run_lane<bool>("mov.pred", a), a);
    for (const bool b : {false, true}) {
      EXPECT_EQ(run_lane<bool>("and.pred", a, b), a && b);
      EXPECT_EQ(run_lane<bool>("or.pred", a, b), a || b);
      EXPECT_EQ(run_lane<bool>("xor.pred", a, b), a != b);
    }
  }
}

TEST(Bits, NegatedPredicateOperandsAreComplemented) {
  EXPECT_TRUE(run_lane_negating<bool>(1, "and.pred", false, true));
  EXPECT_FALSE(run_lane_negating<bool>(2, "and.pred", true, true));
  EXPECT_TRUE(run_lane_negating<bool>(3, "and.pred", false, false));
  EXPECT_TRUE(run_lane_negating<bool>(1, "mov.pred", false));
}

TEST(Bits, ShlClampsItsAmount) {
  EXPECT_EQ(run_lane<b16>("shl.b16", b16{0xffff}, 15u), 0x8000);
  EXPECT_EQ(run_lane<b16>("shl.b16", b16{0xffff}, 16u), 0);
  EXPECT_EQ(run_lane<b32>("shl.b32", kAll32, 0u), kAll32);
  EXPECT_EQ(run_lane<b32>("shl.b32", kAll32, 31u), kTop32);
  EXPECT_EQ(run_lane<b32>("shl.b32", kAll32, 32u), 0u);
  EXPECT_EQ(run_lane<b32>("shl.b32", kAll32, kAll32), 0u);
  EXPECT_EQ(run_lane<b64>("shl.b64", kAll64, 63u), kTop64);
  EXPECT_EQ(run_lane<b64>("shl.b64", kAll64, 64u), 0u);
  EXPECT_EQ(run_lane<b64>("shl.b64", u64{1}, 32u), u64{1} << 32);
}

TEST(Bits, ShrOfUnsignedAndUntypedFillsWithZeros) {
  for (const char* opcode : {"shr.u16", "shr.b16"}) {
    EXPECT_EQ(run_lane<u16>(opcode, u16{0x8000}, 15u), 1);
    EXPECT_EQ(run_lane<u16>(opcode, u16{0xffff}, 16u), 0);
  }
  for (const char* opcode : {"shr.u32", "shr.b32"}) {
    EXPECT_EQ(run_lane<u32>(opcode, kTop32, 31u), 1u);
    EXPECT_EQ(run_lane<u32>(opcode, kAll32, 32u), 0u);
    EXPECT_EQ(run_lane<u32>(opcode, kAll32, kAll32), 0u);
  }
  for (const char* opcode : {"shr.u64", "shr.b64"}) {
    EXPECT_EQ(run_lane<u64>(opcode, kTop64, 63u), 1u);
    EXPECT_EQ(run_lane<u64>(opcode, kAll64, 64u), 0u);
  }
}

TEST(Bits, ShrOfSignedFillsWithTheSign) {
  EXPECT_EQ(run_lane<s16>("shr.s16", s16{-0x8000}, 15u), -1);
  EXPECT_EQ(run_lane<s16>("shr.s16", s16{-0x8000}, 99u), -1);
  EXPECT_EQ(run_lane<s16>("shr.s16", s16{0x7fff}, 16u), 0);
  EXPECT_EQ(run_lane<s32>("shr.s32", -5, 1u), -3);
  EXPECT_EQ(run_lane<s32>("shr.s32", kMin32, 32u), -1);
  EXPECT_EQ(run_lane<s32>("shr.s32", INT32_MAX, kAll32), 0);
  EXPECT_EQ(run_lane<s64>("shr.s64", kMin64, 62u), -2);
  EXPECT_EQ(run_lane<s64>("shr.s64", kMin64, 64u), -1);
}

TEST(Bits, FunnelShiftsConcatenateTheOperands) {
  constexpr u32 low = 0x89abcdefu;
  constexpr u32 high = 0x01234567u;
  EXPECT_EQ(run_lane<b32>("shf.l.wrap.b32", low, high, 8u), 0x23456789u);
  EXPECT_EQ(run_lane<b32>("shf.l.wrap.b32", low, high, 0u), high);
  EXPECT_EQ(run_lane<b32>("shf.l.wrap.b32", low, high, 32u), high);
  EXPECT_EQ(run_lane<b32>("shf.l.wrap.b32", low, high, 40u), 0x23456789u);
  EXPECT_EQ(run_lane<b32>("shf.l.clamp.b32", low, high, 8u), 0x23456789u);
  EXPECT_EQ(run_lane<b32>("shf.l.clamp.b32", low, high, 32u), low);
  EXPECT_EQ(run_lane<b32>("shf.l.clamp.b32", low, high, kAll32), low);
  EXPECT_EQ(run_lane<b32>("shf.r.wrap.b32", low, high, 8u), 0x6789abcdu);
  EXPECT_EQ(run_lane<b32>("shf.r.wrap.b32", low, high, 32u), low);
  EXPECT_EQ(run_lane<b32>("shf.r.wrap.b32", low, high, 40u), 0x6789abcdu);
  EXPECT_EQ(run_lane<b32>("shf.r.clamp.b32", low, high, 8u), 0x6789abcdu);
  EXPECT_EQ(run_lane<b32>("shf.r.clamp.b32", low, high, 32u), high);
  EXPECT_EQ(run_lane<b32>("shf.r.clamp.b32", low, high, kAll32), high);
}

TEST(Bits, Lop3LooksUpEachBit) {
  // The tables of these functions are examples of section 9.7.8.6.
  constexpr u32 a = 0x12345678u, b = 0x9abcdef0u, c = 0x0f1e2d3cu;
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0x80u), a & b & c);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0xfeu), a | b | c);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0x40u), a & b & ~c);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0x1au), ((a & b) | c) ^ a);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0x96u), a ^ b ^ c);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0xf0u), a);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0u), 0u);
  EXPECT_EQ(run_lane<b32>("lop3.b32", a, b, c, 0xffu), kAll32);
}

// Byte i of the pair {b, a} is 0x11 * i.
constexpr u32 kBytesA = 0x33221100u;
constexpr u32 kBytesB = 0x77665544u;

TEST(Bits, PrmtSelectsBytes) {
  EXPECT_EQ(run_lane<b32>("prmt.b32", kBytesA, kBytesB, 0x3210u), kBytesA);
  EXPECT_EQ(run_lane<b32>("prmt.b32", kBytesA, kBytesB, 0x7654u), kBytesB);
  EXPECT_EQ(run_lane<b32>("prmt.b32", kBytesA, kBytesB, 0x5410u), 0x55441100u);
  EXPECT_EQ(run_lane<b32>("prmt.b32", kBytesA, kBytesB, 0xffff0123u), 0x00112233u);
}

TEST(Bits, PrmtReplicatesSigns) {
  EXPECT_EQ(run_lane<b32>("prmt.b32", 0x0000807fu, 0x80000000u, 0x8f98u), 0x00ffff00u);
  EXPECT_EQ(run_lane<b32>("prmt.b32", 0x0000807fu, 0x80000000u, 0x9910u), 0xffff807fu);
}

TEST(Bits, PrmtModesFollowTheirTable) {
  // Results for c[1:0] = 0, 1, 2, 3, by section 9.7.9.7.
  const auto expect = [](const char* opcode, const std::array<u32, 4>& results) {
    for (u32 i = 0; i < 4; ++i)
      EXPECT_EQ(run_lane<b32>(opcode, kBytesA, kBytesB, 0xfffffff0u | i), results[i])
          << opcode << " " << i;
  };
  expect("prmt.b32.f4e", {0x33221100u, 0x44332211u, 0x55443322u, 0x66554433u});
  expect("prmt.b32.b4e", {0x55667700u, 0x66770011u, 0x77001122u, 0x00112233u});
  expect("prmt.b32.rc8", {0x00000000u, 0x11111111u, 0x22222222u, 0x33333333u});
  expect("prmt.b32.ecl", {0x33221100u, 0x33221111u, 0x33222222u, 0x33333333u});
  expect("prmt.b32.ecr", {0x00000000u, 0x11111100u, 0x22221100u, 0x33221100u});
  expect("prmt.b32.rc16", {0x11001100u, 0x33223322u, 0x11001100u, 0x33223322u});
}

TEST(Bits, BfeOfUnsignedIsPaddedWithZeros) {
  EXPECT_EQ(run_lane<u32>("bfe.u32", 0xabcd1234u, 8u, 8u), 0x12u);
  EXPECT_EQ(run_lane<u32>("bfe.u32", 0xabcd1234u, 24u, 99u), 0xabu);
  EXPECT_EQ(run_lane<u32>("bfe.u32", kAll32, 0u, 0u), 0u);
  EXPECT_EQ(run_lane<u32>("bfe.u32", kAll32, 32u, 8u), 0u);
  EXPECT_EQ(run_lane<u32>("bfe.u32", kAll32, 0u, 32u), kAll32);
  EXPECT_EQ(run_lane<u32>("bfe.u32", 0xabcd1234u, 0x108u, 0x104u), 0x2u);
  EXPECT_EQ(run_lane<u64>("bfe.u64", kTop64 | 0xf0, 4u, 60u), (kTop64 >> 4) | 0xf);
  EXPECT_EQ(run_lane<u64>("bfe.u64", kAll64, 64u, 1u), 0u);
}

TEST(Bits, BfeOfSignedIsPaddedWithTheLastBitOfTheField) {
  EXPECT_EQ(run_lane<s32>("bfe.s32", 0x0000f800, 8u, 8u), -8);
  EXPECT_EQ(run_lane<s32>("bfe.s32", 0x00007800, 8u, 8u), 0x78);
  EXPECT_EQ(run_lane<s32>("bfe.s32", kMin32, 28u, 99u), -8);
  EXPECT_EQ(run_lane<s32>("bfe.s32", kMin32, 200u, 8u), -1);
  EXPECT_EQ(run_lane<s32>("bfe.s32", INT32_MAX, 200u, 8u), 0);
  EXPECT_EQ(run_lane<s32>("bfe.s32", -1, 5u, 0u), 0);
  EXPECT_EQ(run_lane<s32>("bfe.s32", kMin32, 0u, 255u), kMin32);
  EXPECT_EQ(run_lane<s64>("bfe.s64", s64{0xf8} << 32, 32u, 8u), -8);
  EXPECT_EQ(run_lane<s64>("bfe.s64", kMin64, 64u, 1u), -1);
}

TEST(Bits, BfiInsertsAField) {
  EXPECT_EQ(run_lane<b32>("bfi.b32", 0xabu, 0u, 8u, 8u), 0xab00u);
  EXPECT_EQ(run_lane<b32>("bfi.b32", 0u, kAll32, 8u, 8u), 0xffff00ffu);
  EXPECT_EQ(run_lane<b32>("bfi.b32", kAll32, 5u, 4u, 0u), 5u);
  EXPECT_EQ(run_lane<b32>("bfi.b32", kAll32, 5u, 32u, 8u), 5u);
  EXPECT_EQ(run_lane<b32>("bfi.b32", 0x123u, 5u, 28u, 99u), 0x30000005u);
  EXPECT_EQ(run_lane<b32>("bfi.b32", 0x12345678u, 5u, 0u, 32u), 0x12345678u);
  EXPECT_EQ(run_lane<b32>("bfi.b32", 1u, 0u, 0x104u, 0x101u), 0x10u);
  EXPECT_EQ(run_lane<b64>("bfi.b64", u64{0xab}, kAll64, 32u, 8u), 0xffffffabffffffffu);
  EXPECT_EQ(run_lane<b64>("bfi.b64", kAll64, u64{5}, 64u, 8u), 5u);
  EXPECT_EQ(run_lane<b64>("bfi.b64", kAll64, u64{0}, 60u, 8u), 0xf000000000000000u);
}

TEST(Bits, BfindFindsTheHighestBitThatIsNoSign) {
  EXPECT_EQ(run_lane<u32>("bfind.u32", 0u), kAll32);
  EXPECT_EQ(run_lane<u32>("bfind.u32", 1u), 0u);
  EXPECT_EQ(run_lane<u32>("bfind.u32", kAll32), 31u);
  EXPECT_EQ(run_lane<u32>("bfind.s32", -1), kAll32);
  EXPECT_EQ(run_lane<u32>("bfind.s32", 0), kAll32);
  EXPECT_EQ(run_lane<u32>("bfind.s32", kMin32), 30u);
  EXPECT_EQ(run_lane<u32>("bfind.s32", -2), 0u);
  EXPECT_EQ(run_lane<u32>("bfind.u64", u64{1} << 32), 32u);
  EXPECT_EQ(run_lane<u32>("bfind.u64", u64{0}), kAll32);
  EXPECT_EQ(run_lane<u32>("bfind.s64", kMin64), 62u);
  EXPECT_EQ(run_lane<u32>("bfind.s64", s64{-1}), kAll32);
}

TEST(Bits, BfindShiftamtCountsFromTheTop) {
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.u32", 0u), kAll32);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.u32", 1u), 31u);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.u32", kTop32), 0u);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.s32", kMin32), 1u);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.s32", -1), kAll32);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.u64", u64{1} << 32), 31u);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.s64", s64{1}), 63u);
  EXPECT_EQ(run_lane<u32>("bfind.shiftamt.s64", kMin64), 1u);
}

TEST(Bits, CountsAndReversals) {
  EXPECT_EQ(run_lane<u32>("popc.b32", 0u), 0u);
  EXPECT_EQ(run_lane<u32>("popc.b32", kAll32), 32u);
  EXPECT_EQ(run_lane<u32>("popc.b64", kTop64 | 5), 3u);
  EXPECT_EQ(run_lane<u32>("popc.b64", kAll64), 64u);
  EXPECT_EQ(run_lane<u32>("clz.b32", 0u), 32u);
  EXPECT_EQ(run_lane<u32>("clz.b32", kTop32), 0u);
  EXPECT_EQ(run_lane<u32>("clz.b64", u64{0}), 64u);
  EXPECT_EQ(run_lane<u32>("clz.b64", u64{1} << 32), 31u);
  EXPECT_EQ(run_lane<b32>("brev.b32", 1u), kTop32);
  EXPECT_EQ(run_lane<b32>("brev.b32", 0x12345678u), 0x1e6a2c48u);
  EXPECT_EQ(run_lane<b64>("brev.b64", u64{1}), kTop64);
  EXPECT_EQ(run_lane<b64>("brev.b64", u64{0x12345678}), u64{0x1e6a2c48} << 32);
}

TEST(Bits, FnsFindsTheNthSetBit) {
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 3u, 1), 3u);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 3u, -1), 3u);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 2u, 1), 3u);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 2u, -1), 1u);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 2u, 3), 7u);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 3u, 0), 3u);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 2u, 0), kAll32);
  EXPECT_EQ(run_lane<u32>("fns.b32", 0xaaaaaaaau, 31u, 2), kAll32);
  EXPECT_EQ(run_lane<u32>("fns.b32", kAll32, 0u, kMin32), kAll32);
}

TEST(Bits, BmskMakesAMask) {
  EXPECT_EQ(run_lane<b32>("bmsk.wrap.b32", 1u, 2u), 0x6u);
  EXPECT_EQ(run_lane<b32>("bmsk.wrap.b32", 33u, 34u), 0x6u);
  EXPECT_EQ(run_lane<b32>("bmsk.wrap.b32", 1u, 32u), 0u);
  EXPECT_EQ(run_lane<b32>("bmsk.wrap.b32", 28u, 31u), 0xf0000000u);
  EXPECT_EQ(run_lane<b32>("bmsk.clamp.b32", 1u, 2u), 0x6u);
  EXPECT_EQ(run_lane<b32>("bmsk.clamp.b32", 32u, 2u), 0u);
  EXPECT_EQ(run_lane<b32>("bmsk.clamp.b32", 4u, 32u), 0xfffffff0u);
  EXPECT_EQ(run_lane<b32>("bmsk.clamp.b32", 4u, 0u), 0u);
}

TEST(Bits, SzextExtendsTheLowBits) {
  EXPECT_EQ(run_lane<u32>("szext.wrap.u32", kAll32, 0u), 0u);
  EXPECT_EQ(run_lane<u32>("szext.wrap.u32", kAll32, 36u), 0xfu);
  EXPECT_EQ(run_lane<u32>("szext.clamp.u32", kAll32, 36u), kAll32);
  EXPECT_EQ(run_lane<u32>("szext.clamp.u32", kAll32, 4u), 0xfu);
  EXPECT_EQ(run_lane<s32>("szext.wrap.s32", 0x18, 36u), -8);
  EXPECT_EQ(run_lane<s32>("szext.wrap.s32", 0x18, 32u), 0);
  EXPECT_EQ(run_lane<s32>("szext.clamp.s32", 0x18, 4u), -8);
  EXPECT_EQ(run_lane<s32>("szext.clamp.s32", 0x18, 32u), 0x18);
  EXPECT_EQ(run_lane<s32>("szext.clamp.s32", 0x18, 6u), 0x18);
}

TEST(Bits, MovCopiesEveryBit) {
  for (const char* opcode : {"mov.b16", "mov.u16", "mov.s16"})
    EXPECT_EQ(run_lane<b16>(opcode, b16{0x8001}), 0x8001) << opcode;
  // The pattern is a signalling NaN, which must keep its payload.
  for (const char* opcode : {"mov.b32", "mov.u32", "mov.s32", "mov.f32"})
    EXPECT_EQ(run_lane<b32>(opcode, 0x7f800001u), 0x7f800001u) << opcode;
  for (const char* opcode : {"mov.b64", "mov.u64", "mov.s64", "mov.f64"})
    EXPECT_EQ(run_lane<b64>(opcode, b64{0x7ff0000000000001}), 0x7ff0000000000001u) << opcode;
}

}  // namespace
}  // namespace sinter::virtual_gpu::bits_test
