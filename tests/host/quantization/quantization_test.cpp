// Post-training quantisation on the host device: ranges, both forms, weights computed once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <random>

#include "ir/graph/node.h"
#include "sinter/sinter.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::test::quantization_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Floats = std::vector<float>;

constexpr std::string_view kMlp = R"(
graph mlp(x: f32[rows, 24], w1: f32[24, 32], b1: f32[32], w2: f32[10, 32]) {
  h = matmul x, w1
  s = add h, b1
  r = relu s
  y = matmul r, w2 {transpose_b = true}
  return y
})";

constexpr std::string_view kNet = R"(
graph net(x: f32[n, 3, 12, 12], w: f32[8, 3, 3, 3], d: f32[8, 1, 3, 3], v: f32[10, 288]) {
  c = conv x, w {padding_begin = [1, 1], padding_end = [1, 1], strides = [2, 2]}
  r = relu c
  g = conv r, d {padding_begin = [1, 1], padding_end = [1, 1], groups = 8}
  f = reshape g {shape = [n, 288]}
  y = matmul f, v {transpose_b = true}
  return y
})";

/// A model with weights, and inputs of it, on the host device.
class Model {
 public:
  Model(std::string_view text, std::vector<std::string> weights, std::int64_t rows)
      : graph(parse(text, "model.sinter")), weight_names(std::move(weights)) {
    std::mt19937 random(7);
    for (const InputInfo& input : graph.data().inputs) {
      std::vector<std::int64_t> shape;
      for (const Extent extent : input.node->shape)
        shape.push_back(extent.is_number() ? extent.number() : rows);
      const Array array = device.empty(f32, shape);
      Floats values(static_cast<std::size_t>(array.elements()));
      for (float& value : values) value = static_cast<float>(random()) * 0x1p-31F - 1;
      device.upload(array, values, stream);
      const Binding binding(names.emplace_back(input.name), arrays.emplace_back(array));
      const bool is_weight = std::ranges::count(weight_names, input.name) > 0;
      (is_weight ? this->weights : example).push_back(binding);
    }
  }

  std::vector<ValueRange> ranges(const CalibrationOptions& options = {}) const {
    const std::vector<std::vector<Binding>> examples = {example};
    return calibrate(graph, stream, weights, examples, options);
  }
  Floats run(const Graph& of) const {
    std::vector<Binding> bindings = example;
    for (const Binding& weight : weights)
      if (std::ranges::count(of.data().inputs, std::string(weight.name), &InputInfo::name) > 0)
        bindings.push_back(weight);
    return device.download<float>(compile(of, device, options()).context().run(stream, bindings)[0],
                                  stream);
  }
  /// The results of a model whose weights were split off.
  Floats run(const PrecomputedGraph& model) const {
    std::vector<Binding> given;
    for (const Binding& weight : weights)
      if (std::ranges::count(model.weights.data().inputs, std::string(weight.name),
                             &InputInfo::name) > 0)
        given.push_back(weight);
    const Outputs computed = compile(model.weights, device, options()).context().run(stream, given);
    std::vector<Binding> bindings = example;
    for (const OutputInfo& output : model.weights.data().outputs)
      bindings.emplace_back(output.name, computed[output.name]);
    for (const Binding& weight : weights)
      if (std::ranges::count(model.graph.data().inputs, std::string(weight.name),
                             &InputInfo::name) > 0)
        bindings.push_back(weight);
    return device.download<float>(
        compile(model.graph, device, options()).context().run(stream, bindings)[0], stream);
  }

  static Options options() { return {.tune = Tune::off, .optimize_host = false}; }

  Device device = host_device();
  Stream stream = device.stream();
  Graph graph;
  std::vector<std::string> weight_names;
  std::vector<Binding> weights;
  std::vector<Binding> example;
  std::list<std::string> names;
  std::list<Array> arrays;
};

Model mlp() { return {kMlp, {"w1", "b1", "w2"}, 40}; }
Model net() { return {kNet, {"w", "d", "v"}, 3}; }

/// The root mean square of `a - b`, relative to that of `b`.
double relative_error(const Floats& a, const Floats& b) {
  EXPECT_EQ(a.size(), b.size());
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    errors += std::pow(a[i] - b[i], 2);
    squares += std::pow(b[i], 2);
  }
  return std::sqrt(errors / squares);
}

int count_products(const Graph& graph, DType dtype) {
  int count = 0;
  for (const Node* node : graph.data().nodes)
    count += (node->op == Op::matmul || node->op == Op::conv) && node->operand(0)->dtype == dtype;
  return count;
}

TEST(Calibrate, MeasuresOperandsThatAreNoWeights) {
  const Model model = mlp();
  const std::vector<ValueRange> ranges = model.ranges();
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].value, "x");
  EXPECT_EQ(ranges[1].value, "r");
  const Floats x = model.device.download<float>(*model.example[0].array, model.stream);
  EXPECT_EQ(ranges[0].low, static_cast<double>(std::ranges::min(x)));
  EXPECT_EQ(ranges[0].high, static_cast<double>(std::ranges::max(x)));
  EXPECT_EQ(ranges[1].low, 0) << "after relu";
  EXPECT_GT(ranges[1].high, 1);
}

TEST(Calibrate, ExamplesExtendRanges) {
  const Device device = host_device();
  const Stream stream = device.stream();
  const Graph graph =
      parse("graph g(x: f32[n, 2], w: f32[2, 2]) {\n  y = matmul x, w\n  return y\n}\n");
  const auto array = [&](const Floats& values) {
    const Array result = device.empty(f32, {static_cast<std::int64_t>(values.size()) / 2, 2});
    device.upload(result, values, stream);
    return result;
  };
  const Array w = array({1, 0, 0, 1}), first = array({1, -2}), second = array({3, 0, 0, 5});
  const std::vector<std::vector<Binding>> examples = {{{"x", first}}, {{"x", second}}};
  const std::vector<ValueRange> ranges = calibrate(graph, stream, {{"w", w}}, examples);
  ASSERT_THAT(ranges, SizeIs(1));
  EXPECT_EQ(ranges[0].low, -2);
  EXPECT_EQ(ranges[0].high, 5);
}

TEST(Calibrate, PercentilesLeaveOutTails) {
  const Device device = host_device();
  const Stream stream = device.stream();
  const Graph graph =
      parse("graph g(x: f32[n, 1], w: f32[1, 1]) {\n  y = matmul x, w\n  return y\n}\n");
  Floats values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 20000;
  values[7] = 100;
  const Array x = device.empty(f32, {20000, 1}), w = device.empty(f32, {1, 1});
  device.upload(x, values, stream);
  device.upload(w, Floats{1}, stream);
  const std::vector<std::vector<Binding>> examples = {{{"x", x}}};
  const std::vector<ValueRange> ranges = calibrate(
      graph, stream, {{"w", w}}, examples, {.method = RangeMethod::percentile, .percentile = 99.9});
  ASSERT_THAT(ranges, SizeIs(1));
  EXPECT_EQ(ranges[0].low, 0);
  EXPECT_GE(ranges[0].high, 0.999);
  EXPECT_LT(ranges[0].high, 1.1) << "the element 100 is outside";
}

TEST(Calibrate, NamesWhatIsWrong) {
  const Model model = mlp();
  EXPECT_THAT(error_of([&] { calibrate(model.graph, model.stream, model.weights, {}); }),
              HasSubstr("calibrate: graph mlp has no example to run on"));
  EXPECT_THAT(error_of([&] { model.ranges({.percentile = 0}); }),
              HasSubstr("the percentile is 0; it must be above 0 and at most 100"));
  const Floats bad(40 * 24, NAN);
  model.device.upload(*model.example[0].array, bad, model.stream);
  EXPECT_THAT(error_of([&] { model.ranges(); }),
              HasSubstr("x is from nan to nan in example 0; its elements must be finite"));
}

TEST(QuantizeProducts, RoundsEveryOperand) {
  const Model model = mlp();
  const Floats exact = model.run(model.graph);
  const QuantizedGraph qdq = quantize_products(model.graph, model.weight_names, model.ranges());
  EXPECT_EQ(qdq.products, 2);
  EXPECT_THAT(qdq.skipped, IsEmpty());
  EXPECT_EQ(count_products(qdq.graph, f32), 2);
  const double error = relative_error(model.run(qdq.graph), exact);
  EXPECT_LT(error, 0.02);
  EXPECT_GT(error, 1e-4) << "nothing was rounded";
}

TEST(QuantizeProducts, FinerGridsAreCloser) {
  const Model model = mlp();
  const Floats exact = model.run(model.graph);
  const std::vector<ValueRange> ranges = model.ranges();
  const auto error = [&](const QuantizationOptions& options) {
    return relative_error(
        model.run(quantize_products(model.graph, model.weight_names, ranges, options).graph),
        exact);
  };
  const double best = error({});
  EXPECT_LT(best, error({.per_axis = false}));
  EXPECT_LT(best, error({.zero_points = false}));
  EXPECT_LT(error({.dtype = f8e4m3}), 0.1);
}

TEST(QuantizeProducts, SaysWhatItSkips) {
  const Model model = net();
  std::vector<ValueRange> ranges = model.ranges();
  ASSERT_THAT(ranges, SizeIs(3));
  const QuantizedGraph f8 =
      quantize_products(model.graph, model.weight_names, ranges, {.dtype = f8e4m3});
  EXPECT_EQ(f8.products, 1);
  ASSERT_THAT(f8.skipped, SizeIs(2));
  EXPECT_EQ(f8.skipped[0].value, "c");
  EXPECT_EQ(f8.skipped[0].reason, "convolutions of f8e4m3 do not exist");
  ranges.pop_back();
  const QuantizedGraph two = quantize_products(model.graph, model.weight_names, ranges);
  EXPECT_EQ(two.products, 2);
  ASSERT_THAT(two.skipped, SizeIs(1));
  EXPECT_EQ(two.skipped[0].reason, "its operand f has no range");
}

TEST(QuantizeProducts, RefusesBadRequests) {
  const Model model = mlp();
  const auto error = [&](std::vector<std::string> weights, std::vector<ValueRange> ranges,
                         QuantizationOptions options = {}) {
    return error_of([&] { quantize_products(model.graph, weights, ranges, options); });
  };
  EXPECT_THAT(error({"w3"}, {}), HasSubstr("graph mlp has no input w3, which should be a weight; "
                                           "it has x, w1, b1, w2"));
  EXPECT_THAT(error({"w1"}, {{"x", 3, 2}}), HasSubstr("the range of x is [3, 2]; both ends"));
  EXPECT_THAT(error({"w1"}, {{"x", 0, INFINITY}}), HasSubstr("the range of x is [0, inf]"));
  EXPECT_THAT(error({"w1"}, {}, {.dtype = i32}), HasSubstr("the dtype is i32; it must be i8 or"));
  const Graph training =
      parse("graph step(x: f32[4], w: f32[4]) {\n  y = add x, w\n  update w, y\n  return y\n}\n");
  EXPECT_THAT(error_of([&] { quantize_products(training, std::vector<std::string>{"w"}, {}); }),
              HasSubstr("graph step updates its input w, which therefore cannot be a weight"));
}

TEST(FoldDequantization, ProductsOfLevelsGiveTheSameValues) {
  for (const DType dtype : {i8, f8e4m3}) {
    const Model model = mlp();
    const QuantizedGraph qdq =
        quantize_products(model.graph, model.weight_names, model.ranges(), {.dtype = dtype});
    const QuantizedGraph folded = fold_dequantization(qdq.graph);
    EXPECT_EQ(folded.products, 2);
    EXPECT_EQ(count_products(folded.graph, f32), 0);
    EXPECT_EQ(count_products(folded.graph, dtype), 2);
    // Operands on the grid may round differently where the sums before them differ.
    EXPECT_LT(relative_error(model.run(folded.graph), model.run(qdq.graph)), 2e-3) << name(dtype);
  }
}

TEST(FoldDequantization, ConvolutionsBecomeProductsOfWindows) {
  const Model model = net();
  const QuantizedGraph qdq = quantize_products(model.graph, model.weight_names, model.ranges());
  EXPECT_EQ(qdq.products, 3);
  const QuantizedGraph folded = fold_dequantization(qdq.graph);
  EXPECT_EQ(folded.products, 3);
  EXPECT_THAT(folded.skipped, IsEmpty());
  EXPECT_EQ(count_products(folded.graph, i8), 3);
  EXPECT_LT(relative_error(model.run(folded.graph), model.run(qdq.graph)), 3e-3);
  EXPECT_LT(relative_error(model.run(folded.graph), model.run(model.graph)), 0.03);
}

TEST(FoldDequantization, BatchesAndWeightsOnTheLeft) {
  constexpr std::string_view kText = R"(
graph batched(x: f32[rows, 24], w: f32[2, 24, 8], v: f32[5, 8]) {
  a = cast x {to = f16}
  b = cast w {to = f16}
  h = matmul a, b
  t = permute h {axes = [0, 2, 1]}
  u = cast v {to = f16}
  y = matmul u, t
  z = cast y {to = f32}
  return z
})";
  const Model model(kText, {"w", "v"}, 9);
  const QuantizedGraph qdq =
      quantize_products(model.graph, model.weight_names, model.ranges());
  EXPECT_EQ(qdq.products, 2);
  const QuantizedGraph folded = fold_dequantization(qdq.graph);
  EXPECT_EQ(folded.products, 2);
  EXPECT_EQ(count_products(folded.graph, i8), 2);
  const Floats exact = model.run(model.graph);
  EXPECT_LT(relative_error(model.run(folded.graph), exact), 0.03);
  EXPECT_EQ(model.run(precompute(folded.graph, model.weight_names)), model.run(folded.graph));
}

TEST(FoldDequantization, SkipsScalesAlongTheSum) {
  const Graph graph = parse(R"(
graph blocked(q: i8[4, 8], s: f32[8], p: i8[8, 4], t: f32, x: f32[4, 8]) {
  a = cast q {to = f32}
  b = mul a, s
  c = cast p {to = f32}
  d = mul c, t
  y = matmul b, d
  z = matmul x, d
  return y, z
})");
  const QuantizedGraph folded = fold_dequantization(graph);
  EXPECT_EQ(folded.products, 0);
  ASSERT_THAT(folded.skipped, SizeIs(2));
  EXPECT_EQ(folded.skipped[0].value, "y");
  EXPECT_EQ(folded.skipped[0].reason, "a scale differs along the summed axis");
  EXPECT_EQ(folded.skipped[1].reason, "only one operand is dequantised");
}

TEST(FoldDequantization, SeesThroughCastsThatKeepLevelsOnly) {
  const Graph graph = parse(R"(
graph masks(q: u8[4, 8], p: i8[8, 4]) {
  a = cast q {to = bool}
  b = cast a {to = f32}
  c = mul b, 0.5
  d = cast p {to = u32}
  e = cast d {to = f32}
  f = mul e, 0.5
  g = cast p {to = f32}
  h = mul g, 0.5
  y = matmul c, h
  i = cast q {to = f32}
  j = mul i, 0.5
  z = matmul j, f
  return y, z
})");
  EXPECT_EQ(fold_dequantization(graph).products, 0);
}

TEST(FoldDequantization, PaddingMustBeALevel) {
  const Graph graph = parse(R"(
graph padded(q: i8[1, 2, 5, 5], w: i8[3, 2, 3, 3]) {
  a = cast q {to = f32}
  b = sub a, 200.0
  c = mul b, 0.5
  d = cast w {to = f32}
  e = mul d, 0.25
  y = conv c, e {padding_begin = [1, 1], padding_end = [1, 1]}
  z = conv c, e
  return y, z
})");
  const QuantizedGraph folded = fold_dequantization(graph);
  EXPECT_EQ(folded.products, 1);
  ASSERT_THAT(folded.skipped, SizeIs(1));
  EXPECT_EQ(folded.skipped[0].reason, "the zero point of its x, which pads it, may be no level");
}

TEST(FoldDequantization, ReadsExportedForms) {
  // Zero points in i32 and scales per row, behind views, as exporters write them.
  const Graph graph = parse(R"(
graph exported(q: u8[4, 2, 3], w: i8[6, 5], s: f32[5]) {
  a = cast q {to = i32}
  b = sub a, 130
  c = cast b {to = f32}
  d = mul c, 0.5
  e = reshape d {shape = [4, 6]}
  f = cast w {to = f32}
  g = mul f, s
  y = matmul e, g
  return y
})");
  const QuantizedGraph folded = fold_dequantization(graph);
  EXPECT_EQ(folded.products, 1);
  EXPECT_EQ(count_products(folded.graph, i8), 1);
  run_and_check(folded.graph);
}

TEST(Precompute, StoresTheFewestBytes) {
  const Model model = mlp();
  const QuantizedGraph folded =
      fold_dequantization(quantize_products(model.graph, model.weight_names, model.ranges()).graph);
  const PrecomputedGraph split = precompute(folded.graph, model.weight_names);
  const std::string text = print(split.graph);
  EXPECT_THAT(text, AllOf(HasSubstr("w1_levels: i8[32, 24]"), HasSubstr("i8[12, 32]")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("w1: f32")), Not(HasSubstr("w2: f32"))));
  EXPECT_THAT(text, HasSubstr("b1: f32[32]")) << "a weight that is read as it is stays";
  std::int64_t bytes = 0;
  for (const OutputInfo& output : split.weights.data().outputs)
    bytes += product(output.node->shape).number() * size_of(output.node->dtype);
  EXPECT_LT(bytes, 24 * 32 + 32 * 12 + 4 * 4 * (32 + 10));
  EXPECT_EQ(model.run(split), model.run(folded.graph)) << "the same bits";
}

TEST(Precompute, KeepsTheBitsOfConvolutions) {
  const Model model = net();
  const QuantizedGraph folded =
      fold_dequantization(quantize_products(model.graph, model.weight_names, model.ranges()).graph);
  EXPECT_EQ(model.run(precompute(folded.graph, model.weight_names)), model.run(folded.graph));
}

TEST(Precompute, LeavesGraphsWithoutWorkOnWeights) {
  const Model model = mlp();
  const PrecomputedGraph split = precompute(model.graph, model.weight_names);
  EXPECT_THAT(split.weights.data().outputs, IsEmpty());
  EXPECT_EQ(print(split.graph), print(model.graph));
}

TEST(Precompute, LeavesWhatDependsOnSymbols) {
  const Graph graph = parse(R"(
graph scaled(x: f32[n, 4], w: f32[4, 8]) {
  s = size {extent = n, dtype = i32}
  t = cast s {to = f32}
  u = mul w, t
  y = matmul x, u
  return y
})");
  const PrecomputedGraph split = precompute(graph, std::vector<std::string>{"w"});
  EXPECT_THAT(split.weights.data().outputs, IsEmpty());
  EXPECT_EQ(print(split.graph), print(graph));
}

TEST(Precompute, ComputesFactorsOfWeightsOnce) {
  // A batch normalisation that follows a product: two weights become one each.
  const Graph graph = parse(R"(
graph scaled(x: f32[8, 4], w: f32[4, 4], gamma: f32[4], variance: f32[4]) {
  v = add variance, 1e-05
  r = rsqrt v
  s = mul gamma, r
  t = permute w {axes = [1, 0]}
  u = mul t, s
  y = matmul x, u
  z = mul y, s
  return z
})");
  const PrecomputedGraph split =
      precompute(graph, std::vector<std::string>{"w", "gamma", "variance"});
  std::vector<std::string> names;
  for (const InputInfo& input : split.graph.data().inputs) names.push_back(input.name);
  EXPECT_THAT(names, ElementsAre("x", "s", "u"));
}

}  // namespace
}  // namespace sinter::test::quantization_test
