// Casts to floats of 4 to 8 bits: every value, ties, and numbers out of range.
#include "tests/onnx/models/run_model.h"
#include "tools/onnx/model/element_type.h"
#include "tools/onnx/model/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::small_float_casts_test {
namespace {

using onnx::ElementType;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ModelBuilder cast_model(ElementType to, int count, std::vector<onnx::AttributeProto> attributes,
                        ElementType from = ElementType::f32) {
  attributes.push_back(integer_attribute("to", static_cast<std::int64_t>(to)));
  ModelBuilder builder;
  builder.input("x", {count}, from)
      .add(node("Cast", {"x"}, {"y"}, std::move(attributes)))
      .output("y")
      .opset(25);
  return builder;
}

std::vector<double> cast_to(ElementType to, const std::vector<double>& values,
                            std::vector<onnx::AttributeProto> attributes = {},
                            ElementType from = ElementType::f32) {
  const auto count = static_cast<std::int64_t>(values.size());
  const DType dtype = *onnx::dtype_of(static_cast<std::int32_t>(from));
  const ModelBuilder model = cast_model(to, static_cast<int>(count), std::move(attributes), from);
  return reals_of(outputs_of(model, {{"x", real_array(dtype, {count}, values)}}).at("y"));
}

/// The values of a type from 0 up.
std::vector<double> positive_values(ElementType type) {
  const onnx::SmallFloat& format = *onnx::small_float(type);
  std::vector<double> values;
  for (int bits = 0; bits < 1 << (format.exponent_bits + format.mantissa_bits); ++bits)
    values.push_back(small_float_value(format, bits));
  std::ranges::sort(values);
  return values;
}

/// The nearest value; of two that are as near, the one whose place is even.
double nearest(const std::vector<double>& values, double x) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double distance = std::abs(values[i] - x);
    const double before = std::abs(values[best] - x);
    if (distance < before || (distance == before && i % 2 == 0)) best = i;
  }
  return values[best];
}

class OnnxSmallFloatCast : public testing::TestWithParam<ElementType> {};

/// Numbers on, beside and halfway between all values, of both signs, from f32 and f64.
TEST_P(OnnxSmallFloatCast, RoundsToTheNearestValue) {
  const std::vector<double> values = positive_values(GetParam());
  std::vector<double> numbers;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double half = (values[i] + values[i + 1]) / 2;
    for (const double x : {values[i], half, half * (1 - 0x1p-20), half * (1 + 0x1p-20)})
      numbers.insert(numbers.end(), {x, -x});
  }
  for (const auto from : {ElementType::f32, ElementType::f64}) {
    const std::vector<double> results = cast_to(GetParam(), numbers, {}, from);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(std::abs(results[i]), nearest(values, std::abs(numbers[i]))) << numbers[i];
  }
}

TEST_P(OnnxSmallFloatCast, SaturatesByDefault) {
  const double largest = onnx::small_float(GetParam())->largest;
  EXPECT_EQ(cast_to(GetParam(), {1e30, -1e30, kInfinity, -kInfinity, largest * 1.25}),
            (std::vector<double>{largest, -largest, largest, -largest, largest}));
}

TEST_P(OnnxSmallFloatCast, WithoutSaturationNumbersOutOfRangeAreNan) {
  const onnx::SmallFloat& format = *onnx::small_float(GetParam());
  const double unit = std::exp2(std::floor(std::log2(format.largest)) - format.mantissa_bits);
  // Up to half a unit above the largest number, numbers round down.
  const double inside = format.largest + unit * 0.49;
  const std::vector<double> results =
      cast_to(GetParam(), {inside, format.largest + unit * 0.51, -kInfinity, kNan},
              {integer_attribute("saturate", 0)});
  EXPECT_EQ(results[0], format.largest);
  const bool has_nan = format.nan >= 0;
  EXPECT_EQ(std::isnan(results[1]), has_nan);
  EXPECT_EQ(std::isnan(results[2]), has_nan);
  if (has_nan)
    EXPECT_TRUE(std::isnan(results[3]));
  else
    EXPECT_EQ(results[3], 0);
}

TEST_P(OnnxSmallFloatCast, OnlyTypesWithoutNanKeepTheSignOfZero) {
  const double zero = cast_to(GetParam(), {-0.0})[0];
  EXPECT_EQ(zero, 0);
  EXPECT_EQ(std::signbit(zero), onnx::small_float(GetParam())->nan < 0);
}

std::string type_name(const testing::TestParamInfo<ElementType>& type) {
  return onnx::element_type_name(type.param);
}
INSTANTIATE_TEST_SUITE_P(Types, OnnxSmallFloatCast,
                         testing::Values(ElementType::f4e2m1, ElementType::f6e2m3,
                                         ElementType::f6e3m2, ElementType::f8e4m3fnuz,
                                         ElementType::f8e5m2fnuz),
                         type_name);

TEST(OnnxScaleCast, RoundsToPowersOfTwo) {
  const std::vector<double> x{1, 1.25, 1.5, 1.75, 0, 0x1p-127, 0x1p-100};
  const auto rounded = [&](const char* mode) {
    return cast_to(ElementType::f8e8m0, x, {text_attribute("round_mode", mode)});
  };
  EXPECT_EQ(rounded("up"), (std::vector<double>{1, 2, 2, 2, 0x1p-127, 0x1p-127, 0x1p-100}));
  EXPECT_EQ(rounded("down"), (std::vector<double>{1, 1, 1, 1, 0x1p-127, 0x1p-127, 0x1p-100}));
  EXPECT_EQ(rounded("nearest"), (std::vector<double>{1, 1, 2, 2, 0x1p-127, 0x1p-127, 0x1p-100}));
}

/// In f32 these numbers would be 1, 2 and 1.5.
TEST(OnnxScaleCast, RoundsF64AndIntegersFromAllOfTheirBits) {
  const std::vector<double> x{1 - 0x1p-30, 2 - 0x1p-30, 1.5 - 0x1p-30, 1 + 0x1p-30, 0x1p-1040};
  const auto rounded = [&](const char* mode) {
    return cast_to(ElementType::f8e8m0, x, {text_attribute("round_mode", mode)}, ElementType::f64);
  };
  EXPECT_EQ(rounded("up"), (std::vector<double>{1, 2, 2, 2, 0x1p-127}));
  EXPECT_EQ(rounded("down"), (std::vector<double>{0.5, 1, 1, 1, 0x1p-127}));
  EXPECT_EQ(rounded("nearest"), (std::vector<double>{1, 2, 1, 1, 0x1p-127}));
  const ModelBuilder whole =
      cast_model(ElementType::f8e8m0, 1, {text_attribute("round_mode", "down")}, ElementType::i32);
  const HostArrays results = outputs_of(whole, {{"x", integer_array(i32, {1}, {(1 << 30) - 1})}});
  EXPECT_EQ(reals_of(results.at("y")), (std::vector<double>{0x1p29}));
  const double too_small = cast_to(ElementType::f8e8m0, {0x1p-127 * (1 - 0x1p-40)},
                                   {integer_attribute("saturate", 0)}, ElementType::f64)[0];
  EXPECT_TRUE(std::isnan(too_small));
}

TEST(OnnxScaleCast, QuantizesF64FromAllOfItsBits) {
  ModelBuilder builder;
  builder.input("x", {2}, ElementType::f64)
      .input("scale", {}, ElementType::f64)
      .add(
          node("QuantizeLinear", {"x", "scale"}, {"y"},
               {integer_attribute("output_dtype", static_cast<std::int64_t>(ElementType::f8e8m0))}))
      .output("y")
      .opset(25);
  const HostArrays results = outputs_of(builder, {{"x", real_array(f64, {2}, {0.5 + 0x1p-30, 0.5})},
                                                  {"scale", real_array(f64, {}, {0.5})}});
  EXPECT_EQ(reals_of(results.at("y")), (std::vector<double>{2, 1}));
}

TEST(OnnxScaleCast, SaturatesOrGivesNan) {
  const std::vector<double> x{0x1.8p127, kInfinity, 0, kNan};
  const std::vector<double> inside = cast_to(ElementType::f8e8m0, x);
  EXPECT_EQ(inside[0], 0x1p127);
  EXPECT_EQ(inside[1], 0x1p127);
  EXPECT_EQ(inside[2], 0x1p-127);
  EXPECT_TRUE(std::isnan(inside[3]));
  for (const double value : cast_to(ElementType::f8e8m0, x, {integer_attribute("saturate", 0)}))
    EXPECT_TRUE(std::isnan(value));
}

TEST(OnnxScaleCast, RefusesUnknownModes) {
  EXPECT_THAT(cast_model(ElementType::f8e8m0, 1, {text_attribute("round_mode", "odd")}).error(),
              HasSubstr("round_mode is odd; it must be up, down or nearest"));
}

/// The element type follows the elements, so that the zero point of a quantisation may be reshaped.
TEST(OnnxNarrowTypes, FollowViewsAndCasts) {
  ModelBuilder builder;
  onnx::TensorProto zeros;
  zeros.name = "zeros";
  zeros.dims = {1, 1};
  zeros.data_type = static_cast<std::int32_t>(ElementType::i4);
  zeros.int32_data = {0};
  builder.input("x", {3})
      .initializer(zeros)
      .initializer(real_tensor("scale", {}, {1}))
      .initializer(integer_tensor("shape", {0}, {}))
      .add("Reshape", {"zeros", "shape"}, {"zero"})
      .add("QuantizeLinear", {"x", "scale", "zero"}, {"y"})
      .add("CastLike", {"x", "zero"}, {"z"})
      .output("y")
      .output("z")
      .opset(25);
  const HostArrays results = outputs_of(builder, {{"x", real_array(f32, {3}, {-100, 3, 100})}});
  EXPECT_EQ(integers_of(results.at("y")), (std::vector<std::int64_t>{-8, 3, 7}));
  EXPECT_EQ(integers_of(results.at("z")), (std::vector<std::int64_t>{-4, 3, 4}));
}

TEST(OnnxNarrowTypes, HaveNoBitsToCast) {
  ModelBuilder builder;
  builder.input("x", {2}, ElementType::f8e4m3fnuz)
      .add(node("BitCast", {"x"}, {"y"}, {integer_attribute("to", 5)}))
      .output("y")
      .opset(26);
  EXPECT_THAT(builder.error(),
              HasSubstr("its input is FLOAT8E4M3FNUZ, whose bits sinter does not keep"));
}

}  // namespace
}  // namespace sinter::test::small_float_casts_test
