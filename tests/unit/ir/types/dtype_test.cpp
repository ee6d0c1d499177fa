// The common dtype of all pairs of operands.
#include "sinter/dtype.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "sinter/ops.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::dtype_test {
namespace {

std::string common_text(DType a, DType b) {
  const std::optional<DType> common = common_dtype(a, b);
  return common ? std::string(name(*common)) : "-";
}

// One row and column per dtype, in the order of the table.
constexpr std::string_view kCommon =
    "        bool   i8     i16    i32    i64    u8     u16    u32    u64    f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    c64    \n"
    "bool    bool   i8     i16    i32    i64    u8     u16    u32    u64    f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "i8      i8     i8     i16    i32    i64    i16    i32    i64    -      f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "i16     i16    i16    i16    i32    i64    i16    i32    i64    -      f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "i32     i32    i32    i32    i32    i64    i32    i32    i64    -      f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "i64     i64    i64    i64    i64    i64    i64    i64    i64    -      f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "u8      u8     i16    i16    i32    i64    u8     u16    u32    u64    f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "u16     u16    i32    i32    i32    i64    u16    u16    u32    u64    f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "u32     u32    i64    i64    i64    i64    u32    u32    u32    u64    f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "u64     u64    -      -      -      -      u64    u64    u64    u64    f8e4m3 f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "f8e4m3  f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 -      f16    "
    "bf16   f32    f64    -      \n"
    "f8e5m2  f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 -      f8e5m2 f16    "
    "bf16   f32    f64    -      \n"
    "f16     f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    "
    "f32    f32    f64    -      \n"
    "bf16    bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   f32    "
    "bf16   f32    f64    -      \n"
    "f32     f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    "
    "f32    f32    f64    -      \n"
    "f64     f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    "
    "f64    f64    f64    -      \n"
    "c64     -      -      -      -      -      -      -      -      -      -      -      -      - "
    "     -      -      c64    \n";

TEST(DTypeTest, CommonDTypesMatchTheTable) {
  std::string text = fmt::format("{:8}", "");
  for (const DTypeInfo& row : kDTypes) text += fmt::format("{:7}", row.name);
  text += "\n";
  for (const DTypeInfo& row : kDTypes) {
    text += fmt::format("{:8}", row.name);
    for (const DTypeInfo& column : kDTypes)
      text += fmt::format("{:7}", common_text(row.dtype, column.dtype));
    text += "\n";
  }
  EXPECT_EQ(text, kCommon);
}

TEST(DTypeTest, OperandsAreCastToTheCommonDType) {
  Graph graph("g");
  for (const DTypeInfo& a : kDTypes)
    for (const DTypeInfo& b : kDTypes) {
      const std::string pair = fmt::format("{}_{}", a.name, b.name);
      const Tensor x = graph.input("x_" + pair, a.dtype, {3});
      const Tensor y = graph.input("y_" + pair, b.dtype, {3});
      const std::optional<DType> common = common_dtype(a.dtype, b.dtype);
      if (!common) {
        EXPECT_THROW(where(true, x, y), UserError) << pair;
        continue;
      }
      EXPECT_EQ(where(true, x, y).dtype(), *common) << pair;
      if (*common == c64) continue;
      // Quotients of integers are f32, never f64 unless an operand is.
      EXPECT_EQ((x / y).dtype(), is_floating(*common) ? *common : f32) << pair;
    }
}

TEST(DTypeTest, NumbersAdaptToTensors) {
  Graph graph("g");
  const auto input = [&](DType dtype) { return graph.input(std::string(name(dtype)), dtype, {3}); };
  const Tensor flag = input(boolean), small = input(u8), whole = input(i64), half = input(f16);
  EXPECT_EQ((small + 1).dtype(), u8);
  EXPECT_EQ((small + 0.5).dtype(), f32);
  EXPECT_EQ((whole * 2.0).dtype(), f32);
  EXPECT_EQ((half * 0.1).dtype(), f16);
  EXPECT_EQ((half + 3).dtype(), f16);
  EXPECT_EQ((flag * 2).dtype(), i64);
  EXPECT_EQ((flag * 2.5).dtype(), f32);
  EXPECT_EQ((whole + true).dtype(), i64);
  EXPECT_EQ(exp(whole).dtype(), f32);
  EXPECT_EQ(mean(small).dtype(), f32);
  EXPECT_EQ(sum(small).dtype(), u64);
  EXPECT_EQ(sum(flag).dtype(), i64);
  EXPECT_EQ(logical_and(half, whole).dtype(), boolean);
}

}  // namespace
}  // namespace sinter::dtype_test
