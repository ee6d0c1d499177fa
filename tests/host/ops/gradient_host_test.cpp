// Forward and backward passes in one program, fused and unfused: results within the oracle's
// bounds, and equal bits.
#include "tests/support/run/run.h"

#include <string>

#include <gtest/gtest.h>

namespace sinter::test::gradient_host_test {
namespace {

class GradientRun : public testing::TestWithParam<DType> {
 protected:
  Tensor input(std::string_view name, Extents shape, InputOptions options = {}) {
    return graph.input(name, GetParam(), shape, options);
  }
  void outputs(std::span<const Tensor> values) {
    for (const Tensor value : values) graph.output("out" + std::to_string(graph_outputs++), value);
  }

  Graph graph{"step"};
  Extent rows = graph.extent("rows");

 private:
  int graph_outputs = 0;
};

INSTANTIATE_TEST_SUITE_P(DTypes, GradientRun, testing::Values(f32, bf16),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(GradientRun, LayerNorm) {
  const Tensor x = input("x", {rows, 96});
  const Tensor w = input("w", {96}, {.low = 0.5, .high = 1.5});
  const Tensor b = input("b", {96});
  const Tensor y = layer_norm(x, {-1}, w, b);
  outputs({{y}});
  outputs(gradient(y, {x, w, b}, input("g", {rows, 96})));
  run_and_check(graph, {{"rows", 37}});
}

TEST_P(GradientRun, CrossEntropyOfALinearStep) {
  const Tensor x = input("x", {rows, 10});
  const Tensor scale = input("scale", {10});
  const Tensor targets = graph.input("targets", i64, {rows}, {.low = -1, .high = 9});
  const Tensor logits = x * scale;
  const Tensor loss = cross_entropy(logits, targets, {.ignore_index = -1});
  outputs({{loss}});
  outputs(gradient(loss, {x, scale, logits}));
  run_and_check(graph, {{"rows", 77}});
}

TEST_P(GradientRun, Softmax) {
  const Tensor x = input("x", {rows, 300});
  const Tensor y = softmax(x);
  outputs({{y}});
  outputs(gradient(y, {x}, input("g", {rows, 300})));
  run_and_check(graph, {{"rows", 9}});
}

TEST_P(GradientRun, MaxPool) {
  const Tensor x = input("x", {rows, 3, 11, 14});
  const Tensor y = max_pool(x, {3, 2}, {2, 2}, {1, 0});
  outputs({{y}});
  outputs(gradient(y, {x}, input("g", y.shape())));
  run_and_check(graph, {{"rows", 2}});
}

TEST_P(GradientRun, MaxPoolByItsIndex) {
  const Tensor x = input("x", {rows, 3, 11, 14});
  const WithIndex y = max_pool_with_index(x, {3, 2}, {2, 2}, {1, 0});
  const Tensor g = input("g", y.value.shape());
  outputs({{y.value, y.index, max_pool_backward(g, y.index, {11, 14}, {3, 2}, {2, 2}, {1, 0})}});
  run_and_check(graph, {{"rows", 2}});
}

TEST_P(GradientRun, AveragesOfLongWindows) {
  const Tensor x = input("x", {5, rows});
  const Tensor y = avg_pool(x, {12}, {1}, {0});
  outputs({{y}});
  outputs(gradient(y, {x}, input("g", y.shape())));
  run_and_check(graph, {{"rows", 60}});
}

TEST_P(GradientRun, Embedding) {
  const Tensor table = input("table", {50, 24});
  const Tensor ids = graph.input("ids", i32, {rows, 3}, {.low = 0, .high = 49});
  const Tensor y = embedding(table, ids);
  const Tensor loss = mean(y * y);
  const Tensor slope = gradient(loss, {table})[0];
  outputs({{loss}});
  graph.update(table, cast(table - slope * 0.125, table.dtype()));
  run_and_check(graph, {{"rows", 41}});
}

TEST_P(GradientRun, Dropout) {
  const Tensor x = input("x", {rows, 65});
  const Tensor y = dropout(gelu(x), graph.scalar("seed", i64), 0.25);
  outputs({{y}});
  outputs(gradient(y, {x}, input("g", {rows, 65})));
  run_and_check(graph, {{"rows", 23}});
}

TEST_P(GradientRun, BatchNorm) {
  const Tensor x = input("x", {rows, 6, 7, 4});
  const Tensor w = input("w", {6}, {.low = 0.5, .high = 1.5});
  const Tensor b = input("b", {6});
  const Tensor mean = graph.input("mean", f32, {6});
  const Tensor var = graph.input("var", f32, {6}, {.low = 0.5, .high = 2.0});
  const BatchNorm norm = batch_norm(x, mean, var, w, b);
  outputs({{norm.y}});
  graph.update(mean, norm.running_mean);
  graph.update(var, norm.running_var);
  outputs(gradient(norm.y, {x, w, b}, input("g", {rows, 6, 7, 4})));
  run_and_check(graph, {{"rows", 5}});
}

TEST_P(GradientRun, OfAScalar) {
  const Tensor x = graph.scalar("x", GetParam());
  const Tensor other = input("other", {4});
  outputs(gradient(x, {x, other}));
  outputs(gradient(x * x, {x}));
  run_and_check(graph, {});
}

}  // namespace
}  // namespace sinter::test::gradient_host_test
