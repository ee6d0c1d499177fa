// The values of floats of 4 to 8 bits.
#include "tools/onnx/model/small_float.h"

#include "ir/shape/host_array.h"
#include "tools/onnx/model/element_type.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::test::small_float_test {
namespace {

using onnx::ElementType;
using onnx::small_float;
using onnx::small_float_value;

std::vector<double> values_of(ElementType type, std::vector<int> bits) {
  std::vector<double> values;
  for (const int element : bits) values.push_back(small_float_value(*small_float(type), element));
  return values;
}

TEST(OnnxSmallFloat, AllValuesOfF4) {
  EXPECT_EQ(values_of(ElementType::f4e2m1, {0, 1, 2, 3, 4, 5, 6, 7}),
            (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
  EXPECT_EQ(values_of(ElementType::f4e2m1, {9, 15}), (std::vector<double>{-0.5, -6}));
  EXPECT_TRUE(std::signbit(small_float_value(*small_float(ElementType::f4e2m1), 8)));
}

TEST(OnnxSmallFloat, SmallestAndLargestOfTheOthers) {
  EXPECT_EQ(values_of(ElementType::f6e2m3, {1, 7, 8, 31, 63}),
            (std::vector<double>{0.125, 0.875, 1, 7.5, -7.5}));
  EXPECT_EQ(values_of(ElementType::f6e3m2, {1, 3, 4, 31, 33}),
            (std::vector<double>{0x1p-4, 0x3p-4, 0x1p-2, 28, -0x1p-4}));
  EXPECT_EQ(values_of(ElementType::f8e4m3fnuz, {0, 1, 8, 0x7f, 0xff, 0x81}),
            (std::vector<double>{0, 0x1p-10, 0x1p-7, 240, -240, -0x1p-10}));
  EXPECT_EQ(values_of(ElementType::f8e5m2fnuz, {0, 1, 4, 0x7f, 0xff}),
            (std::vector<double>{0, 0x1p-17, 0x1p-15, 57344, -57344}));
  EXPECT_EQ(values_of(ElementType::f8e8m0, {0, 1, 127, 128, 254}),
            (std::vector<double>{0x1p-127, 0x1p-126, 1, 2, 0x1p127}));
}

TEST(OnnxSmallFloat, OneNanPerType) {
  int nans = 0;
  for (const auto type : {ElementType::f8e4m3fnuz, ElementType::f8e5m2fnuz, ElementType::f8e8m0})
    for (int bits = 0; bits < 256; ++bits)
      nans += std::isnan(small_float_value(*small_float(type), bits)) ? 1 : 0;
  EXPECT_EQ(nans, 3);
  EXPECT_TRUE(std::isnan(small_float_value(*small_float(ElementType::f8e4m3fnuz), 0x80)));
  EXPECT_TRUE(std::isnan(small_float_value(*small_float(ElementType::f8e8m0), 0xff)));
}

/// The dtype that holds a narrow type has all its values.
TEST(OnnxSmallFloat, DtypesHoldAllValues) {
  for (const auto type : {ElementType::f4e2m1, ElementType::f6e2m3, ElementType::f6e3m2,
                          ElementType::f8e4m3fnuz, ElementType::f8e5m2fnuz, ElementType::f8e8m0}) {
    const auto number = static_cast<std::int32_t>(type);
    HostArray array(*onnx::dtype_of(number), {1});
    for (int bits = 0; bits < 1 << onnx::narrow_bits(number); ++bits) {
      const double value = small_float_value(*small_float(type), bits);
      array.set_real_at(0, value);
      EXPECT_TRUE(std::isnan(value) || array.real_at(0) == value) << number << " " << bits;
    }
  }
}

TEST(OnnxSmallFloat, OtherTypesHaveNoFormat) {
  EXPECT_EQ(small_float(ElementType::f8e4m3fn), nullptr);
  EXPECT_EQ(small_float(ElementType::i4), nullptr);
}

}  // namespace
}  // namespace sinter::test::small_float_test
