// Edge cases of norm and std_dev: empty axes, and points at which the square root has no
// derivative.
#include "sinter/gradient.h"
#include "tests/support/graphs/nn_support.h"

#include <gmock/gmock.h>

namespace sinter::statistics_test {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(StatisticsTest, NormOfAnEmptyAxisIsZero) {
  const HostArray empty = array(f32, {2, 0}, {});
  for (const double p : {1.0, 2.0, kInf})
    EXPECT_THAT(value_of(empty, [&](Tensor x) { return norm(x, p, {1}); }).reals, ElementsAre(0, 0))
        << p;
}

TEST(StatisticsTest, NormsOfNanAndInfinity) {
  const HostArray x = array(f32, {3, 2}, {kNaN, 1, -kInf, 1, 0, 0});
  for (const double p : {1.0, 2.0, kInf})
    EXPECT_THAT(value_of(x, [&](Tensor y) { return norm(y, p, {1}); }).reals,
                ElementsAre(testing::IsNan(), kInf, 0))
        << p;
}

TEST(StatisticsTest, GradientOfANormIsZeroAtZero) {
  for (const double p : {1.0, 2.0, kInf})
    for (const DType dtype : {f64, f16}) {
      const auto slopes = [&](Tensor x) { return gradient(sum(norm(x, p, {1})), {x})[0]; };
      const Expected at_zero = value_of(array(dtype, {1, 2}, {0, 0}), slopes);
      EXPECT_THAT(at_zero.reals, Each(0)) << p;
    }
  const auto slopes = [](Tensor x) { return gradient(sum(norm(x, 2, {1})), {x})[0]; };
  expect_close(value_of(array(f64, {2, 2}, {3, -4, 0, 0}), slopes), {0.6L, -0.8L, 0, 0});
}

TEST(StatisticsTest, GradientOfStdDevIsZeroInAConstantRow) {
  const auto slopes = [](Tensor x) { return gradient(sum(std_dev(x, {1}, 0)), {x})[0]; };
  const HostArray x = array(f64, {2, 2}, {3, 3, 1, 5});
  expect_close(value_of(x, slopes), {0, 0, -0.5L, 0.5L});
  const Expected values = value_of(x, [](Tensor y) { return std_dev(y, {1}, 0); });
  EXPECT_THAT(values.reals, ElementsAre(0, 2));
}

TEST(StatisticsTest, StdDevOfOneElementWithCorrectionIsNan) {
  const Expected value = value_of(array(f32, {3}), [](Tensor x) { return std_dev(x, {}, 1); });
  EXPECT_THAT(value.reals, ElementsAre(testing::IsNan()));
}

}  // namespace
}  // namespace sinter::statistics_test
