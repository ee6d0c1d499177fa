// Random numbers: shapes, dtypes, moments, and which seeds give which numbers.
#include "tests/onnx/models/run_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::random_test {
namespace {

using onnx::ElementType;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int kCount = 1 << 14;

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / count)};
}

/// The standard error of a mean of kCount numbers of this deviation, five times.
double tolerance(double deviation) { return 5 * deviation / std::sqrt(kCount); }

ModelBuilder generator(std::string_view type, std::vector<onnx::AttributeProto> attributes) {
  attributes.push_back(integers_attribute("shape", {kCount / 64, 64}));
  ModelBuilder builder;
  builder.add(node(type, {}, {"y"}, std::move(attributes))).output("y").opset(22);
  return builder;
}

TEST(OnnxRandom, UniformNumbersHaveTheirRange) {
  const HostArray y =
      outputs_of(generator("RandomUniform", {real_attribute("low", -1), real_attribute("high", 3)}))
          .at("y");
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_EQ(std::vector(y.shape().begin(), y.shape().end()),
            (std::vector<std::int64_t>{kCount / 64, 64}));
  const std::vector<double> values = reals_of(y);
  EXPECT_GE(*std::ranges::min_element(values), -1);
  EXPECT_LT(*std::ranges::max_element(values), 3);
  const double deviation = 4 / std::sqrt(12);
  EXPECT_NEAR(moments_of(values).mean, 1, tolerance(deviation));
  EXPECT_NEAR(moments_of(values).deviation, deviation, tolerance(deviation));
}

TEST(OnnxRandom, NormalNumbersHaveTheirMoments) {
  const HostArray y =
      outputs_of(generator("RandomNormal", {real_attribute("mean", 2), real_attribute("scale", 0.5),
                                            integer_attribute("dtype", 11)}))
          .at("y");
  EXPECT_EQ(y.dtype(), f64);
  EXPECT_NEAR(moments_of(reals_of(y)).mean, 2, tolerance(0.5));
  EXPECT_NEAR(moments_of(reals_of(y)).deviation, 0.5, tolerance(0.5));
}

/// The seed is an input of the graph, whose default is 0.
TEST(OnnxRandom, NumbersDependOnTheSeed) {
  const ModelBuilder model = generator("RandomUniform", {});
  EXPECT_THAT(model.text(), HasSubstr("graph test(random_seed: i64[])"));
  const auto with_seed = [&](std::int64_t seed) {
    return reals_of(outputs_of(model, {{"random_seed", integer_array(i64, {}, {seed})}}).at("y"));
  };
  EXPECT_EQ(with_seed(0), reals_of(outputs_of(model).at("y")));
  EXPECT_EQ(with_seed(7), with_seed(7));
  EXPECT_NE(with_seed(7), with_seed(8));
}

TEST(OnnxRandom, AnAttributeFixesTheSeed) {
  const auto with_seed = [&](float seed) {
    const ModelBuilder model = generator("RandomNormal", {real_attribute("seed", seed)});
    EXPECT_THAT(model.import().weights, SizeIs(0));
    return reals_of(outputs_of(model).at("y"));
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(1.5));
}

TEST(OnnxRandom, NodesDrawDifferentNumbers) {
  ModelBuilder builder;
  builder.input("x", {"n"}, ElementType::f16)
      .add("RandomUniformLike", {"x"}, {"a"})
      .add("RandomUniformLike", {"x"}, {"b"})
      .output("a")
      .output("b");
  const HostArrays results =
      outputs_of(builder, {{"x", real_array(f16, {100}, std::vector<double>(100))}});
  EXPECT_EQ(results.at("a").dtype(), f16);
  EXPECT_EQ(results.at("a").size(), 100);
  EXPECT_NE(reals_of(results.at("a")), reals_of(results.at("b")));
}

TEST(OnnxRandom, BernoulliHasTheProbabilityOfEachElement) {
  ModelBuilder builder;
  builder.input("p", {3, kCount}, ElementType::f32)
      .add(node("Bernoulli", {"p"}, {"y"}, {integer_attribute("dtype", 9)}))
      .output("y");
  std::vector<double> probabilities;
  for (const double p : {0.0, 0.3, 1.0}) probabilities.insert(probabilities.end(), kCount, p);
  const HostArray y =
      outputs_of(builder, {{"p", real_array(f32, {3, kCount}, probabilities)}}).at("y");
  EXPECT_EQ(y.dtype(), boolean);
  const std::vector<std::int64_t> values = integers_of(y);
  const auto ones = [&](int row) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row) * kCount;
    return static_cast<double>(std::accumulate(begin, begin + kCount, std::int64_t{0}));
  };
  EXPECT_EQ(ones(0), 0);
  EXPECT_NEAR(ones(1) / kCount, 0.3, tolerance(std::sqrt(0.3 * 0.7)));
  EXPECT_EQ(ones(2), kCount);
}

TEST(OnnxRandom, MultinomialDrawsClassesByWeight) {
  ModelBuilder builder;
  builder.input("x", {2, 3})
      .add(node("Multinomial", {"x"}, {"y"}, {integer_attribute("sample_size", kCount)}))
      .output("y");
  const double none = -std::numeric_limits<double>::infinity();
  const HostArray y =
      outputs_of(builder,
                 {{"x", real_array(f32, {2, 3},
                                   {std::log(2.0), std::log(5.0), std::log(3.0), none, 0, none})}})
          .at("y");
  EXPECT_EQ(y.dtype(), i32);
  std::array<double, 3> counts{};
  for (std::int64_t i = 0; i < kCount; ++i) ++counts.at(static_cast<std::size_t>(y.integer_at(i)));
  EXPECT_NEAR(counts[0] / kCount, 0.2, tolerance(0.4));
  EXPECT_NEAR(counts[1] / kCount, 0.5, tolerance(0.5));
  EXPECT_NEAR(counts[2] / kCount, 0.3, tolerance(0.46));
  for (std::int64_t i = kCount; i < 2 * kCount; ++i) EXPECT_EQ(y.integer_at(i), 1);
}

ModelBuilder dropout_model(std::optional<float> ratio) {
  ModelBuilder builder;
  onnx::TensorProto training;
  training.name = "training";
  training.data_type = static_cast<std::int32_t>(ElementType::boolean);
  training.int32_data = {1};
  builder.input("x", {kCount}).initializer(training);
  if (ratio)
    builder.initializer(real_tensor("ratio", {}, {*ratio}));
  else
    builder.input("ratio", {});
  builder.add("Dropout", {"x", "ratio", "training"}, {"y", "mask"})
      .output("y")
      .output("mask")
      .opset(22);
  return builder;
}

/// A dropped element is 0, and the others are divided by the part that stays.
void expect_dropout(const HostArrays& results, double ratio) {
  const std::vector<std::int64_t> mask = integers_of(results.at("mask"));
  const std::vector<double> y = reals_of(results.at("y"));
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(y[i]),
                    static_cast<float>(mask[i] != 0 ? 3 / (1 - ratio) : 0));
  const auto kept = static_cast<double>(std::accumulate(mask.begin(), mask.end(), std::int64_t{0}));
  EXPECT_NEAR(kept / kCount, 1 - ratio, tolerance(std::sqrt(ratio * (1 - ratio))));
}

TEST(OnnxRandom, DropoutInTraining) {
  const HostArray x = real_array(f32, {kCount}, std::vector<double>(kCount, 3));
  expect_dropout(outputs_of(dropout_model(0.25F), {{"x", x}}), 0.25);
  expect_dropout(outputs_of(dropout_model(1.0F), {{"x", x}}), 1);
  const HostArray ratio = real_array(f32, {}, {0.75});
  expect_dropout(outputs_of(dropout_model(std::nullopt), {{"x", x}, {"ratio", ratio}}), 0.75);
}

TEST(OnnxRandom, RefusesOtherDtypes) {
  EXPECT_THAT(generator("RandomNormal", {integer_attribute("dtype", 7)}).error(),
              HasSubstr("its dtype is i64; it must be floating"));
}

}  // namespace
}  // namespace sinter::test::random_test
