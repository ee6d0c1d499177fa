// Losses, compared with their closed forms.
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <gmock/gmock.h>

namespace sinter::losses_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using Exact = std::vector<long double>;

long double sum_of(const Exact& values) {
  long double total = 0;
  for (const long double value : values) total += value;
  return total;
}

/// Expects that `record(x, target, reduction)` gives `wanted`, its sum and its mean.
template <class Record>
void expect_reduced(const HostArray& x, const HostArray& target, const Record& record,
                    const Exact& wanted) {
  const auto value = [&](Reduction reduction) {
    return value_of(x, target, [&](Tensor a, Tensor b) { return record(a, b, reduction); });
  };
  expect_close(value(Reduction::none), wanted);
  expect_close(value(Reduction::sum), {sum_of(wanted)});
  expect_close(value(Reduction::mean), {sum_of(wanted) / static_cast<long double>(wanted.size())});
}

TEST(NnLossesTest, SquaredAndAbsoluteDifferences) {
  const HostArray x = array(f64, {2, 2}, {1, -2, 3, 0.5});
  const HostArray t = array(f64, {2, 2}, {2, 1, 3, 0});
  const auto mse = [](Tensor a, Tensor b, Reduction r) { return mse_loss(a, b, r); };
  const auto l1 = [](Tensor a, Tensor b, Reduction r) { return l1_loss(a, b, r); };
  const auto huber = [](Tensor a, Tensor b, Reduction r) { return huber_loss(a, b, 0.75, r); };
  expect_reduced(x, t, mse, {1, 9, 0, 0.25});
  expect_reduced(x, t, l1, {1, 3, 0, 0.5});
  expect_reduced(x, t, huber, {0.75L * (1 - 0.375L), 0.75L * (3 - 0.375L), 0, 0.125L});
  EXPECT_THAT(value_of(x, t, [](Tensor a, Tensor b) { return mse_loss(a, b); }).reals,
              ElementsAre(2.5625));
}

TEST(NnLossesTest, DifferencesOfIntegersDoNotWrap) {
  const Expected value = value_of(array(u8, {1, 255}), array(u8, {3, 0}),
                                  [](Tensor a, Tensor b) { return l1_loss(a, b, Reduction::sum); });
  EXPECT_EQ(value.dtype, f32);
  EXPECT_THAT(value.reals, ElementsAre(257.0));
}

TEST(NnLossesTest, HalvesAreSummedInF32) {
  // In bf16, 256 + 1 is 256.
  const HostArray x = array(bf16, std::vector<double>(300, 1.0));
  const Expected value =
      value_of(x, [](Tensor a) { return mse_loss(a, 0.0, Reduction::sum) * 0.5; });
  EXPECT_EQ(value.dtype, bf16);
  EXPECT_THAT(value.reals, ElementsAre(150.0));
}

TEST(NnLossesTest, BceWithLogitsIsAccurateFarFromZero) {
  const Reals x = {-2, 0.5, 0, 3};
  const Reals t = {1, 0, 0.25, 0.5};
  Exact wanted;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double share = 1 / (1 + std::exp(-static_cast<long double>(x[i])));
    wanted.push_back(-t[i] * std::log(share) - (1 - t[i]) * std::log(1 - share));
  }
  const auto bce = [](Tensor a, Tensor b, Reduction r) { return bce_with_logits(a, b, r); };
  expect_reduced(array(f64, x), array(f64, t), bce, wanted);
  const Expected far =
      value_of(array(f32, {1000, 1000, -1000, -1000}), array(f32, {0, 1, 0, 1}),
               [](Tensor a, Tensor b) { return bce_with_logits(a, b, Reduction::none); });
  EXPECT_THAT(far.reals, ElementsAre(1000.0, 0.0, 0.0, 1000.0));
}

TEST(NnLossesTest, KlDivAcceptsZeroTargetsAndLogTargets) {
  const Reals x = {-1, -2, -0.5};
  const Reals t = {0.25, 0, 0.75};
  const Exact wanted = {0.25L * (std::log(0.25L) + 1), 0, 0.75L * (std::log(0.75L) + 0.5L)};
  const auto plain = [](Tensor a, Tensor b, Reduction r) { return kl_div(a, b, false, r); };
  expect_reduced(array(f64, x), array(f64, t), plain, wanted);
  const auto logs = [](Tensor a, Tensor b, Reduction r) { return kl_div(a, b, true, r); };
  const Reals log_t = {-1.5, -0.25, -3};
  Exact wanted_logs;
  for (std::size_t i = 0; i < x.size(); ++i)
    wanted_logs.push_back(std::exp(static_cast<long double>(log_t[i])) * (log_t[i] - x[i]));
  expect_reduced(array(f64, x), array(f64, log_t), logs, wanted_logs);
}

/// Logits of three samples and four classes. The default ignore_index ignores one target.
class CrossEntropyTest : public testing::Test {
 protected:
  const Reals x = {1, 2, 0.5, -1, 0, -3, 4, 1, 2.5, 2, 2, 0};
  const HostArray logits = array(f64, {3, 4}, x);
  const HostArray targets = array(i64, {1, -100, 3});
  const Reals weight = {1, 2, 0.5, 3};

  long double log_share(std::size_t row, std::size_t column) const {
    long double total = 0;
    for (std::size_t i = 0; i < 4; ++i) total += std::exp(static_cast<long double>(x[4 * row + i]));
    return x[4 * row + column] - std::log(total);
  }
  /// The mean over classes of weighted losses.
  long double of_classes(std::size_t row, const Reals& weights) const {
    long double total = 0;
    for (std::size_t i = 0; i < 4; ++i) total -= log_share(row, i) * weights[i] / 4;
    return total;
  }
  Expected value(const CrossEntropyOptions& options) const {
    return value_of(logits, targets,
                    [&](Tensor a, Tensor t) { return cross_entropy(a, t, options); });
  }
  Expected weighted(CrossEntropyOptions options) const {
    return value_of({logits, targets, array(f64, weight)}, [&](const Tensors& in) {
      options.weight = in[2];
      return cross_entropy(in[0], in[1], options);
    });
  }
};

TEST_F(CrossEntropyTest, IgnoresTargets) {
  const Exact losses = {-log_share(0, 1), 0, -log_share(2, 3)};
  expect_close(value({.reduction = Reduction::none}), losses);
  expect_close(value({.reduction = Reduction::sum}), {sum_of(losses)});
  expect_close(value({}), {sum_of(losses) / 2});
  const Expected other = value({.ignore_index = 3, .reduction = Reduction::none});
  EXPECT_EQ(other.reals[2], 0);
  EXPECT_NE(other.reals[0], 0);
}

TEST_F(CrossEntropyTest, WeighsClassesAndDividesByTheirWeights) {
  const Exact losses = {-2 * log_share(0, 1), 0, -3 * log_share(2, 3)};
  expect_close(weighted({.reduction = Reduction::none}), losses);
  expect_close(weighted({}), {sum_of(losses) / 5});
}

TEST_F(CrossEntropyTest, SmoothsLabels) {
  const Reals ones = {1, 1, 1, 1};
  const Exact losses = {-0.75L * log_share(0, 1) + 0.25L * of_classes(0, ones), 0,
                        -0.75L * log_share(2, 3) + 0.25L * of_classes(2, ones)};
  expect_close(value({.label_smoothing = 0.25, .reduction = Reduction::none}), losses);
  expect_close(value({.label_smoothing = 0.25}), {sum_of(losses) / 2});
  const Exact all = {-1.5L * log_share(0, 1) + 0.25L * of_classes(0, weight), 0,
                     -2.25L * log_share(2, 3) + 0.25L * of_classes(2, weight)};
  expect_close(weighted({.label_smoothing = 0.25, .reduction = Reduction::none}), all);
  expect_close(weighted({.label_smoothing = 0.25}), {sum_of(all) / 5});
}

TEST_F(CrossEntropyTest, EqualsNllLossOfLogSoftmax) {
  const auto nll = [&](const NllOptions& options) {
    return value_of(logits, targets,
                    [&](Tensor a, Tensor t) { return nll_loss(log_softmax(a, 1), t, options); });
  };
  const Exact losses = {-log_share(0, 1), 0, -log_share(2, 3)};
  expect_close(nll({.reduction = Reduction::none}), losses);
  expect_close(nll({}), {sum_of(losses) / 2});
  const Expected weighted_nll = value_of(
      {logits, targets, array(f64, weight)},
      [](const Tensors& in) { return nll_loss(log_softmax(in[0], 1), in[1], {.weight = in[2]}); });
  expect_close(weighted_nll, {(2 * losses[0] + 3 * losses[2]) / 5});
}

TEST(NnLossesTest, CrossEntropyAcceptsExtraAxes) {
  // [1, 2, 3]: two classes at three positions.
  const HostArray logits = array(f64, {1, 2, 3}, {0, 1, 2, 0, 3, -1});
  const HostArray targets = array(i32, {1, 3}, {0, 1, 1});
  const Expected value = value_of(logits, targets, [](Tensor a, Tensor t) {
    return cross_entropy(a, t, {.reduction = Reduction::none});
  });
  EXPECT_THAT(value.shape, ElementsAre(1, 3));
  expect_close(value, {std::log(2.0L), std::log1p(std::exp(-2.0L)), std::log1p(std::exp(3.0L))});
}

TEST(NnLossesTest, CrossEntropyIsAccurateForLargeLogitsAndHalves) {
  const HostArray targets = array(i64, {1, 0});
  const auto none = [](Tensor a, Tensor t) {
    return cross_entropy(a, t, {.reduction = Reduction::none});
  };
  const Expected far = value_of(array(f32, {2, 2}, {1e4, 0, 1e4, 0}), targets, none);
  EXPECT_THAT(far.reals, ElementsAre(1e4, 0.0));
  const Expected half = value_of(array(bf16, {2, 2}, {0, 0, 100, 100}), targets, none);
  EXPECT_EQ(half.dtype, bf16);
  EXPECT_THAT(half.reals, ElementsAre(0.69140625, 0.69140625));  // log 2 in bf16
}

TEST(NnLossesTest, MeanOfNoTargetsIsNan) {
  const Expected value = value_of(array(f32, {1, 2}, {1, 2}), array(i64, {-100}),
                                  [](Tensor a, Tensor t) { return cross_entropy(a, t); });
  EXPECT_TRUE(std::isnan(value.reals[0]));
}

TEST(NnLossesTest, RejectsMismatchedShapes) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {4, 3});
  const Tensor row = graph.input("row", f32, {3});
  const Tensor targets = graph.input("targets", i64, {4});
  const Tensor wide = graph.input("wide", i64, {4, 1});
  EXPECT_THAT(error_of([&] { mse_loss(x, row); }),
              HasSubstr("mse_loss: x is f32[4, 3] and the target f32[3]; they must have one shape "
                        "(recorded at losses_test.cpp:"));
  EXPECT_THAT(error_of([&] { cross_entropy(x, wide); }),
              HasSubstr("cross_entropy: x is f32[4, 3] and the targets i64[4, 1]; they must be "
                        "[N, C, ...] and integers [N, ...]"));
  EXPECT_THAT(error_of([&] { nll_loss(row, targets); }), HasSubstr("x is f32[3]"));
  EXPECT_THAT(error_of([&] { nll_loss(x, targets, {.weight = targets}); }),
              HasSubstr("the weight is i64[4]; it must be [3], a number for each class"));
  EXPECT_THAT(error_of([&] { cross_entropy(x, targets, {.label_smoothing = 1.5}); }),
              HasSubstr("label_smoothing is 1.5; it must be in [0, 1]"));
  EXPECT_THAT(error_of([&] { huber_loss(x, x, 0); }), HasSubstr("delta is 0; it must be positive"));
}

}  // namespace
}  // namespace sinter::losses_test
