// Copies of graphs, removal of unused nodes, and rewrite().
#include "compiler/simplify/graph_sweep.h"

#include "ir/verify/verify.h"
#include "sinter/error.h"
#include "sinter/ops.h"
#include "tests/support/graphs/rewritten.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace sinter::graph_sweep_test {
namespace {

TEST(CloneTest, KeepsInputsOutputsAndUpdates) {
  const Graph graph = parse(
      graph_text("x: f32[rows, 4] {strides = [8, 1], range = [-1, 1]}, lr: f32, unused: i32[3]",
                 "y = mul x, lr; s = sum y {axes = [1]}; update x, y; return s"));
  const Graph copy = clone(graph);
  EXPECT_EQ(print(copy), print(graph));
  EXPECT_NO_THROW(verify(copy));
}

TEST(CloneTest, OmitsUnusedNodes) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {8});
  exp(x);
  graph.output("y", neg(x));
  EXPECT_EQ(clone(graph).data().nodes.size(), 2U);
}

TEST(CloneTest, OutlivesTheOriginal) {
  auto graph =
      std::make_unique<Graph>(parse(graph_text("x: f32[rows]", "half = mul x, 0.5; return half"),
                                    std::string("model.") + "sinter"));
  const std::string text = print(*graph);
  const Graph copy = clone(*graph);
  graph.reset();
  EXPECT_EQ(print(copy), text);
  EXPECT_EQ(copy.data().location_text(copy.data().outputs[0].node), "model.sinter:2");
  EXPECT_EQ(to_string(copy.data().outputs[0].location), "model.sinter:3");
}

TEST(CloneTest, TakesSizesForSymbols) {
  const Graph graph = parse(graph_text(
      "x: f32[rows, columns] {strides = [columns * 2, 1]}, y: f32[columns]",
      "b = broadcast_to y {shape = [rows, columns]}; s = add x, b; t = sum s {axes = [1]}; "
      "update x, s; return t"));
  const Graph copy = clone_with_sizes(graph, std::array<std::int64_t, 2>{6, 4});
  EXPECT_EQ(print(copy),
            print(parse(graph_text(
                "x: f32[6, 4] {strides = [8, 1]}, y: f32[4]",
                "b = broadcast_to y {shape = [6, 4]}; s = add x, b; t = sum s {axes = [1]}; "
                "update x, s; return t"))));
  EXPECT_EQ(copy.data().extents->symbols().size(), 2U);
  EXPECT_NO_THROW(verify(copy));
}

/// Sizes can make different values equal.
TEST(CloneTest, UnitesNodesThatSizesMakeEqual) {
  const Graph graph = parse(graph_text("x: f32[1]",
                                       "a = broadcast_to x {shape = [n]}; "
                                       "b = broadcast_to x {shape = [m]}; return a, b"));
  const Graph copy = clone_with_sizes(graph, std::array<std::int64_t, 2>{3, 3});
  EXPECT_EQ(copy.data().outputs[0].node, copy.data().outputs[1].node);
  EXPECT_NO_THROW(verify(copy));
}

TEST(CloneTest, HasItsOwnSymbols) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Extent columns = graph.extent("columns");
  const Extent blocks = floor_div(rows + 31, 32) * columns;
  graph.output("y", exp(graph.input("x", f32, {columns, rows, blocks})));
  const Graph copy = clone(graph);
  const std::string text = print(graph);
  graph.extent("later");
  EXPECT_EQ(print(copy), text);
  EXPECT_EQ(copy.data().extents->symbols().size(), 2U);
  const Extent copied = copy.data().outputs[0].node->shape[2];
  EXPECT_NE(copied, blocks);
  for (const std::int64_t size : {1, 32, 33})
    EXPECT_EQ(evaluate(copied, std::array{size, std::int64_t{7}}), (size + 31) / 32 * 7);
}

TEST(KeepOnlyTest, RetainedNodesHaveNewIds) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {8});
  const Tensor y = graph.input("y", f32, {8});
  const Tensor unused = exp(x).label("unused");
  const Tensor sum = (x + y).label("total");
  graph.output("z", neg(sum));
  GraphData& data = graph.data();
  const std::string location = data.location_text(sum.node());
  const std::string text = print(graph);
  data.retain_nodes(reachable(data));
  EXPECT_EQ(data.nodes.size(), 4U);
  EXPECT_EQ(sum.node()->id, 2U);
  EXPECT_EQ(data.label(sum.node()), "total");
  EXPECT_EQ(data.location_text(sum.node()), location);
  EXPECT_EQ((x + y).node(), sum.node());
  EXPECT_TRUE(data.are_all_live());
  EXPECT_EQ(print(graph), text);
  EXPECT_NO_THROW(verify(graph));
  // Recording a removed node creates a new node.
  EXPECT_NE(exp(x).node(), unused.node());
  EXPECT_EQ(exp(x).node()->id, 4U);
}

TEST(KeepOnlyTest, InputsAreRetainedAndComeFirst) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {8});
  const Tensor y = exp(x);
  const Tensor late = graph.input("late", f32, {8});
  graph.output("y", y);
  GraphData& data = graph.data();
  data.retain_nodes(reachable(data));
  EXPECT_EQ(late.node()->id, 1U);
  EXPECT_EQ(y.node()->id, 2U);
  EXPECT_FALSE(data.are_all_live());
  EXPECT_NO_THROW(verify(graph));
}

TEST(CompactTest, SharesTheSymbols) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows});
  exp(x);
  graph.output("y", neg(x));
  const Graph copy = compact(graph);
  EXPECT_EQ(copy.data().outputs[0].node->shape[0], rows);
  EXPECT_EQ(copy.data().nodes.size(), 2U);
}

TEST(CloneTest, DoesNotTouchTheOriginal) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {8});
  graph.output("y", exp(x));
  Graph copy = clone(graph);
  rewrite(copy.data(),
          [&](const Node* node) { return neg(tensor(copy.data(), node->operand(0))).node(); });
  EXPECT_EQ(graph.data().nodes.size(), 2U);
  EXPECT_EQ(graph.data().outputs[0].node->op, Op::exp);
}

class RewriteTest : public testing::Test {
 protected:
  /// Replaces every exp by the neg of its operand.
  bool negate_exps() {
    return rewrite(graph_.data(), [&](const Node* node) {
      return node->op == Op::exp ? neg(tensor(graph_.data(), node->operand(0))).node() : node;
    });
  }

  Graph graph_{"g"};
  Tensor x_ = graph_.input("x", f32, {8});
};

TEST_F(RewriteTest, UpdatesTheOperandsOfUsers) {
  graph_.output("y", sqrt(exp(x_)));
  EXPECT_TRUE(negate_exps());
  const Node* y = graph_.data().outputs[0].node;
  EXPECT_EQ(y->op, Op::sqrt);
  EXPECT_EQ(y->operand(0)->op, Op::neg);
}

TEST_F(RewriteTest, ReturnsFalseIfNothingChanged) {
  graph_.output("y", sqrt(x_));
  const Node* before = graph_.data().outputs[0].node;
  EXPECT_FALSE(negate_exps());
  EXPECT_EQ(graph_.data().outputs[0].node, before);
  EXPECT_EQ(graph_.data().nodes.size(), 2U);
}

TEST_F(RewriteTest, ReachesUpdates) {
  graph_.update(x_, exp(x_));
  EXPECT_TRUE(negate_exps());
  EXPECT_EQ(graph_.data().updates[0].value->op, Op::neg);
}

TEST_F(RewriteTest, MovesLabels) {
  graph_.output("y", sqrt(exp(x_).label("e")));
  negate_exps();
  EXPECT_EQ(graph_.data().label(graph_.data().outputs[0].node->operand(0)), "e");
}

TEST_F(RewriteTest, KeepsTheLabelOfAReplacement) {
  graph_.output("z", neg(x_).label("own"));
  graph_.output("y", sqrt(exp(x_).label("e")));
  negate_exps();
  EXPECT_EQ(graph_.data().label(graph_.data().outputs[1].node->operand(0)), "own");
}

TEST_F(RewriteTest, VisitsEachNodeOnce) {
  const Tensor e = exp(x_);
  graph_.output("y", e + e * e);
  int visits = 0;
  rewrite(graph_.data(), [&](const Node* node) {
    visits += node->op == Op::exp;
    return node;
  });
  EXPECT_EQ(visits, 1);
}

TEST_F(RewriteTest, RejectsAnotherType) {
  graph_.output("y", exp(x_));
  EXPECT_THROW(
      rewrite(graph_.data(),
              [&](const Node* node) { return cast(tensor(graph_.data(), node), f64).node(); }),
      InternalError);
}

TEST_F(RewriteTest, HandlesLongChainsWithoutRecursion) {
  Tensor x = x_;
  for (int i = 0; i < 100000; ++i) x = exp(x);
  graph_.output("y", x);
  negate_exps();
  EXPECT_EQ(reachable(graph_.data()).size(), 100001U);
}

}  // namespace
}  // namespace sinter::graph_sweep_test
