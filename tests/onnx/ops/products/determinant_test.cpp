// Det: pivots, singular matrices and batches.
#include "tests/onnx/models/run_model.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::determinant_test {
namespace {

using testing::HasSubstr;

ModelBuilder det_model(std::vector<Dim> shape, onnx::ElementType type) {
  ModelBuilder builder;
  builder.input("x", std::move(shape), type).add("Det", {"x"}, {"y"}).output("y").opset(22);
  return builder;
}

/// The sum over all permutations.
double det_of(const std::vector<double>& x, std::size_t n) {
  if (n == 1) return x[0];
  double result = 0;
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> minor;
    for (std::size_t r = 1; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c)
        if (c != j) minor.push_back(x[r * n + c]);
    result += (j % 2 == 0 ? 1 : -1) * x[j] * det_of(minor, n - 1);
  }
  return result;
}

TEST(OnnxDet, OfBatchesOfEverySize) {
  for (int n = 1; n <= 6; ++n) {
    std::vector<double> values;
    for (int i = 0; i < 3 * n * n; ++i) values.push_back((i * 7919 + 13) % 101 / 10.0 - 5);
    const HostArray y = outputs_of(det_model({"b", n, n}, onnx::ElementType::f64),
                                   {{"x", real_array(f64, {3, n, n}, values)}})
                            .at("y");
    ASSERT_EQ(y.size(), 3);
    for (int b = 0; b < 3; ++b) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(b) * n * n;
      const double wanted = det_of({begin, begin + n * n}, static_cast<std::size_t>(n));
      EXPECT_NEAR(y.real_at(b), wanted, 1e-9 * (1 + std::abs(wanted))) << n;
    }
  }
}

TEST(OnnxDet, ExchangesRowsAndFindsSingularMatrices) {
  const auto det = [](const std::vector<double>& values) {
    return outputs_of(det_model({3, 3}, onnx::ElementType::f32),
                      {{"x", real_array(f32, {3, 3}, values)}})
        .at("y")
        .real_at(0);
  };
  EXPECT_EQ(det({0, 0, 2, 0, 3, 0, 4, 0, 0}), -24);
  EXPECT_EQ(det({0, 1, 0, 0, 0, 1, 1, 0, 0}), 1);
  EXPECT_EQ(det({0, 1, 2, 0, 3, 4, 0, 5, 6}), 0);
  EXPECT_EQ(det({0, 0, 0, 0, 0, 0, 0, 0, 0}), 0);
}

TEST(OnnxDet, NeedsSquareMatricesOfAKnownSize) {
  EXPECT_THAT(det_model({2, 3}, onnx::ElementType::f32).error(),
              HasSubstr("its matrices are 2 by 3; sinter imports square ones of 1 to 64 rows"));
  EXPECT_THAT(det_model({"n", "n"}, onnx::ElementType::f32).error(),
              HasSubstr("the node needs the size of n; give it with --dim"));
  EXPECT_THAT(det_model({2}, onnx::ElementType::f32).error(),
              HasSubstr("its input has rank 1; it must be at least 2"));
}

}  // namespace
}  // namespace sinter::test::determinant_test
