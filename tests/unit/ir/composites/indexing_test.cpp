// Masks, one_hot and grid_sample: dtypes of operands and results.
#include "sinter/text.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <gmock/gmock.h>

namespace sinter::indexing_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(IndexingTest, TrianglesKeepTheDType) {
  for (const DType dtype : {boolean, u8, i64, bf16, f32, f8e4m3}) {
    const HostArray x = array(dtype, {2, 2}, {1, 1, 1, 1});
    const Expected low = value_of(x, [](Tensor y) { return tril(y); });
    const Expected high = value_of(x, [](Tensor y) { return triu(y); });
    EXPECT_EQ(low.dtype, dtype);
    EXPECT_EQ(high.dtype, dtype);
    const double wanted_low[] = {1, 0, 1, 1};
    const double wanted_high[] = {1, 1, 0, 1};
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(low.real(i), wanted_low[i]) << name(dtype);
      EXPECT_EQ(high.real(i), wanted_high[i]) << name(dtype);
    }
  }
}

TEST(IndexingTest, OneHotOfAnIndexOutOfRangeIsZeros) {
  const auto record = [](Tensor x) { return one_hot(x, 2, i32); };
  EXPECT_THAT(value_of(array(i64, {1, -1, 2}), record).integers, ElementsAre(0, 1, 0, 0, 0, 0));
}

TEST(IndexingTest, OneHotRejectsFloatingIndices) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {3});
  EXPECT_THAT(error_of([&] { one_hot(x, 2, f32); }),
              HasSubstr("one_hot: the indices are f32[3]; they must be integers"));
}

TEST(IndexingTest, GridSampleHasTheDTypeOfTheImage) {
  Graph graph("test");
  const auto dtype_of = [&](DType image, DType grid) {
    const std::string names(std::string(name(image)) + "_" + std::string(name(grid)));
    const Tensor x = graph.input("x_" + names, image, {1, 1, 2, 2});
    const Tensor points = graph.input("g_" + names, grid, {1, 3, 3, 2});
    return grid_sample(x, points).dtype();
  };
  EXPECT_EQ(dtype_of(bf16, bf16), bf16);
  EXPECT_EQ(dtype_of(f16, f32), f16);
  EXPECT_EQ(dtype_of(f32, f16), f32);
  EXPECT_EQ(dtype_of(f32, f64), f32);
  EXPECT_EQ(dtype_of(f64, f32), f64);
  EXPECT_EQ(dtype_of(u8, f32), f32);
}

TEST(IndexingTest, GridSampleOfHalvesIsTheF32ResultRoundedOnce) {
  // In bf16, the position 300.25 among 512 pixels would round to 300.
  Reals row;
  for (int i = 0; i < 512; ++i) row.push_back(i % 7);
  const Reals points = {0.173828125, 0, -0.62109375, 0, 0.99609375, 0};
  const auto record = [](Tensor x, Tensor grid) { return grid_sample(x, grid, Border::nearest); };
  const Expected full =
      value_of(array(f32, {1, 1, 1, 512}, row), array(f32, {1, 1, 3, 2}, points), record);
  for (const DType dtype : {bf16, f16}) {
    const Expected half =
        value_of(array(dtype, {1, 1, 1, 512}, row), array(dtype, {1, 1, 3, 2}, points), record);
    const HostArray rounded = array(dtype, full.reals);
    EXPECT_EQ(half.dtype, dtype);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(half.real(i), rounded.real_at(i));
  }
}

TEST(IndexingTest, ParsesTranspose) {
  const auto statement = [](const std::string& text) {
    return parse("graph g(x: f32[2, 3, 4]) {\n  y = " + text + "\n  return y\n}");
  };
  const Graph graph = statement("transpose x {axes = [0, -1]}");
  EXPECT_EQ(to_string(graph.data().outputs[0].node->shape), "[4, 3, 2]");
  EXPECT_THAT(error_of([&] { statement("transpose x {axes = [0]}"); }),
              HasSubstr("transpose: 1 axes; give the two axes to swap"));
  EXPECT_THAT(error_of([&] { statement("transpose x {axes = [0, 4294967297]}"); }),
              HasSubstr("transpose: axis 4294967297 is out of range"));
  EXPECT_THAT(error_of([&] { statement("transpose 2.0 {axes = [0, 1]}"); }),
              HasSubstr("transpose: every operand is a number"));
}

}  // namespace
}  // namespace sinter::indexing_test
