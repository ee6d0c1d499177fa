// gradient() of the composites at the boundaries of piecewise definitions: kinks, and points at
// which a smooth function switches formulas.
#include "sinter/views.h"
#include "tests/support/graphs/gradient_support.h"

#include <gmock/gmock.h>

namespace sinter::nn_slopes_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

struct Slope {
  const char* name;
  Tensor (*record)(Tensor);
  double at;
  double wanted;
};

// clang-format off
const Slope kSlopes[] = {
    {"relu",             [](Tensor x) { return relu(x); },                0,    0},
    {"relu_of_minus_0",  [](Tensor x) { return relu(x); },                -0.0, 0},
    {"clamp_low",        [](Tensor x) { return clamp(x, -1, 2); },        -1,   1},
    {"clamp_high",       [](Tensor x) { return clamp(x, -1, 2); },        2,    1},
    {"clamp_crossed",    [](Tensor x) { return clamp(x, 2, -1); },        2,    0},
    {"hardtanh_low",     [](Tensor x) { return hardtanh(x, -2, 0.5); },   -2,   0},
    {"hardtanh_high",    [](Tensor x) { return hardtanh(x, -2, 0.5); },   0.5,  0},
    {"hardsigmoid_low",  [](Tensor x) { return hardsigmoid(x); },         -3,   0},
    {"hardsigmoid_high", [](Tensor x) { return hardsigmoid(x); },         3,    0},
    {"hardswish_low",    [](Tensor x) { return hardswish(x); },           -3,   0},
    {"hardswish_high",   [](Tensor x) { return hardswish(x); },           3,    1},
    {"leaky_relu",       [](Tensor x) { return leaky_relu(x, 0.25); },    0,    0.25},
    {"elu",              [](Tensor x) { return elu(x, 0.5); },            0,    0.5},
    {"selu",             [](Tensor x) { return selu(x); },                0,    1.7580993408473766},
    {"sigmoid",          [](Tensor x) { return sigmoid(x); },             0,    0.25},
    {"sigmoid_minus_0",  [](Tensor x) { return sigmoid(x); },             -0.0, 0.25},
    {"silu",             [](Tensor x) { return silu(x); },                0,    0.5},
    {"swish",            [](Tensor x) { return swish(x, 3); },            0,    0.5},
    {"softplus",         [](Tensor x) { return softplus(x); },            0,    0.5},
    {"softplus_of_2x",   [](Tensor x) { return softplus(x, 2); },         0,    0.5},
    {"mish",             [](Tensor x) { return mish(x); },                0,    0.6},
    {"gelu",             [](Tensor x) { return gelu(x); },                0,    0.5},
    {"gelu_tanh",        [](Tensor x) { return gelu_tanh(x); },           0,    0.5},
    {"softsign",         [](Tensor x) { return softsign(x); },            0,    1},
    {"bce_with_logits",  [](Tensor x) { return bce_with_logits(x, 0.25, Reduction::sum); }, 0, 0.25},
    {"huber_loss",       [](Tensor x) { return huber_loss(x, 0.0, 0.5, Reduction::sum); }, 0.5, 0.5},
    {"l1_loss",          [](Tensor x) { return l1_loss(x, 2.0, Reduction::sum); },  2,  0},
    {"logaddexp_left",   [](Tensor x) { return logaddexp(x, 2.0); },      2,    0.5},
    {"logaddexp_right",  [](Tensor x) { return logaddexp(2.0, x); },      2,    0.5},
    {"logaddexp_of_inf", [](Tensor x) { return logaddexp(x, -kInf); },    1,    1},
};
// clang-format on

class NnSlope : public testing::TestWithParam<Slope> {};

TEST_P(NnSlope, MatchesTheFunction) {
  const auto record = [](Tensor x) { return gradient(sum(GetParam().record(x)), {x})[0]; };
  const Expected slope = value_of(array(f64, {GetParam().at}), record);
  EXPECT_NEAR(slope.reals[0], GetParam().wanted, 1e-15);
}

INSTANTIATE_TEST_SUITE_P(All, NnSlope, testing::ValuesIn(kSlopes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(NnSlopes, EqualOperandsOfLogaddexpGetHalfEach) {
  for (const std::size_t input : {0, 1}) {
    const auto record = [&](Tensor a, Tensor b) {
      const Tensor inputs[] = {a, b};
      return gradient(sum(logaddexp(a, b)), {inputs[input]})[0];
    };
    const Expected slopes = value_of(array(f64, {-3, 0, 700}), array(f64, {-3, 0, 700}), record);
    EXPECT_THAT(slopes.reals, ElementsAre(0.5, 0.5, 0.5));
  }
}

TEST(NnSlopes, CrossedLimitsOfClampUseTheHighLimit) {
  const auto record = [](const Tensors& t) {
    const Tensor y = clamp(t[0], t[1], t[2]);
    const std::vector<Tensor> parts = gradient(sum(y), {t[0], t[1], t[2]});
    return concat({parts[0], parts[1], parts[2]}, 0);
  };
  const Expected slopes = value_of({array(f64, {0}), array(f64, {3}), array(f64, {1})}, record);
  EXPECT_THAT(slopes.reals, ElementsAre(0, 0, 1));
}

TEST(NnSlopes, GridSampleAtAPixelUsesTheNextDifference) {
  // The four pixels of a row are at -0.75, -0.25, 0.25 and 0.75. Their values are squares.
  const HostArray x = array(f64, {1, 1, 1, 4}, {0, 1, 4, 9});
  const HostArray grid = array(f64, {1, 1, 2, 2}, {-0.25, 0, 0.25, 0});
  const auto record = [](Tensor image, Tensor points) {
    return gradient(sum(grid_sample(image, points)), {points})[0];
  };
  const Expected slopes = value_of(x, grid, record);
  // The distance of two pixels is 1/2.
  EXPECT_THAT(slopes.reals,
              ElementsAre(DoubleNear(6, 1e-14), testing::_, DoubleNear(10, 1e-14), testing::_));
}

}  // namespace
}  // namespace sinter::nn_slopes_test
