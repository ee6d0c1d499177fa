// min and max of three f32 operands.
#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>

#include "tests/virtual_gpu/isa/tests/lane_runner.h"

namespace sinter::virtual_gpu::extremum_test {
namespace {

constexpr std::uint32_t kOne = 0x3f800000, kMinusOne = 0xbf800000, kTwo = 0x40000000,
                        kMinusTwo = 0xc0000000, kNan = 0x7fc00001, kCanonical = 0x7fffffff,
                        kInfinity = 0x7f800000, kMinusInfinity = 0xff800000, kZero = 0,
                        kMinusZero = 0x80000000, kSubnormal = 5, kMinusSubnormal = 0x80000005;

struct Case {
  std::uint32_t a, b, c, expected;
};

void expect(std::string_view opcode, std::initializer_list<Case> cases) {
  for (const Case& one : cases) {
    const float result = run_lane<float>(opcode, std::bit_cast<float>(one.a),
                                         std::bit_cast<float>(one.b), std::bit_cast<float>(one.c));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(result), one.expected)
        << opcode << std::hex << " " << one.a << " " << one.b << " " << one.c;
  }
}

TEST(Extremum, TheSmallestAndTheLargestOfThree) {
  expect("min.f32", {{kOne, kTwo, kMinusOne, kMinusOne},
                     {kMinusTwo, kTwo, kMinusOne, kMinusTwo},
                     {kOne, kZero, kMinusZero, kMinusZero},
                     {kInfinity, kOne, kMinusInfinity, kMinusInfinity},
                     {kSubnormal, kOne, kTwo, kSubnormal}});
  expect("max.f32", {{kOne, kTwo, kMinusOne, kTwo},
                     {kMinusTwo, kMinusTwo, kMinusOne, kMinusOne},
                     {kMinusZero, kMinusOne, kZero, kZero},
                     {kMinusSubnormal, kMinusOne, kMinusTwo, kMinusSubnormal}});
}

TEST(Extremum, NumbersWinOverNansUnlessNansPropagate) {
  expect("min.f32", {{kNan, kTwo, kOne, kOne},
                     {kTwo, kNan, kOne, kOne},
                     {kTwo, kOne, kNan, kOne},
                     {kNan, kNan, kOne, kOne},
                     {kNan, kNan, kNan, kCanonical}});
  expect("max.NaN.f32", {{kNan, kTwo, kOne, kCanonical},
                         {kTwo, kNan, kOne, kCanonical},
                         {kTwo, kOne, kNan, kCanonical},
                         {kTwo, kOne, kOne, kTwo}});
}

TEST(Extremum, MagnitudesAreComparedUnderAbs) {
  expect("min.abs.f32", {{kMinusOne, kTwo, kMinusTwo, kOne}, {kMinusZero, kOne, kTwo, kZero}});
  expect("max.abs.f32", {{kMinusOne, kOne, kMinusTwo, kTwo}});
  expect("max.NaN.abs.f32", {{kMinusOne, kNan, kMinusTwo, kCanonical}});
}

TEST(Extremum, SubnormalsBecomeZeroUnderFtz) {
  expect("min.ftz.f32",
         {{kSubnormal, kOne, kTwo, kZero}, {kMinusSubnormal, kOne, kTwo, kMinusZero}});
  expect("max.ftz.NaN.f32", {{kMinusOne, kMinusSubnormal, kMinusTwo, kMinusZero}});
  expect("min.ftz.abs.f32", {{kMinusSubnormal, kOne, kTwo, kZero}});
}

TEST(Extremum, TwoOperandsKeepTheirRow) {
  EXPECT_EQ(find_semantics("min.f32", 3)->section, "9.7.3.11");
  EXPECT_EQ(find_semantics("min.f32", 3)->operand_count(), 3);
  EXPECT_EQ(find_semantics("min.f32", 2)->operand_count(), 2);
  EXPECT_EQ(find_semantics("max.abs.f32", 2)->operand_count(), 3);
  EXPECT_EQ(find_semantics("min.f64", 3)->operand_count(), 2);
  for (const Semantics& row : extremum_semantics()) EXPECT_EQ(find_semantics(row.opcode, 3), &row);
}

}  // namespace
}  // namespace sinter::virtual_gpu::extremum_test
