// MaxRoiPool against loops over regions and bins. ONNX has no case of it.
#include "tests/onnx/models/run_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::max_roi_pool_test {
namespace {

using testing::HasSubstr;

constexpr int kRows = 7;
constexpr int kColumns = 9;
constexpr int kChannels = 2;

double pixel(int image, int channel, int row, int column) {
  return (((image * kChannels + channel) * kRows + row) * kColumns + column) * 37 % 101 - 50;
}

struct Bin {
  int begin = 0;
  int end = 0;
};

Bin bin_of(double first, double last, int bin, int bins, int extent) {
  const double size = std::max(last - first + 1, 1.0) / bins;
  const auto inside = [&](double x) {
    return static_cast<int>(std::clamp(x + first, 0.0, static_cast<double>(extent)));
  };
  return {inside(std::floor(bin * size)), inside(std::ceil((bin + 1) * size))};
}

double largest_of(int image, int channel, Bin rows, Bin columns) {
  if (rows.end <= rows.begin || columns.end <= columns.begin) return 0;
  double result = -std::numeric_limits<double>::infinity();
  for (int row = rows.begin; row < rows.end; ++row)
    for (int column = columns.begin; column < columns.end; ++column)
      result = std::max(result, pixel(image, channel, row, column));
  return result;
}

ModelBuilder pooling(std::vector<std::int64_t> pooled) {
  ModelBuilder builder;
  builder.input("x", {2, kChannels, kRows, kColumns})
      .input("regions", {"r", 5})
      .add(node("MaxRoiPool", {"x", "regions"}, {"y"},
                {integers_attribute("pooled_shape", std::move(pooled)),
                 real_attribute("spatial_scale", 0.5)}))
      .output("y");
  return builder;
}

TEST(OnnxMaxRoiPool, TakesTheLargestOfEachBin) {
  std::vector<double> pixels;
  for (int image = 0; image < 2; ++image)
    for (int channel = 0; channel < kChannels; ++channel)
      for (int row = 0; row < kRows; ++row)
        for (int column = 0; column < kColumns; ++column)
          pixels.push_back(pixel(image, channel, row, column));
  // Inside; on one pixel, with halves; partly and completely outside.
  const std::vector<std::vector<double>> regions{
      {0, 2, 1, 12, 9}, {1, 5, 5, 5, 5}, {1, 10, 8, 40, 30}, {0, 60, 60, 70, 70}};
  std::vector<double> flat;
  for (const auto& region : regions) flat.insert(flat.end(), region.begin(), region.end());
  const HostArray y =
      outputs_of(pooling({3, 2}), {{"x", real_array(f32, {2, kChannels, kRows, kColumns}, pixels)},
                                   {"regions", real_array(f32, {4, 5}, flat)}})
          .at("y");
  ASSERT_EQ(y.size(), 4 * kChannels * 3 * 2);
  const auto corner = [](double x) { return std::floor(x * 0.5 + 0.5); };
  std::int64_t at = 0;
  for (const auto& region : regions)
    for (int channel = 0; channel < kChannels; ++channel)
      for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 2; ++column) {
          const Bin rows = bin_of(corner(region[2]), corner(region[4]), row, 3, kRows);
          const Bin columns = bin_of(corner(region[1]), corner(region[3]), column, 2, kColumns);
          EXPECT_EQ(y.real_at(at++),
                    largest_of(static_cast<int>(region[0]), channel, rows, columns));
        }
}

TEST(OnnxMaxRoiPool, NeedsTwoSizes) {
  EXPECT_THAT(pooling({3}).error(), HasSubstr("pooled_shape must be two numbers of at least 1"));
}

}  // namespace
}  // namespace sinter::test::max_roi_pool_test
