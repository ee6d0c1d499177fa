// gradient() of the composites, compared with central differences and closed forms, and far from 0.
#include "sinter/views.h"
#include "tests/support/graphs/gradient_support.h"

#include <gmock/gmock.h>

namespace sinter::nn_gradient_test {
namespace {

using testing::Each;

struct Composite {
  const char* name;
  Arrays inputs;
  Record record;
};

const std::vector<Composite>& composites() {
  using T = const Tensors&;
  static const HostArray x = random({2, 3, 4});
  static const HostArray vector = random({4}, 0.5, 2, 2);
  static const HostArray more = random({4}, -2, 2, 3);
  static const HostArray image = random({2, 3, 5, 4});
  static const HostArray channel = random({3}, 0.5, 2, 4);
  static const HostArray logits = random({4, 3}, -3, 3);
  static const HostArray classes = array(i64, {4}, {2, 0, -100, 1});
  static const HostArray points = random({2, 3, 2, 2}, -1.25, 1.25, 5);
  static const HostArray target = random({2, 3, 4}, 0.1, 0.9, 6);
  // clang-format off
  static const std::vector<Composite> cases = {
      {"reciprocal", {vector}, [](T t) { return reciprocal(t[0]); }},
      {"square", {x}, [](T t) { return square(t[0]); }},
      {"relu", {x}, [](T t) { return relu(t[0]); }},
      {"sigmoid", {x}, [](T t) { return sigmoid(t[0]); }},
      {"trigamma", {vector}, [](T t) { return trigamma(t[0]); }},
      {"gelu", {x}, [](T t) { return gelu(t[0]); }},
      {"gelu_tanh", {x}, [](T t) { return gelu_tanh(t[0]); }},
      {"leaky_relu", {x}, [](T t) { return leaky_relu(t[0], 0.25); }},
      {"elu", {x}, [](T t) { return elu(t[0], 0.5); }},
      {"selu", {x}, [](T t) { return selu(t[0]); }},
      {"silu", {x}, [](T t) { return silu(t[0]); }},
      {"swish", {x}, [](T t) { return swish(t[0], 1.5); }},
      {"mish", {x}, [](T t) { return mish(t[0]); }},
      {"softplus", {x}, [](T t) { return softplus(t[0], 2, 3); }},
      {"hardswish", {x}, [](T t) { return hardswish(t[0] * 2.0); }},
      {"hardsigmoid", {x}, [](T t) { return hardsigmoid(t[0] * 2.0); }},
      {"hardtanh", {x}, [](T t) { return hardtanh(t[0], -0.5, 1); }},
      {"softsign", {x}, [](T t) { return softsign(t[0]); }},
      {"swiglu", {x, more}, [](T t) { return swiglu(t[0], t[1]); }},
      {"geglu", {x, more}, [](T t) { return geglu(t[0], t[1]); }},
      {"rotary_embedding", {x, random({3, 4}, -1, 1, 2), random({3, 4}, -1, 1, 3)}, [](T t) { return rotary_embedding(t[0], t[1], t[2]); }},
      {"clamp", {x, random({4}, -2, 0)}, [](T t) { return clamp(t[0], t[1], 0.75); }},
      {"lerp", {x, more, random({3, 1}, 0, 1)}, [](T t) { return lerp(t[0], t[1], t[2]); }},
      {"addcmul", {x, more, vector}, [](T t) { return addcmul(t[0], t[1], t[2], 0.5); }},
      {"addcdiv", {x, more, vector}, [](T t) { return addcdiv(t[0], t[1], t[2], -2); }},
      {"logaddexp", {x, more}, [](T t) { return logaddexp(t[0], t[1]); }},
      {"softmax", {x}, [](T t) { return softmax(t[0], 1); }},
      {"log_softmax", {x}, [](T t) { return log_softmax(t[0]); }},
      {"logsumexp", {x}, [](T t) { return logsumexp(t[0], {0, 2}); }},
      {"norm_1", {x}, [](T t) { return norm(t[0], 1, {1}); }},
      {"norm_2", {x}, [](T t) { return norm(t[0], 2, {0, 2}); }},
      {"norm_inf", {x}, [](T t) { return norm(t[0], kInf, {2}); }},
      {"std", {x}, [](T t) { return std_dev(t[0], {0, 2}, 1); }},
      {"var_mean", {x}, [](T t) { const VarMean both = var_mean(t[0], {1}); return both.var * both.mean; }},
      {"max_with_index", {x}, [](T t) { return max_with_index(t[0], 1).value; }},
      {"l2_normalize", {x}, [](T t) { return l2_normalize(t[0], 2); }},
      {"cosine_similarity", {x, more}, [](T t) { return cosine_similarity(t[0], t[1], 2); }},
      {"layer_norm", {x, vector, more}, [](T t) { return layer_norm(t[0], {-1}, t[1], t[2]); }},
      {"layer_norm_of_two_axes", {x}, [](T t) { return layer_norm(t[0], {0, 2}); }},
      {"rms_norm", {x, vector}, [](T t) { return rms_norm(t[0], {-1}, t[1], 1e-6); }},
      {"group_norm", {random({2, 6, 3}), random({6}, 0.5, 2, 2), random({6}, -1, 1, 3)}, [](T t) { return group_norm(t[0], 2, t[1], t[2]); }},
      {"instance_norm", {image, channel}, [](T t) { return instance_norm(t[0], t[1]); }},
      {"batch_norm", {image, channel, random({3}), channel}, [](T t) { return batch_norm(t[0], t[2], t[3], t[1], t[2]).y; }},
      {"batch_norm_inference", {image, random({3}), channel, channel}, [](T t) { return batch_norm_inference(t[0], t[1], t[2], t[3]); }},
      {"cross_entropy", {logits, classes}, [](T t) { return cross_entropy(t[0], t[1]); }},
      {"cross_entropy_weighted", {logits, classes, channel}, [](T t) { return cross_entropy(t[0], t[1], {.weight = t[2], .label_smoothing = 0.1}); }},
      {"nll_loss", {logits, classes, channel}, [](T t) { return nll_loss(t[0], t[1], {.weight = t[2], .reduction = Reduction::none}); }},
      {"mse_loss", {x, target}, [](T t) { return mse_loss(t[0], t[1]); }},
      {"l1_loss", {x, target}, [](T t) { return l1_loss(t[0], t[1], Reduction::sum); }},
      {"huber_loss", {x, target}, [](T t) { return huber_loss(t[0], t[1], 0.75, Reduction::none); }},
      {"bce_with_logits", {x, target}, [](T t) { return bce_with_logits(t[0], t[1]); }},
      {"kl_div", {x, target}, [](T t) { return kl_div(t[0], t[1]); }},
      {"kl_div_of_logs", {x, target}, [](T t) { return kl_div(t[0], t[1], true); }},
      {"dequantize", {vector, array(i8, {1, -2, 3, 0})}, [](T t) { return dequantize(t[1], t[0]); }},
      {"squeeze", {random({2, 1, 3})}, [](T t) { return squeeze(t[0], 1); }},
      {"transpose", {x}, [](T t) { return transpose(t[0], 0, 2); }},
      {"select", {x}, [](T t) { return select(t[0], 1, -1); }},
      {"split", {x}, [](T t) { const Tensors parts = split(t[0], 3, 2); return sum(parts[0], {2}) * sum(parts[1], {2}); }},
      {"stack", {vector, more}, [](T t) { return stack({t[0], t[1], t[0]}, 1); }},
      {"tile", {x}, [](T t) { return tile(t[0], {2, 1, 1, 3}); }},
      {"repeat", {x}, [](T t) { return repeat(t[0], 3, 1); }},
      {"roll", {x}, [](T t) { return roll(t[0], 3, 2); }},
      {"pad", {x}, [](T t) { return pad(t[0], {0, 2, -1}, {1, 0, 3}); }},
      {"pad_edge", {x}, [](T t) { return pad_edge(t[0], {0, 2, 1}, {1, 0, 3}); }},
      {"pad_reflect", {x}, [](T t) { return pad_reflect(t[0], {0, 2, 1}, {1, 0, 3}); }},
      {"slice_scatter", {x, random({2, 3, 2})}, [](T t) { return slice_scatter(t[0], t[1], 2, 0, 4, 3); }},
      {"select_scatter", {x, vector}, [](T t) { return select_scatter(t[0], broadcast_to(t[1], {2, 4}), 1, 1); }},
      {"tril", {x}, [](T t) { return tril(t[0], 1); }},
      {"embedding", {random({5, 3}), classes}, [](T t) { return embedding(t[0], t[1]); }},
      {"index", {image, classes}, [](T t) { return index(t[0], {t[1], t[1]}, {1, 3}); }},
      {"index_put", {x, random({2, 4, 4}), classes}, [](T t) { return index_put(t[0], t[1], std::vector<Operand>{t[2]}, {1}); }},
      {"index_put_sums", {x, vector, classes}, [](T t) { return index_put(t[0], t[1], std::vector<Operand>{t[2]}, {1}, true); }},
      {"scatter_add", {logits, random({4, 1}), classes}, [](T t) { return scatter_add(t[0], 1, reshape(t[2], {4, 1}), t[1]); }},
      {"avg_pool", {image}, [](T t) { return avg_pool(t[0], {3, 2}, {2, 2}, {1, 0}); }},
      {"max_pool", {image}, [](T t) { return max_pool(t[0], {3, 2}, {2, 1}, {1, 1}); }},
      {"max_pool_with_index", {image}, [](T t) { return max_pool_with_index(t[0], {3, 2}, {2, 1}, {1, 1}).value; }},
      {"max_pool_backward", {random({2, 4}), array(i64, {2, 4}, {0, 2, 2, 3, 1, 1, 3, 4})}, [](T t) { return max_pool_backward(t[0], t[1], {5}, {2}, {1}, {0}); }},
      {"grid_sample", {image, points}, [](T t) { return grid_sample(t[0], t[1]); }},
      {"grid_sample_border", {image, points}, [](T t) { return grid_sample(t[0], t[1], Border::nearest); }},
      {"dropout", {x, array(i64, {}, {3})}, [](T t) { return dropout(t[0], t[1], 0.5); }},
  };
  // clang-format on
  return cases;
}

class CompositeGradient : public testing::TestWithParam<Composite> {};

TEST_P(CompositeGradient, MatchesCentralDifferences) {
  expect_differences(GetParam().record, GetParam().inputs);
}

INSTANTIATE_TEST_SUITE_P(All, CompositeGradient, testing::ValuesIn(composites()),
                         [](const auto& test) { return std::string(test.param.name); });

std::vector<long double> exact_softmax(const Reals& x) {
  std::vector<long double> result;
  long double total = 0;
  for (const double value : x) total += std::exp(static_cast<long double>(value));
  for (const double value : x) result.push_back(std::exp(static_cast<long double>(value)) / total);
  return result;
}

TEST(NnGradient, SoftmaxMatchesItsClosedForm) {
  const Reals x = {-1.5, 0.25, 2, 0.5};
  const Reals g = {1, -2, 0.5, 3};
  const std::vector<long double> y = exact_softmax(x);
  long double mean = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean += y[i] * g[i];
  std::vector<long double> wanted;
  for (std::size_t i = 0; i < x.size(); ++i) wanted.push_back(y[i] * (g[i] - mean));
  const auto record = [](Tensor a, Tensor b) { return gradient(softmax(a), {a}, b)[0]; };
  expect_close(value_of(array(f64, x), array(f64, g), record), wanted);
}

TEST(NnGradient, LayerNormMatchesItsClosedForm) {
  const Reals x = {-1.5, 0.25, 2, 0.5, 4};
  const Reals g = {1, -2, 0.5, 3, -0.25};
  const auto count = static_cast<long double>(x.size());
  long double mean = 0, var = 0, mean_g = 0, mean_gy = 0;
  for (const double value : x) mean += value / count;
  for (const double value : x) var += (value - mean) * (value - mean) / count;
  const long double scale = 1 / std::sqrt(var + 1e-5L);
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_g += g[i] / count;
    mean_gy += g[i] * (x[i] - mean) * scale / count;
  }
  std::vector<long double> wanted;
  for (std::size_t i = 0; i < x.size(); ++i)
    wanted.push_back(scale * (g[i] - mean_g - (x[i] - mean) * scale * mean_gy));
  const auto record = [](Tensor a, Tensor b) { return gradient(layer_norm(a), {a}, b)[0]; };
  expect_close(value_of(array(f64, x), array(f64, g), record), wanted);
}

TEST(NnGradient, CrossEntropyIsSoftmaxMinusOneHot) {
  const Reals x = {-1.5, 0.25, 2, 0.5};
  std::vector<long double> wanted = exact_softmax(x);
  wanted[2] -= 1;
  const auto record = [](Tensor a, Tensor t) { return gradient(cross_entropy(a, t), {a})[0]; };
  expect_close(value_of(array(f64, {1, 4}, x), array(i64, {2}), record), wanted);
}

TEST(NnGradient, TreatsTheMaxShiftAsAConstant) {
  const Record records[] = {
      [](const Tensors& t) { return softmax(t[0], 1); },
      [](const Tensors& t) { return log_softmax(t[0], 1); },
      [](const Tensors& t) { return cross_entropy(t[0], t[1]); },
      [](const Tensors& t) { return cross_entropy(t[0], t[1], {.label_smoothing = 0.1}); },
  };
  for (const Record& record : records) {
    Graph graph("g");
    const Tensor x = graph.input("x", f32, {4, 3});
    const Tensor targets = graph.input("targets", i64, {4});
    const Tensor loss = sum(record({x, targets}));
    const std::vector<const Node*>& nodes = graph.data().nodes;
    const std::size_t forward = nodes.size();
    const auto is_shift = [](const Node* node) {
      return node->op == Op::max || node->op == Op::stop_gradient;
    };
    ASSERT_EQ(std::ranges::count_if(nodes, is_shift), 2);
    gradient(loss, {x});
    ASSERT_GT(nodes.size(), forward);
    for (std::size_t id = forward; id < nodes.size(); ++id) {
      EXPECT_FALSE(is_shift(nodes[id]));
      EXPECT_TRUE(std::ranges::none_of(nodes[id]->operands, is_shift)) << info(nodes[id]->op).name;
    }
  }
}

TEST(NnGradient, StaysFiniteFarFromZero) {
  using Activation = Tensor (*)(Operand);
  const Activation activations[] = {sigmoid,
                                    silu,
                                    mish,
                                    gelu,
                                    gelu_tanh,
                                    selu,
                                    [](Operand x) { return elu(x); },
                                    [](Operand x) { return softplus(x, 1, kInf); },
                                    [](Operand x) { return swish(x, 2); }};
  for (const DType dtype : {f32, f64, bf16})
    for (const Activation activation : activations) {
      const auto record = [&](Tensor x) { return gradient(sum(activation(x)), {x})[0]; };
      const Expected value = value_of(array(dtype, {-30000, -750, -100, 100, 750, 30000}), record);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(value.reals[i], 0, 1e-30);
      for (const double real : value.reals)
        EXPECT_TRUE(real >= -1e-30 && real <= 1.0625);  // selu: 1.0507…
    }
}

TEST(NnGradient, LogSumExpOfInfinitiesIsFinite) {
  const auto record = [](Tensor x) { return gradient(sum(logsumexp(x, {1})), {x})[0]; };
  const HostArray x = array(f32, {2, 3}, {-kInf, 0, 0, -kInf, -kInf, -kInf});
  const std::vector<double> reals = value_of(x, record).reals;
  const double expected[] = {0, 0.5, 0.5, 0, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(reals[i], expected[i], 1e-6) << i;
}

TEST(NnGradient, LogSumExpOfHalvesSumsToOne) {
  // log 3 + 100 is 101.1. With the nearest bf16, 101, the results would be 10% too large.
  const auto record = [](Tensor x) { return gradient(logsumexp(x), {x})[0]; };
  for (const DType dtype : {bf16, f16})
    for (const double part : value_of(array(dtype, {100, 100, 100}), record).reals)
      EXPECT_NEAR(part, 1.0 / 3, 0x1p-9) << name(dtype);
}

TEST(NnGradient, RandomNumbersHaveAZeroGradient) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor seed = cast(sum(x), i64);
  const Tensor y = sum(random_uniform(seed, {4}));
  EXPECT_THAT(value_of(graph, gradient(y, {x})[0], {}).reals, Each(0.0));
}

}  // namespace
}  // namespace sinter::nn_gradient_test
