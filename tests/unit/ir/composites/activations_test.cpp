// Activations, arithmetic, functions over axes and quantisation, compared with their closed forms.
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <functional>

#include <gmock/gmock.h>

namespace sinter::activations_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

long double logistic(long double x) { return 1 / (1 + std::exp(-x)); }

struct Activation {
  const char* name;
  std::function<Tensor(Tensor)> record;
  std::function<long double(long double)> exact;
};

// clang-format off
const Activation kActivations[] = {
    {"leaky_relu",  [](Tensor x) { return leaky_relu(x); },       [](long double x) { return x > 0 ? x : x * 0.01; }},
    {"elu",         [](Tensor x) { return elu(x, 0.5); },         [](long double x) { return x > 0 ? x : 0.5L * std::expm1(x); }},
    {"selu",        [](Tensor x) { return selu(x); },             [](long double x) { return 1.0507009873554804934L * (x > 0 ? x : 1.6732632423543772848L * std::expm1(x)); }},
    {"silu",        [](Tensor x) { return silu(x); },             [](long double x) { return x * logistic(x); }},
    {"swish",       [](Tensor x) { return swish(x, 1.75); },      [](long double x) { return x * logistic(1.75L * x); }},
    {"mish",        [](Tensor x) { return mish(x); },             [](long double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"softplus",    [](Tensor x) { return softplus(x); },         [](long double x) { return x > 20 ? x : std::log1p(std::exp(x)); }},
    {"softplus3",   [](Tensor x) { return softplus(x, 3, 10); },  [](long double x) { return 3 * x > 10 ? x : std::log1p(std::exp(3 * x)) / 3; }},
    {"gelu_tanh",   [](Tensor x) { return gelu_tanh(x); },        [](long double x) { return x / 2 * (1 + std::tanh(0.79788456080286535588L * (x + 0.044715L * x * x * x))); }},
    {"hardswish",   [](Tensor x) { return hardswish(x); },        [](long double x) { return x * std::fmin(std::fmax(x + 3, 0.0L), 6.0L) / 6; }},
    {"hardsigmoid", [](Tensor x) { return hardsigmoid(x); },      [](long double x) { return std::fmin(std::fmax(x + 3, 0.0L), 6.0L) / 6; }},
    {"hardtanh",    [](Tensor x) { return hardtanh(x, -2, 0.5); }, [](long double x) { return std::fmin(std::fmax(x, -2.0L), 0.5L); }},
    {"softsign",    [](Tensor x) { return softsign(x); },         [](long double x) { return x / (1 + std::fabs(x)); }},
    {"swiglu",      [](Tensor x) { return swiglu(x, x * 2.0); },  [](long double x) { return x * logistic(x) * 2 * x; }},
    {"geglu",       [](Tensor x) { return geglu(x, x * 2.0); },   [](long double x) { return x / 2 * (1 + std::erf(x * 0.70710678118654752440L)) * 2 * x; }},
};
// clang-format on

class ActivationTest : public testing::TestWithParam<Activation> {};

TEST_P(ActivationTest, MatchesItsClosedForm) {
  const Reals points = {-30, -5.5, -3, -1, -0.375, 0, 0.25, 0.5, 1, 2.875, 3.125, 7, 21, 30};
  std::vector<long double> wanted;
  for (const double point : points) wanted.push_back(GetParam().exact(point));
  expect_close(value_of(array(f64, points), GetParam().record), wanted);
}

TEST_P(ActivationTest, ComputesHalvesInF32) {
  const Reals points = {-2.5, -0.75, 0.0625, 1.5};
  const Expected half = value_of(array(bf16, points), GetParam().record);
  EXPECT_EQ(half.dtype, bf16);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto exact = static_cast<double>(GetParam().exact(points[i]));
    // One rounding to 8 bits, plus the error of f32.
    EXPECT_NEAR(half.reals[i], exact, (0x1p-8 + 1e-5) * std::fabs(exact)) << points[i];
  }
}

TEST_P(ActivationTest, NanGivesNan) {
  const Expected value = value_of(array(f32, {kNaN}), GetParam().record);
  EXPECT_TRUE(std::isnan(value.reals[0]));
}

TEST_P(ActivationTest, AcceptsIntegers) {
  const Expected value = value_of(array(i32, {-2, 0, 3}), GetParam().record);
  EXPECT_EQ(value.dtype, f32);
  EXPECT_NEAR(value.reals[2], static_cast<double>(GetParam().exact(3)), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest, testing::ValuesIn(kActivations),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(NnTest, ActivationsStayFiniteFarFromZero) {
  const HostArray far = array(f32, {-1000, 1000});
  EXPECT_THAT(value_of(far, [](Tensor x) { return softplus(x); }).reals, ElementsAre(0.0, 1000.0));
  EXPECT_THAT(value_of(far, [](Tensor x) { return softplus(x, 1, kInf); }).reals,
              ElementsAre(0.0, 1000.0));
  EXPECT_THAT(value_of(far, [](Tensor x) { return mish(x); }).reals, ElementsAre(-0.0, 1000.0));
  EXPECT_THAT(value_of(far, [](Tensor x) { return silu(x); }).reals, ElementsAre(-0.0, 1000.0));
  EXPECT_THAT(value_of(far, [](Tensor x) { return elu(x); }).reals, ElementsAre(-1.0, 1000.0));
  const HostArray huge = array(f32, {-0x1p100, 0x1p100});
  EXPECT_THAT(value_of(huge, [](Tensor x) { return gelu_tanh(x); }).reals,
              ElementsAre(-0.0, 0x1p100));
}

TEST(NnTest, GeluTanhIsAccurateBelowZero) {
  const long double x = -5;
  const long double u = 0.79788456080286535588L * (x + 0.044715L * x * x * x);
  const auto exact = static_cast<double>(x / (1 + std::exp(-2 * u)));
  const Expected value = value_of(array(f32, {-5}), [](Tensor y) { return gelu_tanh(y); });
  EXPECT_NEAR(value.reals[0], exact, 1e-5 * std::fabs(exact));
}

TEST(NnTest, PromotesOperandsToTheCommonDType) {
  const auto record = [](Tensor gate, Tensor up) { return swiglu(gate, up); };
  EXPECT_EQ(value_of(array(bf16, {1}), array(bf16, {1}), record).dtype, bf16);
  EXPECT_EQ(value_of(array(bf16, {1}), array(f16, {1}), record).dtype, f32);
  EXPECT_EQ(value_of(array(f32, {1}), array(f64, {1}), record).dtype, f64);
  EXPECT_EQ(value_of(array(i8, {1}), array(bf16, {1}), record).dtype, bf16);
}

TEST(NnTest, ClampKeepsNanAndTheDType) {
  const Expected reals =
      value_of(array(f32, {-5, 0.5, 5, kNaN}), [](Tensor x) { return clamp(x, -1, 2); });
  EXPECT_THAT(reals.reals, ElementsAre(-1.0, 0.5, 2.0, testing::IsNan()));
  const Expected whole = value_of(array(i8, {-5, 1, 5}), [](Tensor x) { return clamp(x, -1, 2); });
  EXPECT_EQ(whole.dtype, i8);
  EXPECT_THAT(whole.integers, ElementsAre(-1, 1, 2));
  const Expected crossed =
      value_of(array(f32, {0, 5}), [](Tensor x) { return clamp(x, 3.0, 1.0); });
  EXPECT_THAT(crossed.reals, ElementsAre(1.0, 1.0));
}

TEST(NnTest, LerpIsExactAtWeights0And1) {
  const HostArray a = array(f32, {0x1p100, 3});
  const HostArray b = array(f32, {1, 0x1p-100});
  EXPECT_THAT(value_of(a, b, [](Tensor x, Tensor y) { return lerp(x, y, 0.0); }).reals,
              ElementsAre(0x1p100, 3.0));
  EXPECT_THAT(value_of(a, b, [](Tensor x, Tensor y) { return lerp(x, y, 1.0); }).reals,
              ElementsAre(1.0, 0x1p-100));
  const Expected by_tensor =
      value_of({array(f64, {2, 2, 2, 2}), array(f64, {6, 6, 6, 6}), array(f64, {0, 0.25, 0.75, 1})},
               [](const Tensors& in) { return lerp(in[0], in[1], in[2]); });
  EXPECT_THAT(by_tensor.reals, ElementsAre(2.0, 3.0, 5.0, 6.0));
}

TEST(NnTest, AddcmulAndAddcdivScaleTheAddend) {
  const std::vector<HostArray> inputs = {array(f64, {1, 2}), array(f64, {3, 5}),
                                         array(f64, {4, 8})};
  const auto record = [&](auto call) { return value_of(inputs, call).reals; };
  EXPECT_THAT(record([](const Tensors& in) { return addcmul(in[0], in[1], in[2]); }),
              ElementsAre(13.0, 42.0));
  EXPECT_THAT(record([](const Tensors& in) { return addcmul(in[0], in[1], in[2], 0.5); }),
              ElementsAre(7.0, 22.0));
  EXPECT_THAT(record([](const Tensors& in) { return addcdiv(in[0], in[1], in[2]); }),
              ElementsAre(1.75, 2.625));
  EXPECT_THAT(record([](const Tensors& in) { return addcdiv(in[0], in[1], in[2], -2); }),
              ElementsAre(-0.5, 0.75));
}

TEST(NnTest, LogaddexpHandlesLargeValuesAndInfinities) {
  const HostArray a = array(f64, {1, 1000, -1000, -kInf, -kInf, kInf, kInf});
  const HostArray b = array(f64, {2, 1001, -1001, -kInf, 3, kInf, -kInf});
  const Expected value = value_of(a, b, [](Tensor x, Tensor y) { return logaddexp(x, y); });
  const double above = static_cast<double>(std::log1p(std::exp(-1.0L)));
  EXPECT_NEAR(value.reals[0], 2 + above, 1e-14);
  EXPECT_NEAR(value.reals[1], 1001 + above, 1e-12);
  EXPECT_NEAR(value.reals[2], -1000 + above, 1e-12);
  EXPECT_EQ(value.reals[3], -kInf);
  EXPECT_EQ(value.reals[4], 3);
  EXPECT_EQ(value.reals[5], kInf);
  EXPECT_EQ(value.reals[6], kInf);
}

TEST(NnTest, LogsumexpDoesNotOverflow) {
  const HostArray x = array(
      f64, {5, 3}, {1, 2, 3, 1000, 1001, 1002, -kInf, -kInf, -kInf, kInf, 1, -kInf, kNaN, 1, 2});
  const Expected rows = value_of(x, [](Tensor y) { return logsumexp(y, {-1}); });
  EXPECT_THAT(rows.shape, ElementsAre(5));
  const auto above = static_cast<double>(std::log(std::exp(-2.0L) + std::exp(-1.0L) + 1));
  EXPECT_NEAR(rows.reals[0], 3 + above, 1e-14);
  EXPECT_NEAR(rows.reals[1], 1002 + above, 1e-12);
  EXPECT_EQ(rows.reals[2], -kInf);
  EXPECT_EQ(rows.reals[3], kInf);
  EXPECT_TRUE(std::isnan(rows.reals[4]));
  EXPECT_THAT(value_of(x, [](Tensor y) { return logsumexp(y, {1}, keep); }).shape,
              ElementsAre(5, 1));
  EXPECT_THAT(value_of(x, [](Tensor y) { return logsumexp(y); }).shape, ElementsAre());
  const HostArray empty = array(f32, {2, 0}, {});
  EXPECT_THAT(value_of(empty, [](Tensor y) { return logsumexp(y, {1}); }).reals,
              ElementsAre(-kInf, -kInf));
}

TEST(NnTest, NormsOfVectors) {
  const HostArray x = array(f64, {2, 2}, {3, -4, -5, 12});
  EXPECT_THAT(value_of(x, [](Tensor y) { return norm(y, 1, {1}); }).reals, ElementsAre(7, 17));
  EXPECT_THAT(value_of(x, [](Tensor y) { return norm(y, 2, {1}); }).reals, ElementsAre(5, 13));
  EXPECT_THAT(value_of(x, [](Tensor y) { return norm(y, kInf, {0}); }).reals, ElementsAre(5, 12));
  EXPECT_THAT(value_of(x, [](Tensor y) { return norm(y); }).shape, ElementsAre());
  Graph graph("test");
  const Tensor y = graph.input("y", f32, {2});
  EXPECT_THAT(
      error_of([&] { norm(y, 3); }),
      HasSubstr("norm: p is 3; it must be 1, 2 or infinity (recorded at activations_test.cpp:"));
}

TEST(NnTest, StdDividesByTheCountMinusTheCorrection) {
  const HostArray x = array(f64, {1, 2, 3, 4, 10});  // squared deviations 9 4 1 0 36
  EXPECT_NEAR(value_of(x, [](Tensor y) { return std_dev(y, {}, 0); }).reals[0], std::sqrt(10.0),
              1e-14);
  EXPECT_NEAR(value_of(x, [](Tensor y) { return std_dev(y, {0}, 1); }).reals[0], std::sqrt(12.5),
              1e-14);
}

TEST(NnTest, CountNonzeroCountsNan) {
  const HostArray x = array(f32, {2, 3}, {0, -0.0, 5, kNaN, -1, 0});
  const Expected rows = value_of(x, [](Tensor y) { return count_nonzero(y, {1}); });
  EXPECT_EQ(rows.dtype, i64);
  EXPECT_THAT(rows.integers, ElementsAre(1, 2));
  const HostArray flags = array(boolean, {1, 0, 1});
  EXPECT_THAT(value_of(flags, [](Tensor y) { return count_nonzero(y); }).integers, ElementsAre(2));
}

TEST(NnTest, L2NormalizeOfZeroIsZero) {
  const HostArray x = array(f64, {2, 2}, {3, -4, 0, 0});
  const Expected rows = value_of(x, [](Tensor y) { return l2_normalize(y); });
  expect_close(rows, {0.6L, -0.8L, 0, 0});
}

TEST(NnTest, CosineSimilarityBroadcasts) {
  const HostArray a = array(f64, {3, 2}, {1, 0, 3, 4, 0, 0});
  const HostArray b = array(f64, {1, 2}, {6, 8});
  const Expected value = value_of(a, b, [](Tensor x, Tensor y) { return cosine_similarity(x, y); });
  EXPECT_THAT(value.shape, ElementsAre(3));
  expect_close(value, {0.6L, 1, 0});
}

TEST(NnTest, RotaryEmbeddingRotatesPairsOfHalves) {
  // Positions 0 and 1, pairs (0, 2) and (1, 3), angles position * (1, 0.01).
  const Reals angles = {0, 0, 0, 0, 1, 0.01, 1, 0.01};
  Reals cosines, sines;
  for (const double angle : angles) {
    cosines.push_back(std::cos(angle));
    sines.push_back(std::sin(angle));
  }
  const Reals x = {1, 2, 3, 4, 5, 6, 7, 8};
  const Expected value =
      value_of({array(f64, {1, 2, 4}, x), array(f64, {2, 4}, cosines), array(f64, {2, 4}, sines)},
               [](const Tensors& in) { return rotary_embedding(in[0], in[1], in[2]); });
  const long double c = std::cos(1.0L);
  const long double d = std::cos(0.01L);
  const long double s = std::sin(1.0L);
  const long double t = std::sin(0.01L);
  expect_close(value, {1, 2, 3, 4, 5 * c - 7 * s, 6 * d - 8 * t, 7 * c + 5 * s, 8 * d + 6 * t});
}

TEST(NnTest, RotaryEmbeddingRejectsOddExtentsAndWrongTables) {
  Graph graph("test");
  const Tensor odd = graph.input("odd", f32, {2, 5});
  const Tensor x = graph.input("x", bf16, {3, 2, 4});
  const Tensor table = graph.input("table", f32, {2, 4});
  const Tensor large = graph.input("large", f32, {5, 1, 2, 4});
  EXPECT_THAT(error_of([&] { rotary_embedding(odd, odd, odd); }),
              HasSubstr("the last extent of x, which is f32[2, 5], must be even"));
  EXPECT_THAT(error_of([&] { rotary_embedding(x, table, large); }),
              HasSubstr("f32[5, 1, 2, 4] must broadcast to x, which is bf16[3, 2, 4]"));
  EXPECT_EQ(rotary_embedding(x, table, table).dtype(), bf16);
}

TEST(NnTest, QuantizeRoundsToEvenAndSaturates) {
  const HostArray x = array(f32, {0.25, 0.75, -0.75, 1000, -1000, kNaN, 1});
  const Expected whole = value_of(x, [](Tensor y) { return quantize(y, 0.5); });  // 0.5 1.5 -1.5 2
  EXPECT_EQ(whole.dtype, i8);
  EXPECT_THAT(whole.integers, ElementsAre(0, 2, -2, 127, -128, 0, 2));
  const Expected shifted = value_of(x, [](Tensor y) { return quantize(y, 0.5, 10, u8); });
  EXPECT_EQ(shifted.dtype, u8);
  EXPECT_THAT(shifted.integers, ElementsAre(10, 12, 8, 255, 0, 0, 12));
  const Expected small = value_of(x, [](Tensor y) { return quantize(y, 0.5, 0, f8e4m3); });
  EXPECT_EQ(small.dtype, f8e4m3);
  EXPECT_THAT(small.reals, ElementsAre(0.5, 1.5, -1.5, 448, -448, testing::IsNan(), 2));
}

TEST(NnTest, DequantizeInvertsQuantizePerAxis) {
  const HostArray x = array(f32, {2, 2}, {1, -2, 30, 40});
  const HostArray scale = array(f32, {2, 1}, {0.5, 10});
  const HostArray zero = array(i32, {2, 1}, {1, -1});
  const Expected levels =
      value_of({x, scale, zero}, [](const Tensors& in) { return quantize(in[0], in[1], in[2]); });
  EXPECT_THAT(levels.integers, ElementsAre(3, -3, 2, 3));
  const Expected back = value_of({x, scale, zero}, [](const Tensors& in) {
    return dequantize(quantize(in[0], in[1], in[2]), in[1], in[2]);
  });
  EXPECT_EQ(back.dtype, f32);
  EXPECT_THAT(back.reals, ElementsAre(1, -2, 30, 40));
}

TEST(NnTest, QuantizeRejectsOtherDTypes) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {2});
  EXPECT_THAT(error_of([&] { quantize(x, 0.1, 0, i16); }),
              HasSubstr("quantize: the dtype is i16; it must be i8, u8, f8e4m3 or f8e5m2"));
}

TEST(NnTest, ErrorsNameTheCompositeAndTheCall) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor y = graph.input("y", f32, {3});
  EXPECT_THAT(error_of([&] { swiglu(x, y); }),
              testing::AllOf(HasSubstr("swiglu: [4] and [3] do not broadcast"),
                             HasSubstr("(recorded at activations_test.cpp:")));
  EXPECT_THAT(error_of([&] { silu(2.0); }), HasSubstr("silu: every operand is a number"));
}

TEST(NnTest, RejectsInvalidTexts) {
  const auto error = [](const std::string& statement) {
    return error_of([&] {
      parse("graph g(x: f32[4, 3], t: i64[4]) {\n  y = " + statement + "\n  return y\n}");
    });
  };
  EXPECT_THAT(error("cross_entropy x, t {reduction = 7}"),
              HasSubstr("cross_entropy: reduction is 7; it must be 0 (none), 1 (sum) or 2 (mean)"));
  EXPECT_THAT(error("cross_entropy x"), HasSubstr("cross_entropy: 1 operands; it takes 2 to 3"));
  EXPECT_THAT(error("layer_norm x, 1, 0, 3"), HasSubstr("layer_norm: 4 operands"));
  EXPECT_THAT(error("cross_entropy x, t, 2.0"), HasSubstr("the weight is a number"));
  EXPECT_THAT(error("std x"), HasSubstr("std needs attribute correction"));
}

}  // namespace
}  // namespace sinter::activations_test
