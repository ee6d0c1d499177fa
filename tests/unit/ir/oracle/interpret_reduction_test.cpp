// The oracle's reductions, compared with values computed by hand: empty axes, NaN, infinities and
// bounds.
#include "ir/oracle/interpret.h"
#include "sinter/error.h"
#include "tests/support/graphs/oracle_support.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::interpret_reduction_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const HostArray kGrid = array(f32, {2, 3}, {1, -2, 3, 4, 5, -6});

Tensor sum_all(Tensor x) { return sum(x); }
Tensor mean_all(Tensor x) { return mean(x); }
Tensor max_all(Tensor x) { return max(x); }
Tensor min_all(Tensor x) { return min(x); }
Tensor var_all(Tensor x) { return var(x); }
Tensor logsumexp_all(Tensor x) { return logsumexp(x); }
Tensor argmax_all(Tensor x) { return argmax(x, 0); }

TEST(InterpretReductionTest, SumsOverAnyAxes) {
  EXPECT_THAT(value_of(kGrid, [](Tensor x) { return sum(x, {0}); }).reals, ElementsAre(5, 3, -3));
  EXPECT_THAT(value_of(kGrid, [](Tensor x) { return sum(x, {1}); }).reals, ElementsAre(2, 3));
  EXPECT_THAT(value_of(kGrid, sum_all).reals, ElementsAre(5));
  const Expected kept = value_of(kGrid, [](Tensor x) { return sum(x, {-1}, keep); });
  EXPECT_THAT(kept.shape, ElementsAre(2, 1));
  const HostArray cube = array(f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(value_of(cube, [](Tensor x) { return sum(x, {0, 2}); }).reals, ElementsAre(14, 22));
}

TEST(InterpretReductionTest, SumsWithRepresentablePartsAreExact) {
  EXPECT_THAT(value_of(kGrid, sum_all).bounds, IsEmpty());
  const HostArray fractions = array(f32, {0.5, 0.25, 1e6});
  EXPECT_THAT(value_of(fractions, sum_all).bounds, IsEmpty());
}

TEST(InterpretReductionTest, BoundsOfRoundedSumsDependOnMagnitudes) {
  const Expected sum = value_of(array(f32, {1e8, 1, -1e8, 1}), sum_all);
  EXPECT_EQ(sum.reals[0], 2);
  EXPECT_GE(sum.bound(0), 2);
  EXPECT_LE(sum.bound(0), 4 * 0x1p-24 * 2e8 * 1.01);
}

TEST(InterpretReductionTest, SumsAddTheBoundsOfTheirElements) {
  const HostArray x = array(f32, {1, 1});
  const double one = value_of(array(f32, {1}), [](Tensor a) { return exp(a); }).bound(0);
  const double both = value_of(x, [](Tensor a) { return sum(exp(a)); }).bound(0);
  EXPECT_GE(both, 2 * one);
  EXPECT_LE(both, 2 * one + 2 * 0x1p-22);
  EXPECT_TRUE(
      value_of(array(f32, {0, 1}), [](Tensor a) { return sum(floor(exp(a))); }).is_undecided(0));
}

TEST(InterpretReductionTest, SumsHalvesInF32AndRoundsOnce) {
  std::vector<double> many(1000, 1.0);
  const Expected sum = value_of(array(bf16, many), sum_all);
  EXPECT_THAT(sum.reals, ElementsAre(1000.0));
  EXPECT_THAT(sum.bounds, IsEmpty());
  many.assign(257, 1.0);
  EXPECT_THAT(value_of(array(bf16, many), sum_all).reals, ElementsAre(256.0));
}

TEST(InterpretReductionTest, SumsOfIntegersAreI64) {
  EXPECT_THAT(value_of(array(i32, {2147483647, 1}), sum_all).integers, ElementsAre(2147483648));
  EXPECT_THAT(value_of(array(boolean, {1, 0, 1}), sum_all).integers, ElementsAre(2));
  const std::vector<std::int64_t> ends = {INT64_MAX, 1};
  EXPECT_THAT(value_of(integer_array(i64, {2}, ends), sum_all).integers, ElementsAre(INT64_MIN));
}

TEST(InterpretReductionTest, EmptyReductionsReturnTheIdentity) {
  const HostArray none(f32, {0});
  const Expected total = value_of(none, sum_all);
  EXPECT_THAT(total.reals, ElementsAre(0));
  EXPECT_FALSE(std::signbit(total.reals[0]));
  EXPECT_THAT(value_of(none, max_all).reals, ElementsAre(-kInf));
  EXPECT_THAT(value_of(none, min_all).reals, ElementsAre(kInf));
  EXPECT_TRUE(std::isnan(value_of(none, mean_all).reals[0]));
  EXPECT_TRUE(std::isnan(value_of(none, var_all).reals[0]));
  EXPECT_THAT(value_of(HostArray(i32, {0}), max_all).integers, ElementsAre(INT32_MIN));
  EXPECT_THAT(value_of(HostArray(i64, {0}), min_all).integers, ElementsAre(INT64_MAX));
  EXPECT_THAT(value_of(HostArray(i64, {0}), sum_all).integers, ElementsAre(0));
  EXPECT_THAT(value_of(HostArray(f32, {2, 0}), [](Tensor x) { return sum(x, {1}); }).reals,
              ElementsAre(0, 0));
  EXPECT_THAT(value_of(HostArray(f32, {2, 0}), [](Tensor x) { return sum(x, {0}); }).reals,
              IsEmpty());
}

TEST(InterpretReductionTest, NanAndInfinitiesPropagate) {
  const HostArray with_nan = array(f32, {1, kNaN, kInf});
  for (const auto reduce : {sum_all, mean_all, max_all, min_all, var_all}) {
    const Expected value = value_of(with_nan, reduce);
    EXPECT_TRUE(std::isnan(value.reals[0]));
    EXPECT_THAT(value.bounds, IsEmpty());
  }
  EXPECT_TRUE(std::isnan(value_of(array(f32, {kInf, -kInf, 1}), sum_all).reals[0]));
  EXPECT_THAT(value_of(array(f32, {kInf, 2, 1}), sum_all).reals, ElementsAre(kInf));
  EXPECT_THAT(value_of(array(f32, {kInf, 2, 1}), max_all).reals, ElementsAre(kInf));
  EXPECT_TRUE(std::isnan(value_of(array(f32, {kInf, 2, 1}), var_all).reals[0]));
}

TEST(InterpretReductionTest, PartialSumsThatMayOverflowAreUndecided) {
  EXPECT_TRUE(value_of(array(f32, {3e38, 3e38, -3e38}), sum_all).is_undecided(0));
  const Expected certain = value_of(array(f32, {3e38, 3e38, 3e38}), sum_all);
  EXPECT_THAT(certain.reals, ElementsAre(kInf));
  EXPECT_THAT(certain.bounds, IsEmpty());
}

TEST(InterpretReductionTest, MeanIsTheF32SumDividedAndRounded) {
  EXPECT_THAT(value_of(array(f32, {1, 2, 4}), mean_all).reals, ElementsAre(7.0F / 3.0F));
  EXPECT_THAT(value_of(array(bf16, {1, 2, 4}), mean_all).reals, ElementsAre(2.328125));
}

TEST(InterpretReductionTest, VarianceDividesByCountMinusCorrection) {
  const HostArray x = array(f32, {1, 2, 3, 6});
  const Expected population = value_of(x, var_all);
  EXPECT_EQ(population.reals[0], 3.5);
  EXPECT_LT(population.bound(0), 2e-5);
  EXPECT_GT(population.bound(0), 0);
  EXPECT_EQ(value_of(x, [](Tensor a) { return var(a, {}, 1); }).reals[0], 14.0F / 3.0F);
  EXPECT_EQ(value_of(x, [](Tensor a) { return var_mean(a).mean; }).reals[0], 3);
  EXPECT_THAT(value_of(array(f32, {5}), var_all).reals, ElementsAre(0));
  EXPECT_TRUE(
      std::isnan(value_of(array(f32, {5}), [](Tensor a) { return var(a, {}, 1); }).reals[0]));
}

TEST(InterpretReductionTest, VarianceIsAccurateFarFromZero) {
  const HostArray x = array(f32, {10000, 10001, 10002, 10003});
  const Expected value = value_of(x, var_all);
  EXPECT_EQ(value.reals[0], 1.25);
  EXPECT_LT(value.bound(0), 0.1);
}

TEST(InterpretReductionTest, LogsumexpNeverOverflows) {
  const auto two = static_cast<double>(std::log(2.0L));
  for (const double at : {-1e4, -1000.0, 0.0, 1000.0, 3e38}) {
    const Expected value = value_of(array(f32, {at, at}), logsumexp_all);
    EXPECT_EQ(value.reals[0], static_cast<float>(static_cast<float>(at) + two)) << at;
    EXPECT_LE(value.bound(0), 0x1p-20 * std::max(1.0, std::fabs(at))) << at;
  }
  const Expected far = value_of(array(f32, {-3e38, 3e38}), logsumexp_all);
  EXPECT_EQ(far.reals[0], 3e38F);
  EXPECT_THAT(far.bounds, IsEmpty());
}

TEST(InterpretReductionTest, LogsumexpOfInfinitiesAndNan) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const HostArray x = array(dtype, {6, 3},
                              {-kInf, -kInf, -kInf, -kInf, 2, -kInf, kInf, 1, -kInf, kInf, kInf,
                               kInf, kNaN, kInf, 1, -kInf, -kInf, kNaN});
    const Expected rows = value_of(x, [](Tensor y) { return logsumexp(y, {1}); });
    EXPECT_EQ(rows.dtype, dtype);
    EXPECT_THAT(std::span(rows.reals).first(4), ElementsAre(-kInf, 2, kInf, kInf));
    EXPECT_TRUE(std::isnan(rows.reals[4]));
    EXPECT_TRUE(std::isnan(rows.reals[5]));
    for (const std::int64_t row : {0, 2, 3, 4, 5}) EXPECT_EQ(rows.bound(row), 0) << row;
  }
}

TEST(InterpretReductionTest, LogsumexpOfEmptyAxesAndOfOneElement) {
  const HostArray none(f32, {2, 0});
  EXPECT_THAT(value_of(none, [](Tensor x) { return logsumexp(x, {1}); }).reals,
              ElementsAre(-kInf, -kInf));
  for (const double one : {-1e30, -0.1, 0.0, 7.0}) {
    const Expected value = value_of(array(f64, {one}), logsumexp_all);
    EXPECT_THAT(value.reals, ElementsAre(one));
    EXPECT_THAT(value.bounds, IsEmpty());
  }
}

TEST(InterpretReductionTest, LogsumexpOfHalvesAndIntegers) {
  // In f16, the sum would stop at 2048. log 4096 = 8.3178.
  const std::vector<double> zeros(4096, 0.0);
  EXPECT_THAT(value_of(array(f16, zeros), logsumexp_all).reals, ElementsAre(8.3203125));
  const Expected whole = value_of(array(i32, {3, 3}), logsumexp_all);
  EXPECT_EQ(whole.dtype, f32);
  EXPECT_FLOAT_EQ(static_cast<float>(whole.reals[0]), 3.6931472F);
}

TEST(InterpretReductionTest, BoundOfLogsumexpCoversInexactElements) {
  const double one = value_of(array(f32, {3}), [](Tensor a) { return exp(a); }).bound(0);
  const auto record = [](Tensor x) { return logsumexp(exp(x)); };
  const double both = value_of(array(f32, {3, 3}), record).bound(0);
  EXPECT_GE(both, one);
  EXPECT_LE(both, one + 4 * 0x1p-19);  // one ulp of the result is 2^-19
}

TEST(InterpretReductionTest, BoundsOfExtremesCoverInexactElements) {
  const HostArray x = array(f32, {0, 1, 0.5});
  const double at_largest = value_of(array(f32, {1}), [](Tensor a) { return exp(a); }).bound(0);
  const Expected largest = value_of(x, [](Tensor a) { return max(exp(a)); });
  EXPECT_EQ(largest.bound(0), at_largest);
  const Expected smallest = value_of(x, [](Tensor a) { return min(exp(a)); });
  EXPECT_EQ(smallest.reals[0], 1);
  EXPECT_GT(smallest.bound(0), 0);
}

TEST(InterpretReductionTest, ArgmaxReturnsTheFirstNanOrTheFirstLargest) {
  EXPECT_THAT(value_of(array(f32, {1, 3, 3, 2}), argmax_all).integers, ElementsAre(1));
  EXPECT_THAT(value_of(array(f32, {1, kNaN, 3, kNaN}), argmax_all).integers, ElementsAre(1));
  EXPECT_THAT(value_of(array(f32, {-0.0, 0.0}), argmax_all).integers, ElementsAre(0));
  EXPECT_THAT(value_of(array(f32, {-kInf, -kInf}), argmax_all).integers, ElementsAre(0));
  EXPECT_THAT(value_of(array(i32, {4, 9, 9}), argmax_all).integers, ElementsAre(1));
  EXPECT_THAT(value_of(kGrid, [](Tensor x) { return argmax(x, 1); }).integers, ElementsAre(2, 1));
}

TEST(InterpretReductionTest, ArgmaxOverSeveralAxesIsARowMajorIndex) {
  // [2, 2, 3] with the values 0 … 11, so the last element along each axis is the largest.
  std::vector<double> values(12);
  for (std::size_t i = 0; i < 12; ++i) values[i] = static_cast<double>(i);
  const HostArray cube = array(f32, {2, 2, 3}, values);
  EXPECT_THAT(value_of(cube, [](Tensor x) { return argmax(x); }).integers, ElementsAre(11));
  EXPECT_THAT(value_of(cube, [](Tensor x) { return argmax(x, {}); }).integers, ElementsAre(11));
  const Expected kept = value_of(cube, [](Tensor x) { return argmax(x, {-1, 0}, keep); });
  EXPECT_THAT(kept.integers, ElementsAre(5, 5));
  EXPECT_THAT(kept.shape, ElementsAre(1, 2, 1));
  const auto index_of_min = [](Tensor x) { return min_with_index(-x, {1, 2}).index; };
  EXPECT_THAT(value_of(cube, index_of_min).integers, ElementsAre(5, 5));
}

TEST(InterpretReductionTest, ArgmaxIsUndecidedWhenTheRunnerUpIsWithinBounds) {
  const auto record = [](Tensor x) { return argmax(concat({exp(x), x}, 0), 0); };
  EXPECT_TRUE(value_of(array(f32, {0, 1}), record).bounds.empty());
  const auto close = [](Tensor x) { return argmax(exp(x), 0); };
  EXPECT_TRUE(value_of(array(f32, {1, 1 + 0x1p-23}), close).is_undecided(0));
  EXPECT_TRUE(value_of(array(f32, {1, 1.001}), close).bounds.empty());
  const auto masked = [](Tensor x) { return argmax(where(x > 0.5, exp(x), -kInf), 0); };
  EXPECT_TRUE(value_of(array(f32, {0, 1, 0.2}), masked).bounds.empty());
}

TEST(InterpretReductionTest, RejectsArgmaxOfAnEmptyAxis) {
  Graph graph("empty");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows});
  graph.output("y", argmax(x, 0));
  EXPECT_THROW(interpret(graph, {{"x", HostArray(f32, {0})}}, std::vector<std::int64_t>{0}),
               UserError);
}

}  // namespace
}  // namespace sinter::interpret_reduction_test
