// Layer, RMS, group, instance and batch norms, compared with their closed forms.
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <gmock/gmock.h>

namespace sinter::norms_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using Exact = std::vector<long double>;

Reals ramp(std::int64_t count) {
  Reals values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * i * 7 + 3 * i) % 23) * 0.25 - 2);
  return values;
}

struct Moments {
  long double mean = 0;
  long double var = 0;  ///< the sum of squares divided by the count minus the correction
};

Moments moments_of(const Exact& values, int correction = 0) {
  Moments result;
  const auto count = static_cast<long double>(values.size());
  for (const long double value : values) result.mean += value / count;
  for (const long double value : values)
    result.var += (value - result.mean) * (value - result.mean) / (count - correction);
  return result;
}

/// The elements of `x` at `indices`.
Exact at(const Reals& x, const std::vector<std::size_t>& indices) {
  Exact values;
  for (const std::size_t index : indices) values.push_back(x[index]);
  return values;
}

/// `x`, normalised to mean 0 and variance 1 over each group of indices.
Exact normalized(const Reals& x, const std::vector<std::vector<std::size_t>>& groups,
                 long double eps) {
  Exact y(x.size());
  for (const std::vector<std::size_t>& group : groups) {
    const Moments moments = moments_of(at(x, group));
    for (const std::size_t index : group)
      y[index] = (x[index] - moments.mean) / std::sqrt(moments.var + eps);
  }
  return y;
}

TEST(NnNormsTest, LayerNormOfTheLastAxis) {
  const Reals x = ramp(8);
  Exact y = normalized(x, {{0, 1, 2, 3}, {4, 5, 6, 7}}, 1e-5L);
  const HostArray input = array(f64, {2, 4}, x);
  expect_close(value_of(input, [](Tensor a) { return layer_norm(a); }), y);
  const Reals weight = {1, 2, -1, 0.5};
  const Reals bias = {0.25, 0, 3, -1};
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * weight[i % 4] + bias[i % 4];
  expect_close(value_of({input, array(f64, weight), array(f64, bias)},
                        [](const Tensors& in) { return layer_norm(in[0], {-1}, in[1], in[2]); }),
               y);
}

TEST(NnNormsTest, LayerNormOfAnyAxes) {
  const Reals x = ramp(12);  // [2, 3, 2] over axes 0 and 1; weight [2, 3]
  Exact y = normalized(x, {{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}}, 0.5L);
  const Reals weight = {1, 2, 3, 4, 5, 6};
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weight[i / 2];
  expect_close(value_of({array(f64, {2, 3, 2}, x), array(f64, {2, 3}, weight)},
                        [](const Tensors& in) {
                          return layer_norm(in[0], {1, 0}, in[1], 0, 0.5);
                        }),
               y);
}

TEST(NnNormsTest, WeightsOneAndZeroRecordNothing) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {2, 4});
  EXPECT_EQ(layer_norm(x).node(), layer_norm(x, {-1}, 1.0, 0.0).node());
  EXPECT_EQ(layer_norm(x).node()->op, Op::mul);
  EXPECT_EQ(layer_norm(x, {-1}, 2).node()->op, Op::mul);
  EXPECT_NE(layer_norm(x, {-1}, 2).node(), layer_norm(x).node());
}

TEST(NnNormsTest, HalvesAreComputedInF32) {
  const Reals x = ramp(8);
  const auto record = [](const Tensors& in) { return layer_norm(in[0], {-1}, in[1]); };
  const HostArray weight = array(f32, {1, 2, -1, 0.5});
  const Expected half = value_of({array(bf16, {2, 4}, x), weight}, record);
  const Expected full = value_of({array(f32, {2, 4}, x), weight}, record);
  EXPECT_EQ(half.dtype, bf16);
  EXPECT_EQ(full.dtype, f32);
  const HostArray rounded = array(bf16, {2, 4}, full.reals);
  for (std::int64_t i = 0; i < half.size(); ++i) EXPECT_EQ(half.real(i), rounded.real_at(i));
}

TEST(NnNormsTest, RmsNormSubtractsNoMean) {
  const Reals x = {1, 2, 2, 4, 0, 0, 0, 0};
  const HostArray input = array(f64, {2, 4}, x);
  const HostArray weight = array(f64, {1, 2, 3, 4});
  const auto exact = [](long double eps) {
    const long double scale = 1 / std::sqrt(6.25L + eps);
    return Exact{scale, 4 * scale, 6 * scale, 16 * scale, 0, 0, 0, 0};
  };
  expect_close(
      value_of(input, weight, [](Tensor a, Tensor w) { return rms_norm(a, {-1}, w, 0.25); }),
      exact(0.25L));
  expect_close(value_of(input, weight, [](Tensor a, Tensor w) { return rms_norm(a, {1}, w); }),
               exact(0x1p-52L));
}

TEST(NnNormsTest, GroupNormCombinesChannels) {
  const Reals x = ramp(24);  // [2, 4, 3] in 2 groups
  Exact y = normalized(x,
                       {{0, 1, 2, 3, 4, 5},
                        {6, 7, 8, 9, 10, 11},
                        {12, 13, 14, 15, 16, 17},
                        {18, 19, 20, 21, 22, 23}},
                       1e-5L);
  const Reals weight = {1, 2, 3, 4};
  const Reals bias = {0, -1, 0.5, 2};
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * weight[i / 3 % 4] + bias[i / 3 % 4];
  expect_close(value_of({array(f64, {2, 4, 3}, x), array(f64, weight), array(f64, bias)},
                        [](const Tensors& in) { return group_norm(in[0], 2, in[1], in[2]); }),
               y);
}

TEST(NnNormsTest, GroupNormOfAPlainMatrix) {
  const Reals x = ramp(8);
  const Exact y = normalized(x, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}, 1e-5L);
  const HostArray input = array(f64, {2, 4}, x);
  expect_close(value_of(input, [](Tensor a) { return group_norm(a, 2); }), y);
}

TEST(NnNormsTest, InstanceNormSeparatesChannels) {
  const Reals x = ramp(12);  // [2, 2, 3]
  Exact y = normalized(x, {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}, 1e-5L);
  const Reals weight = {2, -3};
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weight[i / 3 % 2];
  expect_close(value_of(array(f64, {2, 2, 3}, x), array(f64, weight),
                        [](Tensor a, Tensor w) { return instance_norm(a, w); }),
               y);
}

class BatchNormTest : public testing::Test {
 protected:
  const Reals x = ramp(12);  // [2, 2, 3]
  const std::vector<std::vector<std::size_t>> channels = {{0, 1, 2, 6, 7, 8}, {3, 4, 5, 9, 10, 11}};
  const std::vector<HostArray> inputs = {array(f64, {2, 2, 3}, x), array(f64, {10, 20}),
                                         array(f64, {1, 2})};

  Expected value(Tensor BatchNorm::*field) const {
    return value_of(inputs, [&](const Tensors& in) {
      return batch_norm(in[0], in[1], in[2], 1, 0, 0.25).*field;
    });
  }
};

TEST_F(BatchNormTest, NormalizesOverTheBatch) {
  expect_close(value(&BatchNorm::y), normalized(x, channels, 1e-5L));
  const Moments first = moments_of(at(x, channels[0]));
  const Moments second = moments_of(at(x, channels[1]));
  expect_close(value(&BatchNorm::mean), {first.mean, second.mean});
  expect_close(value(&BatchNorm::var), {first.var, second.var});
}

TEST_F(BatchNormTest, UpdatesTheRunningStatistics) {
  const Moments first = moments_of(at(x, channels[0]), 1);
  const Moments second = moments_of(at(x, channels[1]), 1);
  expect_close(value(&BatchNorm::running_mean), {7.5L + first.mean / 4, 15 + second.mean / 4});
  expect_close(value(&BatchNorm::running_var), {0.75L + first.var / 4, 1.5L + second.var / 4});
}

TEST_F(BatchNormTest, HalfInputsKeepStatisticsInF32) {
  Graph graph("test");
  const Tensor half = graph.input("half", bf16, {2, 2, 3});
  const Tensor mean = graph.input("mean", f32, {2});
  const Tensor var = graph.input("var", f64, {2});
  const BatchNorm result = batch_norm(half, mean, var);
  EXPECT_EQ(result.y.dtype(), bf16);
  EXPECT_EQ(result.mean.dtype(), f32);
  EXPECT_EQ(result.running_mean.dtype(), f32);
  EXPECT_EQ(result.running_var.dtype(), f64);
}

TEST_F(BatchNormTest, InferenceUsesGivenStatistics) {
  Exact y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool first = i / 3 % 2 == 0;
    const long double mean = first ? 10 : 20;
    const long double var = first ? 1 : 2;
    y.push_back((x[i] - mean) / std::sqrt(var + 0.5L) * 2 - 1);
  }
  expect_close(value_of(inputs,
                        [](const Tensors& in) {
                          return batch_norm_inference(in[0], in[1], in[2], 2, -1, 0.5);
                        }),
               y);
}

TEST(NnNormsTest, RejectsInvalidParameters) {
  Graph graph("test");
  const Tensor x = graph.input("x", f32, {2, 6, 4});
  const Tensor w = graph.input("w", f32, {3});
  EXPECT_THAT(error_of([&] { layer_norm(x, {-1}, w); }),
              HasSubstr("layer_norm: the weight is f32[3]; its shape must be [4], that of axes [2] "
                        "of x, which is f32[2, 6, 4] (recorded at norms_test.cpp:"));
  EXPECT_THAT(error_of([&] { group_norm(x, 4); }),
              HasSubstr("group_norm: the 6 channels of x, which is f32[2, 6, 4], cannot form 4 "
                        "groups of equal size"));
  EXPECT_THAT(error_of([&] { group_norm(x, 0); }), HasSubstr("cannot form 0 groups"));
  EXPECT_THAT(error_of([&] { instance_norm(w); }),
              HasSubstr("x is f32[3]; it must be [N, C, ...] of rank 3 or more"));
  EXPECT_THAT(error_of([&] { batch_norm(x, w, w); }),
              HasSubstr("batch_norm: the running mean is f32[3]; its shape must be [6]"));
  EXPECT_THAT(error_of([&] { layer_norm(x, {3}); }), HasSubstr("axis 3 is out of range"));
  EXPECT_THAT(error_of([&] {
                layer_norm(x, {1, -2});
              }),
              HasSubstr("layer_norm: axis -2 is repeated in [1, -2]"));
}

TEST(NnNormsTest, SymbolicChannelsFormGroups) {
  Graph graph("test");
  const Extent half = graph.extent("half");
  const Tensor x = graph.input("x", f32, {graph.extent("n"), half * 2, 5});
  EXPECT_EQ(to_string(group_norm(x, 2).shape()), to_string(x.shape()));
  EXPECT_THAT(error_of([&] { group_norm(x, 4); }), HasSubstr("cannot form 4 groups"));
}

}  // namespace
}  // namespace sinter::norms_test
