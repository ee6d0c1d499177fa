// The functions of float atomics, and the combinations that the manual has.
#include "tests/virtual_gpu/program/combine.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

namespace sinter::virtual_gpu::combine_test {
namespace {

struct Case {
  std::uint64_t old, operand, expected;
};

void expect(Combine function, std::initializer_list<Case> cases) {
  ASSERT_NE(function, nullptr);
  for (const Case& one : cases)
    EXPECT_EQ(function(one.old, one.operand), one.expected)
        << std::hex << one.old << " with " << one.operand;
}

TEST(Combine, SumsOfF32RoundToNearestEven) {
  const AtomicFunctions add = find_combine("add", "f32", 1, false).value();
  for (const Combine function : {add.global, add.shared})
    expect(function, {{0x3f800000, 0x3f800000, 0x40000000},
                      {0x4b800000, 0x3f800000, 0x4b800000},  // 2^24 + 1 is a tie
                      {0x4b800001, 0x3f800000, 0x4b800002},  // 2^24 + 2 + 1
                      {0x80000000, 0x80000000, 0x80000000},  // -0 + -0
                      {0x80000000, 0x00000000, 0x00000000},
                      {0x7f7fffff, 0x7f7fffff, 0x7f800000},  // overflow
                      {0x7f800000, 0xff800000, 0x7fffffff},  // inf - inf
                      {0x7fc12345, 0x3f800000, 0x7fffffff}});
}

TEST(Combine, OnlyGlobalSumsOfF32FlushSubnormals) {
  const AtomicFunctions add = find_combine("add", "f32", 1, false).value();
  expect(add.global, {{0x00400000, 0x00000001, 0x00000000},
                      {0x80000001, 0x80000001, 0x80000000},
                      {0x80000001, 0x3f800000, 0x3f800000},
                      {0x00800001, 0x80800000, 0x00000000}});  // a subnormal result
  expect(add.shared, {{0x00400000, 0x00000001, 0x00400001},
                      {0x80000001, 0x80000001, 0x80000002},
                      {0x00800001, 0x80800000, 0x00000001}});
}

TEST(Combine, SumsOfF64KeepSubnormals) {
  const AtomicFunctions add = find_combine("add", "f64", 1, false).value();
  EXPECT_EQ(add.global, add.shared);
  expect(add.global, {{0x3ff0000000000000, 0x3ff0000000000000, 0x4000000000000000},
                      {1, 2, 3},
                      {0x4340000000000000, 0x3ff0000000000000, 0x4340000000000000},
                      {0x7ff0000000000000, 0x7ff0000000000000, 0x7ff0000000000000}});
}

TEST(Combine, SumsOfHalvesKeepSubnormals) {
  expect(find_combine("add", "f16", 1, true)->global, {{0x3c00, 0x3c00, 0x4000},
                                                       {0x0001, 0x0001, 0x0002},
                                                       {0x6800, 0x3c00, 0x6800},  // a tie: 2048 + 1
                                                       {0x6801, 0x3c00, 0x6802},  // 2050 + 1
                                                       {0x7bff, 0x7bff, 0x7c00},  // overflow
                                                       {0x7c00, 0xfc00, 0x7fff}});  // NaN
  expect(find_combine("add", "bf16", 1, true)->shared, {{0x3f80, 0x3f80, 0x4000},
                                                        {0x0001, 0x0001, 0x0002},
                                                        {0x4380, 0x3f80, 0x4380},    // 256 + 1
                                                        {0x4381, 0x3f80, 0x4382}});  // 258 + 1
}

TEST(Combine, HalvesOfAPairAreApart) {
  expect(find_combine("add", "f16x2", 1, true)->global,
         {{0x7bff3c00, 0x7bff0001, 0x7c003c00}, {0xffff3c00, 0x00003c00, 0x7fff4000}});
  expect(find_combine("add", "bf16x2", 4, true)->global, {{0x3f800001, 0x3f800001, 0x40000002}});
}

TEST(Combine, ExtremaOfHalvesPreferNumbers) {
  expect(find_combine("min", "f16", 2, true)->global, {{0x3c00, 0xbc00, 0xbc00},
                                                       {0x0000, 0x8000, 0x8000},
                                                       {0x7fff, 0x3c00, 0x3c00},
                                                       {0x7fff, 0x7fff, 0x7fff},
                                                       {0xfc00, 0x3c00, 0xfc00}});
  expect(find_combine("max", "bf16x2", 2, true)->global,
         {{0x3f80bf80, 0x40000000, 0x40000000}, {0x80007fff, 0x00003f80, 0x00003f80}});
}

TEST(Combine, OnlyDocumentedCombinationsExist) {
  struct Combination {
    const char* operation;
    const char* type;
    int vector_length;
    bool is_noftz, exists;
  };
  for (const Combination& one : std::initializer_list<Combination>{
           {"add", "f32", 2, false, true},   {"add", "f32", 4, false, true},
           {"add", "f32", 8, false, false},  {"min", "f32", 1, false, false},
           {"min", "f32", 2, false, false},  {"add", "f32", 1, true, false},
           {"add", "f64", 2, false, false},  {"max", "f64", 1, false, false},
           {"add", "f16", 1, false, false},  {"add", "f16", 8, true, true},
           {"min", "f16", 1, true, false},   {"min", "f16", 8, true, true},
           {"add", "f16x2", 4, true, true},  {"add", "f16x2", 8, true, false},
           {"max", "bf16x2", 2, true, true}, {"max", "bf16x2", 1, true, false},
           {"and", "f16", 2, true, false},   {"add", "u32", 2, false, false},
           {"add", "u32", 1, true, false},   {"exch", "b32", 1, false, true},
           {"exch", "b16", 1, false, false}, {"inc", "u32", 1, false, true},
           {"mul", "u32", 1, false, false}})
    EXPECT_EQ(find_combine(one.operation, one.type, one.vector_length, one.is_noftz).has_value(),
              one.exists)
        << one.operation << " " << one.type << " " << one.vector_length << " " << one.is_noftz;
}

}  // namespace
}  // namespace sinter::virtual_gpu::combine_test
