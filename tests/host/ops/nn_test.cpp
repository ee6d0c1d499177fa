// Composites of sinter/nn.h, fused and unfused: results within the oracle's bounds, and equal bits.
#include "tests/support/run/run.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::test::nn_test {
namespace {

class Nn : public testing::TestWithParam<const char*> {
 protected:
  /// Runs `text`, whose placeholder {0} is the dtype.
  static void check(std::string_view text, std::vector<Size> sizes = {}) {
    run_and_check(fmt::format(fmt::runtime(text), GetParam()), std::move(sizes));
  }
};

INSTANTIATE_TEST_SUITE_P(DTypes, Nn, testing::Values("f32", "bf16"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Nn, SmoothActivations) {
  check(R"(
graph smooth(x: {0}[rows, 33] {{range = [-6, 6]}}) {{
  a = elu x {{alpha = 0.5}}
  b = selu x
  c = silu x
  d = swish x {{beta = 1.5}}
  e = mish x
  f = softplus x {{beta = 2, threshold = 8}}
  g = gelu_tanh x
  h = softsign x
  return a, b, c, d, e, f, g, h
}})",
        {{"rows", 40}});
}

TEST_P(Nn, PiecewiseActivations) {
  check(R"(
graph pieces(x: {0}[1000] {{range = [-6, 6]}}, low: {0}[1000] {{range = [-3, 0]}}) {{
  a = leaky_relu x
  b = leaky_relu x {{slope = 0.25}}
  c = hardswish x
  d = hardsigmoid x
  e = hardtanh x {{low = -2, high = 0.5}}
  f = clamp x, -1, 1
  g = clamp x, low, 2.0
  return a, b, c, d, e, f, g
}})");
}

TEST_P(Nn, Arithmetic) {
  check(R"(
graph arithmetic(x: {0}[9, 70], a: {0}[70], b: {0}[9, 1] {{range = [0.5, 2]}}, w: {0}[9, 70] {{range = [0, 1]}}) {{
  l = lerp x, a, w
  m = lerp x, a, 0.75
  c = addcmul x, a, b
  d = addcmul x, a, b {{value = 0.5}}
  e = addcdiv x, a, b {{value = -2}}
  f = logaddexp x, a
  g = swiglu x, a
  h = geglu x, w
  return l, m, c, d, e, f, g, h
}})");
}

TEST_P(Nn, FunctionsOverAxes) {
  check(R"(
graph over_axes(x: {0}[rows, 12, 50], y: {0}[1, 12, 50]) {{
  a = logsumexp x {{axes = [-1]}}
  b = logsumexp x {{axes = [0, 2], keep = true}}
  c = norm x {{p = 1, axes = [2]}}
  d = norm x {{axes = [1, 2]}}
  e = norm x {{p = inf, axes = [1]}}
  f = std x {{axes = [2], correction = 1}}
  g = count_nonzero x {{axes = [1, 2]}}
  h = l2_normalize x {{axis = 2}}
  i = cosine_similarity x, y {{axis = 2}}
  return a, b, c, d, e, f, g, h, i
}})",
        {{"rows", 7}});
}

TEST_P(Nn, NormsOfRows) {
  for (const std::int64_t rows : {1, 37})
    check(R"(
graph norms(x: {0}[rows, 384], w: {0}[384] {{range = [0.5, 1.5]}}, b: f32[384]) {{
  a = layer_norm x, w, b
  c = layer_norm x {{eps = 0.01}}
  d = rms_norm x, w {{eps = 1e-6}}
  e = rms_norm x
  return a, c, d, e
}})",
          {{"rows", rows}});
}

TEST_P(Nn, LayerNormOfSeveralAxes) {
  check(R"(
graph axes(x: {0}[5, 6, 20], w: f32[6, 20], v: f32[5, 6]) {{
  a = layer_norm x, w {{axes = [1, 2]}}
  b = layer_norm x, v, v {{axes = [0, 1]}}
  return a, b
}})");
}

TEST_P(Nn, RmsNormBeforeAnActivation) {
  check(R"(
graph block(x: {0}[rows, 256], w: {0}[256], up: {0}[rows, 256]) {{
  n = rms_norm x, w {{eps = 1e-6}}
  y = swiglu n, up
  z = add y, x
  return z
}})",
        {{"rows", 19}});
}

TEST_P(Nn, NormsOfChannels) {
  check(R"(
graph channels(x: {0}[n, 8, 6, 5], w: f32[8], b: {0}[8]) {{
  a = group_norm x, w, b {{groups = 4}}
  c = group_norm x {{groups = 8, eps = 0.001}}
  d = instance_norm x, w, b
  return a, c, d
}})",
        {{"n", 3}});
}

TEST_P(Nn, BatchNorm) {
  check(R"(
graph train(x: {0}[n, 6, 7, 4], mean: f32[6], var: f32[6] {{range = [0.5, 2]}}, w: f32[6], b: f32[6]) {{
  y, m, v, new_mean, new_var = batch_norm x, mean, var, w, b {{momentum = 0.25}}
  z = batch_norm_inference x, mean, var, w, b
  update mean, new_mean
  update var, new_var
  return y, m, v, z
}})",
        {{"n", 5}});
  check(R"(
graph plain(x: {0}[64, 10], mean: {0}[10], var: {0}[10] {{range = [0.5, 2]}}) {{
  y, m, v, new_mean, new_var = batch_norm x, mean, var
  z = batch_norm_inference x, mean, var {{eps = 0.001}}
  return y, m, v, new_mean, new_var, z
}})");
}

TEST_P(Nn, CrossEntropy) {
  check(R"(
graph classes(x: {0}[rows, 10], t: i64[rows] {{range = [-1, 9]}}, w: f32[10] {{range = [0.5, 2]}}) {{
  a = cross_entropy x, t {{ignore_index = -1}}
  b = cross_entropy x, t {{ignore_index = -1, reduction = 0}}
  c = cross_entropy x, t, w {{ignore_index = -1, reduction = 1}}
  d = cross_entropy x, t, w {{ignore_index = -1, label_smoothing = 0.1}}
  l = log_softmax x {{axis = 1}}
  e = nll_loss l, t {{ignore_index = -1}}
  f = nll_loss l, t, w {{ignore_index = -1, reduction = 0}}
  return a, b, c, d, e, f
}})",
        {{"rows", 77}});
}

TEST_P(Nn, CrossEntropyOfManyClassesAndPositions) {
  check(R"(
graph words(x: {0}[6, 5000], t: i32[6]) {{
  a = cross_entropy x, t
  b = cross_entropy x, t {{label_smoothing = 0.1, reduction = 0}}
  return a, b
}})");
  check(R"(
graph places(x: {0}[3, 5, 4, 7], t: i64[3, 4, 7] {{range = [0, 4]}}) {{
  a = cross_entropy x, t
  b = cross_entropy x, t {{reduction = 0}}
  return a, b
}})");
}

TEST_P(Nn, LossesOfPairs) {
  check(R"(
graph pairs(x: {0}[rows, 65], t: {0}[rows, 65], p: {0}[rows, 65] {{range = [0, 1]}}) {{
  a = mse_loss x, t
  b = mse_loss x, t {{reduction = 0}}
  c = l1_loss x, t {{reduction = 1}}
  d = huber_loss x, t {{delta = 0.75}}
  e = bce_with_logits x, p
  f = kl_div x, p
  g = kl_div x, t {{log_target = true, reduction = 0}}
  return a, b, c, d, e, f, g
}})",
        {{"rows", 23}});
}

TEST_P(Nn, RotaryEmbedding) {
  check(R"(
graph rotary(x: {0}[2, heads, 9, 64], c: f32[9, 64] {{range = [-1, 1]}}, s: f32[9, 64] {{range = [-1, 1]}}) {{
  y = rotary_embedding x, c, s
  return y
}})",
        {{"heads", 3}});
}

TEST_P(Nn, Quantize) {
  check(R"(
graph levels(x: {0}[12, 40] {{range = [-20, 20]}}, scale: f32[12, 1] {{range = [0.05, 0.2]}}, zero: i32[12, 1]) {{
  a = quantize x, 0.125
  b = quantize x, scale, zero {{dtype = u8}}
  c = quantize x, scale {{dtype = f8e4m3}}
  d = quantize x, 0.5, 1 {{dtype = f8e5m2}}
  e = dequantize a, 0.125
  f = dequantize b, scale, zero
  g = dequantize c, scale
  return a, b, c, d, e, f, g
}})");
}

}  // namespace
}  // namespace sinter::test::nn_test
