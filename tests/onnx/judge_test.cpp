// The judge of ONNX's cases: which results it accepts, and which changes of verdicts it reports.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/ops.h"
#include "tests/onnx/judge/compare.h"
#include "tests/onnx/judge/exact.h"
#include "tests/onnx/judge/results.h"

namespace sinter::test::judge_test {
namespace {

using testing::HasSubstr;

HostArray reals(DType dtype, const std::vector<double>& values) {
  HostArray array(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    array.set_real_at(static_cast<std::int64_t>(i), values[i]);
  return array;
}

HostArray integers(DType dtype, const std::vector<std::int64_t>& values) {
  HostArray array(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    array.set_integer_at(static_cast<std::int64_t>(i), values[i]);
  return array;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(OnnxDifference, AcceptsTheTolerancesOfOnnx) {
  EXPECT_EQ(onnx_difference(reals(f32, {1.0009, 0.9e-7, kNan, -kInfinity}),
                            reals(f32, {1, 0, kNan, -kInfinity})),
            "");
  EXPECT_EQ(onnx_difference(reals(bf16, {1.0 + 0x1p-6}), reals(bf16, {1})), "");
}

TEST(OnnxDifference, NamesTheFirstElementThatDiffers) {
  EXPECT_EQ(onnx_difference(reals(f64, {0, 1.0011, 2.1}), reals(f64, {0, 1, 2})),
            "[1] is 1.0011, expected 1 (2 of 3 elements differ)");
  EXPECT_THAT(onnx_difference(reals(f32, {2e-7}), reals(f32, {0})), HasSubstr("expected 0"));
  EXPECT_THAT(onnx_difference(reals(f32, {kNan}), reals(f32, {1})), HasSubstr("is nan"));
  EXPECT_THAT(onnx_difference(reals(f32, {1}), reals(f32, {kNan})), HasSubstr("expected nan"));
  EXPECT_THAT(onnx_difference(reals(f32, {kInfinity}), reals(f32, {-kInfinity})),
              HasSubstr("is inf, expected -inf"));
  EXPECT_THAT(onnx_difference(reals(bf16, {1.0 + 0x1p-5}), reals(bf16, {1})), HasSubstr("[0]"));
}

TEST(OnnxDifference, ComparesIntegersExactly) {
  EXPECT_EQ(onnx_difference(integers(i64, {100000}), integers(i64, {100000})), "");
  EXPECT_EQ(onnx_difference(integers(i64, {100001}), integers(i64, {100000})),
            "[0] is 100001, expected 100000 (1 of 1 elements differ)");
}

TEST(OnnxDifference, ComparesDtypeAndShape) {
  EXPECT_EQ(onnx_difference(reals(f32, {1}), reals(f64, {1})), "is f32[1], expected f64[1]");
  EXPECT_EQ(onnx_difference(reals(f32, {1, 2}), reals(f32, {1})), "is f32[2], expected f32[1]");
}

TEST(OnnxInexactExpectation, NamesAnExpectedNumberThatIsFartherFromTheExactOne) {
  const auto with_ones = [](double first, std::size_t size) {
    std::vector<double> values(size, 1.0);
    values[0] = first;
    return values;
  };
  const auto judged = [&](double expected, std::size_t size) {
    return inexact_expectation(reals(f32, with_ones(0, size)),
                               reals(f32, with_ones(expected, size)),
                               reals(f64, with_ones(1e-9, size)));
  };
  EXPECT_EQ(judged(2e-7, 20), "[0] is 2e-07 instead of 1e-09 (1 of 20 elements)");
  // More than rounding errors: the definitions may differ.
  EXPECT_EQ(judged(1e-6, 20), "");
  // More than 5 % of the elements.
  EXPECT_EQ(judged(2e-7, 19), "");
  // Without a difference there is nothing to excuse.
  EXPECT_EQ(inexact_expectation(reals(f32, {1}), reals(f32, {1}), reals(f64, {1})), "");
}

TEST(OnnxInexactExpectation, ExcusesNoResultThatIsWorse) {
  const HostArray exact = reals(f64, {1});
  // Both are wrong, and the result is farther away.
  EXPECT_EQ(inexact_expectation(reals(f32, {1.0009}), reals(f32, {0.9995}), exact), "");
  // As far away on the other side.
  EXPECT_EQ(inexact_expectation(reals(f64, {1 + 0x1p-10}), reals(f64, {1 - 0x1p-10}), exact), "");
  // Closer, but not close.
  EXPECT_EQ(inexact_expectation(reals(f32, {1.002}), reals(f32, {1.1}), exact), "");
  // One element is excused, the other is wrong.
  EXPECT_EQ(inexact_expectation(reals(f32, {0, 2}), reals(f32, {2e-7, 1}), reals(f64, {0, 1})), "");
  EXPECT_EQ(inexact_expectation(reals(f32, {kNan}), reals(f32, {1}), exact), "");
  EXPECT_EQ(inexact_expectation(integers(i64, {1}), integers(i64, {2}), exact), "");
  EXPECT_EQ(inexact_expectation(reals(f32, {1, 1}), reals(f32, {1, 2}), exact), "");
}

TEST(OnnxExactResults, AreThoseOfF64) {
  Graph graph("exact");
  const Tensor x = graph.input("x", f16, {graph.extent("n")});
  graph.output("y", cast(sum(x * x, {0}), bf16));
  const HostArrays results = exact_results(graph, {{"x", reals(f16, {1 + 0x1p-10, 3})}});
  EXPECT_EQ(results.at("y").real_at(0), (1 + 0x1p-10) * (1 + 0x1p-10) + 9);
}

TEST(OnnxResults, EveryChangeOfAVerdictIsReported) {
  const FamilyResults before{
      .cases = 3, .passed = 1, .others = {{"a", "failed: x"}, {"b", "unsupported: y"}}};
  EXPECT_EQ(difference(before, before), "");
  FamilyResults now = before;
  now.passed = 2;
  now.others.erase("a");
  EXPECT_EQ(difference(now, before), "a: passes, or is gone; before: failed: x\n");
  now = before;
  now.others["b"] = "unsupported: z";
  EXPECT_EQ(difference(now, before), "b: unsupported: z; before: unsupported: y\n");
  now = before;
  now.passed = 0;
  now.others["c"] = "failed: w";
  EXPECT_EQ(difference(now, before), "c: failed: w; it passed before\n");
  now = before;
  now.with_constants = 1;
  EXPECT_EQ(difference(now, before), "1 of 3 pass, 1 with constant inputs; before: 1 of 3, 0\n");
}

TEST(OnnxResults, AnUnknownFamilyHasNone) {
  EXPECT_EQ(expected_results("NoSuchOperator"), FamilyResults{});
  EXPECT_GT(expected_results("Softmax").passed, 10);
}

}  // namespace
}  // namespace sinter::test::judge_test
