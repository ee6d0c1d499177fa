// Arrays in host memory: strides, elements of all dtypes, and bitwise comparison.
#include "ir/shape/host_array.h"

#include "sinter/error.h"
#include "tests/support/graphs/oracle_support.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::host_array_test {
namespace {

using testing::ElementsAre;
using Index = std::vector<std::int64_t>;

void set_bits(HostArray& array, std::size_t offset, std::uint32_t bits) {
  std::memcpy(array.bytes().data() + offset * sizeof bits, &bits, sizeof bits);
}

TEST(HostArrayTest, IsRowMajorByDefault) {
  const HostArray dense(f32, {2, 3, 4});
  EXPECT_THAT(dense.strides(), ElementsAre(12, 4, 1));
  EXPECT_EQ(dense.bytes().size(), 96U);
  const HostArray padded(f16, {2, 3}, {8, 2});
  EXPECT_THAT(padded.strides(), ElementsAre(8, 2));
  EXPECT_EQ(padded.size(), 6);
  EXPECT_EQ(padded.bytes().size(), 2U * (8 + 4 + 1));
}

TEST(HostArrayTest, EmptyAndScalarArraysHaveTheirSizes) {
  EXPECT_EQ(HostArray(f32, {3, 0}).size(), 0);
  EXPECT_TRUE(HostArray(f32, {3, 0}).bytes().empty());
  EXPECT_EQ(HostArray(f64, {}).size(), 1);
  EXPECT_EQ(HostArray(f64, {}).bytes().size(), 8U);
}

TEST(HostArrayTest, AllDTypesHoldTheirValues) {
  for (const DType dtype : {f16, bf16, f32, f64})
    EXPECT_EQ(array(dtype, {-1.5}).real(Index{0}), -1.5) << name(dtype);
  for (const DType dtype : {i32, i64})
    EXPECT_EQ(array(dtype, {-7}).integer(Index{0}), -7) << name(dtype);
  EXPECT_EQ(array(boolean, {5}).integer(Index{0}), 1);
  EXPECT_EQ(array(boolean, {5}).real(Index{0}), 1);
  EXPECT_EQ(array(f16, {1e6}).real(Index{0}), kInf);
}

TEST(HostArrayTest, EqualBitsDistinguishesZerosButNotNans) {
  EXPECT_TRUE(equal_bits(array(f32, {1, kNaN}), array(f32, {1, kNaN})));
  EXPECT_FALSE(equal_bits(array(f32, {0.0}), array(f32, {-0.0})));
  HostArray a(f32, {1});
  HostArray b(f32, {1});
  set_bits(a, 0, 0x7fc00000);
  set_bits(b, 0, 0xffc12345);
  EXPECT_TRUE(equal_bits(a, b));
  set_bits(b, 0, 0x7f800000);
  EXPECT_FALSE(equal_bits(a, b));
}

TEST(HostArrayTest, FirstDifferenceIsInIndexOrder) {
  const HostArray rows = array(f32, {2, 2}, {0, 1, 2, 3});
  HostArray columns(f32, {2, 2}, {1, 2});
  for (std::int64_t i = 0; i < 4; ++i) columns.set_real_at(i, static_cast<double>(i));
  const auto difference = first_difference(rows, columns);
  ASSERT_TRUE(difference.has_value());
  EXPECT_THAT(*difference, ElementsAre(0, 1));
  columns.set_real_at(2, 1);
  columns.set_real_at(1, 2);
  EXPECT_FALSE(first_difference(rows, columns).has_value());
}

TEST(HostArrayTest, OffsetOutOfBoundsIsAnInternalError) {
  const HostArray x(f32, {2, 2});
  EXPECT_THROW(x.offset(Index{0, 2}), InternalError);
  EXPECT_THROW(x.offset(Index{0}), InternalError);
}

}  // namespace
}  // namespace sinter::host_array_test
