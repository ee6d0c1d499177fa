// The minimiser of fuzz tests, on failures that are made up.
#include "tests/support/fuzz/minimise.h"

#include "compiler/simplify/graph_sweep.h"
#include "ir/shape/extent.h"
#include "sinter/error.h"
#include "sinter/text.h"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace sinter::test::minimise_test {
namespace {

const Node* find(const RandomGraph& random, Op op) {
  for (const Node* node : reachable(random.graph.data()))
    if (node->op == op) return node;
  return nullptr;
}

RandomGraph graph_of(std::string_view text, std::vector<std::string> symbols = {},
                     std::vector<std::int64_t> sizes = {}) {
  return {.graph = parse(text), .symbols = std::move(symbols), .sizes = std::move(sizes)};
}

/// As if the tangent of a sum over more than four elements were wrong.
bool has_long_sum_in_tan(const RandomGraph& random) {
  const Node* const tan = find(random, Op::tan);
  if (!tan || tan->operand(0)->op != Op::sum) return false;
  const Node* const summed = tan->operand(0)->operand(0);
  return evaluate(product(summed->shape), random.sizes) > 4;
}

constexpr std::string_view kLarge = R"(
graph large(x: f32[rows, 24], w: f16[24], n: i32[7], s: f32) {
  v = cast w {to = f32}
  a = mul x, v
  b = exp a
  c = add b, s
  d = sum c {axes = [1], keep = true}
  e = tan d
  f = sub x, e
  g = max f {axes = [1]}
  h = mul n, 3
  y = cumsum f {axis = 1}
  update x, f
  return g, h, y
})";

TEST(Minimise, KeepsOnlyWhatFails) {
  const RandomGraph large = graph_of(kLarge, {"rows"}, {33});
  ASSERT_TRUE(has_long_sum_in_tan(large));
  const RandomGraph small = minimise(large, has_long_sum_in_tan);
  EXPECT_TRUE(has_long_sum_in_tan(small));
  EXPECT_EQ(file_text(small), R"(graph large(x: f32[1, 5]) {
  d = sum x {axes = [1], keep = true}
  e = tan d
  return y = e
}
)");
}

TEST(Minimise, KeepsASymbolThatTheFailureNeeds) {
  const auto fails = [](const RandomGraph& random) {
    return std::ranges::any_of(random.sizes, [](std::int64_t size) { return size >= 6; });
  };
  const RandomGraph small = minimise(graph_of(kLarge, {"rows"}, {33}), fails);
  ASSERT_EQ(small.symbols.size(), 1U);
  EXPECT_EQ(small.symbols[0], "rows");
  EXPECT_EQ(small.sizes[0], 6);
  EXPECT_EQ(reachable(small.graph.data()).size(), 1U);
}

TEST(Minimise, KeepsTheUpdateThatFails) {
  const auto fails = [](const RandomGraph& random) { return !random.graph.data().updates.empty(); };
  const RandomGraph small = minimise(graph_of(kLarge, {"rows"}, {33}), fails);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(find(small, Op::tan), nullptr);
}

TEST(Minimise, AsksNoMoreThanItMay) {
  int asked = 0;
  const auto fails = [&](const RandomGraph& random) {
    ++asked;
    return find(random, Op::tan) != nullptr;
  };
  minimise(graph_of(kLarge, {"rows"}, {33}), fails, /*most_tries=*/5);
  EXPECT_LE(asked, 5);
}

TEST(Minimise, RandomGraphsStayGraphsAndNeverGrow) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph random = random_graph(seed, 12);
    const Op wanted = reachable(random.graph.data()).back()->op;
    const auto fails = [&](const RandomGraph& smaller) { return find(smaller, wanted) != nullptr; };
    const RandomGraph small = minimise(random, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_LE(reachable(small.graph.data()).size(), reachable(random.graph.data()).size());
    EXPECT_EQ(print(normalised(small).graph), print(small.graph));
  }
}

TEST(Minimise, AFileTellsItsSizes) {
  EXPECT_EQ(file_text(normalised(graph_of("graph f(x: f32[n, m]) {\n  y = exp x\n  return y\n}",
                                          {"n", "m"}, {3, 4}))),
            "// sizes: n = 3, m = 4\ngraph f(x: f32[n, m]) {\n  y = exp x\n  return y\n}\n");
}

}  // namespace
}  // namespace sinter::test::minimise_test
