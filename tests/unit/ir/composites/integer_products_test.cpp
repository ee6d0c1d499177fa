// integer_matmul and integer_conv against sums written as loops.
#include "sinter/library_ops.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <random>

#include <gmock/gmock.h>

namespace sinter::integer_products_test {
namespace {

using test::error_of;
using testing::HasSubstr;
using Integers = std::vector<std::int64_t>;

HostArray random_array(DType dtype, std::vector<std::int64_t> shape, unsigned seed) {
  std::mt19937 random(seed);
  HostArray result(dtype, std::move(shape));
  const std::int64_t low = dtype == u8 ? 0 : -128;
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.set_integer_at(i, low + static_cast<std::int64_t>(random() % 256));
  return result;
}

Integers integers_of(const Expected& value) {
  EXPECT_EQ(value.dtype, i32);
  return {value.integers.begin(), value.integers.end()};
}

struct Zeros {
  DType a;
  DType b;
  bool has_zeros;
};

class IntegerProducts : public testing::TestWithParam<Zeros> {};

TEST_P(IntegerProducts, MatmulIsTheSumOfProducts) {
  const auto [of_a, of_b, has_zeros] = GetParam();
  constexpr std::int64_t kRows = 3, kCommon = 5, kColumns = 6;
  const HostArray a = random_array(of_a, {kRows, kCommon}, 1);
  const HostArray b = random_array(of_b, {kColumns, kCommon}, 2);
  const HostArray zero_a = random_array(of_a, {kRows, 1}, 3);
  const HostArray zero_b = random_array(of_b, {kColumns, 1}, 4);
  const Expected value =
      value_of(std::vector<HostArray>{a, b, zero_a, zero_b}, [&](const Tensors& x) {
        IntegerMatmulOptions options{.transpose_b = true};
        if (has_zeros) options.zero_a = x[2], options.zero_b = x[3];
        return integer_matmul(x[0], x[1], options);
      });
  Integers wanted;
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t column = 0; column < kColumns; ++column) {
      const std::int64_t p = has_zeros ? zero_a.integer_at(row) : 0;
      const std::int64_t q = has_zeros ? zero_b.integer_at(column) : 0;
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < kCommon; ++k)
        sum += (a.integer_at(row * kCommon + k) - p) * (b.integer_at(column * kCommon + k) - q);
      wanted.push_back(sum);
    }
  EXPECT_EQ(integers_of(value), wanted);
}

TEST_P(IntegerProducts, ConvCountsPaddingAsZero) {
  const auto [of_x, of_w, has_zeros] = GetParam();
  constexpr std::int64_t kImages = 2, kChannels = 4, kHeight = 6, kWidth = 5;
  constexpr std::int64_t kFilters = 6, kGroups = 2, kWindow = 2;
  constexpr std::int64_t kPerGroup = kChannels / kGroups;
  const HostArray x = random_array(of_x, {kImages, kChannels, kHeight, kWidth}, 1);
  const HostArray w = random_array(of_w, {kFilters, kPerGroup, kWindow, kWindow}, 2);
  const HostArray zero_x = random_array(of_x, {}, 3);
  const HostArray zero_w = random_array(of_w, {kFilters}, 4);
  const Expected value =
      value_of(std::vector<HostArray>{x, w, zero_x, zero_w}, [&](const Tensors& inputs) {
        IntegerConvOptions options;
        options.strides = {2, 1};
        options.dilations = {1, 2};
        options.padding_begin = {1, 0};
        options.padding_end = {0, 2};
        options.groups = kGroups;
        if (has_zeros) options.zero_x = inputs[2], options.zero_w = inputs[3];
        return integer_conv(inputs[0], inputs[1], options);
      });
  // (6 + 1 - 2) / 2 + 1 rows, and 5 + 2 - 3 + 1 columns.
  EXPECT_EQ(value.shape, (std::vector<std::int64_t>{kImages, kFilters, 3, 5}));
  Integers wanted;
  const std::int64_t p = has_zeros ? zero_x.integer_at(0) : 0;
  for (std::int64_t n = 0; n < kImages; ++n)
    for (std::int64_t k = 0; k < kFilters; ++k)
      for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t column = 0; column < 5; ++column) {
          const std::int64_t q = has_zeros ? zero_w.integer_at(k) : 0;
          std::int64_t sum = 0;
          for (std::int64_t c = 0; c < kPerGroup; ++c)
            for (std::int64_t r = 0; r < kWindow; ++r)
              for (std::int64_t s = 0; s < kWindow; ++s) {
                const std::int64_t at_row = 2 * row - 1 + r, at_column = column + 2 * s;
                if (at_row < 0 || at_row >= kHeight || at_column >= kWidth) continue;
                const std::int64_t channel = k / (kFilters / kGroups) * kPerGroup + c;
                const std::int64_t index[] = {n, channel, at_row, at_column};
                const std::int64_t of_filter[] = {k, c, r, s};
                sum += (x.integer(index) - p) * (w.integer(of_filter) - q);
              }
          wanted.push_back(sum);
        }
  EXPECT_EQ(integers_of(value), wanted);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, IntegerProducts,
                         testing::Values(Zeros{i8, i8, false}, Zeros{i8, i8, true},
                                         Zeros{u8, i8, true}, Zeros{u8, u8, false}));

TEST(IntegerProducts, RefuseOtherOperands) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {4, 4});
  const Tensor q = graph.input("q", i8, {4, 4});
  const Tensor row = graph.input("row", i8, {4});
  EXPECT_THAT(error_of([&] { integer_matmul(x, q); }),
              HasSubstr("integer_matmul: an operand is f32[4, 4]; it must be i8 or u8"));
  EXPECT_THAT(error_of([&] { integer_matmul(row, q); }),
              HasSubstr("an operand is i8[4]; it must have two axes or more"));
  EXPECT_THAT(error_of([&] { integer_matmul(q, q, {.zero_a = x}); }),
              HasSubstr("a zero point is f32[4, 4]; it must be an integer"));
  EXPECT_THAT(error_of([&] { integer_conv(q, q); }),
              HasSubstr("both need one to three spatial axes after two others"));
}

}  // namespace
}  // namespace sinter::integer_products_test
