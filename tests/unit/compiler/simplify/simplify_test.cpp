// simplify: graphs become smaller, and their results keep all bits.
#include "compiler/simplify/simplify.h"

#include "sinter/ops.h"
#include "tests/support/graphs/rewritten.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::simplify_test {
namespace {

std::string simplified(std::string_view inputs, std::string_view statements) {
  return rewritten(graph_text(inputs, statements), simplify);
}

/// Expects that both texts simplify to the same graph.
void expect_same(std::string_view inputs, std::string_view a, std::string_view b) {
  EXPECT_EQ(simplified(inputs, a), simplified(inputs, b));
}

TEST(SimplifyTest, KeepsNodesIfNothingChanges) {
  Graph graph = parse(graph_text("x: f32[8, 64]", "a = exp x; s = sum a {axes = [1]}; return s"));
  const std::size_t count = graph.data().nodes.size();
  const Node* before = graph.data().outputs[0].node;
  simplify(graph.data());
  EXPECT_EQ(graph.data().outputs[0].node, before);
  EXPECT_EQ(graph.data().nodes.size(), count);
}

TEST(SimplifyTest, AppliesRulesRepeatedly) {
  EXPECT_EQ(
      simplified("x: f32[8]", "a = neg x; b = mul a, 1.0; c = neg b; y = add c, -0.0; return y"),
      "  return y = x\n");
}

TEST(SimplifyTest, MatchesCommutativeOpsInBothOrders) {
  expect_same("x: f32[8]", "y = mul 1.0, x; return y", "y = mul x, 1.0; return y");
}

TEST(SimplifyTest, ReusesTheOpOfTheWholeOperandThroughAView) {
  expect_same("x: f32[8, 4]",
              "a = cast x {to = bf16}; p = permute x {axes = [1, 0]}; y = cast p {to = bf16}; "
              "return a, y",
              "a = cast x {to = bf16}; y = permute a {axes = [1, 0]}; return a, y");
  expect_same("x: f32[8, 4]",
              "a = mul x, 3.0; p = reshape x {shape = [32]}; y = mul p, 3.0; return a, y",
              "a = mul x, 3.0; y = reshape a {shape = [32]}; return a, y");
}

TEST(SimplifyTest, KeepsAnOpOfAViewWithoutAnEqualOp) {
  EXPECT_EQ(simplified("x: f32[8, 4]", "p = permute x {axes = [1, 0]}; y = exp p; return y"),
            "  p = permute x {axes = [1, 0]}\n"
            "  y = exp p\n"
            "  return y\n");
}

TEST(SimplifyTest, MovesConstantsToTheRight) {
  EXPECT_EQ(simplified("x: f32[8]", "y = add 2.0, x; return y"),
            "  y = add x, 2.0\n"
            "  return y\n");
}

TEST(SimplifyTest, KeepsConstantsOfNonCommutativeOps) {
  EXPECT_EQ(simplified("x: f32[8]", "y = sub 2.0, x; return y"),
            "  y = sub 2.0, x\n"
            "  return y\n");
}

TEST(SimplifyTest, TreatsAFullArrayAsAConstant) {
  expect_same("x: f32[8, 4]",
              "one = full {shape = [8, 4], value = 1.0, dtype = f32}; y = mul one, x; return y",
              "return y = x");
}

TEST(SimplifyTest, KeepsTheShapeOfAFullArray) {
  EXPECT_EQ(
      simplified("x: f32[4]",
                 "one = full {shape = [8, 4], value = 1.0, dtype = f32}; y = mul x, one; return y"),
      "  y = broadcast_to x {shape = [8, 4]}\n"
      "  return y\n");
}

TEST(SimplifyTest, DropsBroadcastsThatAreImplicit) {
  EXPECT_EQ(simplified("x: f32[8, 4], b: f32[4]",
                       "w = broadcast_to b {shape = [8, 4]}; y = add x, w; return y"),
            "  y = add x, b\n"
            "  return y\n");
}

TEST(SimplifyTest, KeepsBroadcastsThatDetermineTheShape) {
  const std::string text =
      "  w = broadcast_to b {shape = [8, 4]}\n"
      "  y = exp w\n"
      "  return y\n";
  EXPECT_EQ(simplified("b: f32[4]", "w = broadcast_to b {shape = [8, 4]}; y = exp w; return y"),
            text);
}

TEST(SimplifyTest, ConstantOperandsOfHalvesAreNotRounded) {
  // bf16 does not have 0.1. The product is computed in f32 with 0.1 and rounded once.
  EXPECT_EQ(simplified("x: bf16[8]", "a = neg x; b = neg a; y = mul b, 0.1; return y"),
            "  y = mul x, 0.1\n"
            "  return y\n");
}

TEST(SimplifyTest, RoundsASelectedConstantToBf16) {
  EXPECT_EQ(
      simplified(
          "x: bf16[8]",
          "c = full {shape = [8], value = true, dtype = bool}; y = where c, 0.1, x; return y"),
      "  y = full {shape = [8], value = 0.10009765625, dtype = bf16}\n"
      "  return y\n");
}

TEST(SimplifyTest, MergesReshapes) {
  EXPECT_EQ(simplified("x: f32[8, 6]",
                       "a = reshape x {shape = [48]}; y = reshape a {shape = [6, 8]}; return y"),
            "  y = reshape x {shape = [6, 8]}\n"
            "  return y\n");
}

TEST(SimplifyTest, DropsInverseReshapes) {
  EXPECT_EQ(simplified("x: f32[8, 6]",
                       "a = reshape x {shape = [48]}; y = reshape a {shape = [8, 6]}; return y"),
            "  return y = x\n");
}

TEST(SimplifyTest, ComposesPermutations) {
  EXPECT_EQ(
      simplified("x: f32[2, 3, 4]",
                 "a = permute x {axes = [1, 2, 0]}; y = permute a {axes = [1, 2, 0]}; return y"),
      "  y = permute x {axes = [2, 0, 1]}\n"
      "  return y\n");
}

TEST(SimplifyTest, DropsInversePermutations) {
  EXPECT_EQ(
      simplified("x: f32[2, 3, 4]",
                 "a = permute x {axes = [1, 2, 0]}; y = permute a {axes = [2, 0, 1]}; return y"),
      "  return y = x\n");
}

TEST(SimplifyTest, PermutesTheConcatInsteadOfItsSegments) {
  EXPECT_EQ(simplified("x: f32[2, 3]",
                       "a = pad x {low = [0, 0], high = [0, 5], value = 0};"
                       "t = permute x {axes = [1, 0]};"
                       "b = pad t {low = [0, 0], high = [5, 0], value = 0}; return a, b"),
            "  full = full {shape = [2, 5], value = 0.0, dtype = f32}\n"
            "  a = concat x, full {axis = 1}\n"
            "  b = permute a {axes = [1, 0]}\n"
            "  return a, b\n");
}

TEST(SimplifyTest, KeepsConcatsOfDifferentlyPermutedSegments) {
  const std::string kept = simplified("x: f32[2, 3], y: f32[3, 2]",
                                      "t = permute x {axes = [1, 0]};"
                                      "z = concat t, y {axis = 0}; return z");
  EXPECT_EQ(kept,
            "  t = permute x {axes = [1, 0]}\n"
            "  z = concat t, y {axis = 0}\n"
            "  return z\n");
}

TEST(SimplifyTest, MergesBroadcasts) {
  EXPECT_EQ(simplified("x: f32[4]",
                       "a = broadcast_to x {shape = [3, 4]};"
                       "y = broadcast_to a {shape = [2, 3, 4]}; return y"),
            "  y = broadcast_to x {shape = [2, 3, 4]}\n"
            "  return y\n");
}

TEST(SimplifyTest, MergesSlicesOfOneAxis) {
  EXPECT_EQ(simplified("x: f32[100]",
                       "a = slice x {axis = 0, begin = 10, end = 90, step = 2};"
                       "y = slice a {axis = 0, begin = 5, end = 35, step = 3}; return y"),
            "  y = slice x {axis = 0, begin = 20, end = 80, step = 6}\n"
            "  return y\n");
}

TEST(SimplifyTest, MergedSliceStopsAtTheEndOfItsOperand) {
  EXPECT_EQ(simplified("x: f32[5]",
                       "a = slice x {axis = 0, begin = 0, end = 5, step = 2};"
                       "y = slice a {axis = 0, begin = 1, end = 3}; return y"),
            "  y = slice x {axis = 0, begin = 2, end = 5, step = 2}\n"
            "  return y\n");
}

TEST(SimplifyTest, MergesSlicesOfSymbols) {
  EXPECT_EQ(simplified("x: f32[n]",
                       "a = slice x {axis = 0, begin = 1, end = n};"
                       "y = slice a {axis = 0, begin = 2, end = n - 1}; return y"),
            "  y = slice x {axis = 0, begin = 3, end = n, step = 1}\n"
            "  return y\n");
}

TEST(SimplifyTest, ReadsASliceOfAConcatFromItsSegment) {
  const std::string_view inputs = "x: f32[4, 3], y: f32[4, 5]";
  const std::string concat = "c = concat x, y {axis = 1};";
  EXPECT_EQ(simplified(inputs,
                       concat + "z = slice c {axis = 1, begin = 4, end = 7}; e = exp z; return e"),
            "  z = slice y {axis = 1, begin = 1, end = 4, step = 1}\n"
            "  e = exp z\n"
            "  return e\n");
  EXPECT_EQ(simplified(inputs,
                       concat + "z = slice c {axis = 1, begin = 0, end = 3}; e = exp z; return e"),
            "  e = exp x\n"
            "  return e\n");
}

TEST(SimplifyTest, KeepsSlicesThatSpanTwoSegments) {
  const std::string text =
      "  c = concat x, y {axis = 1}\n"
      "  z = slice c {axis = 1, begin = 2, end = 4, step = 1}\n"
      "  return z\n";
  EXPECT_EQ(simplified("x: f32[4, 3], y: f32[4, 5]",
                       "c = concat x, y {axis = 1};"
                       "z = slice c {axis = 1, begin = 2, end = 4}; return z"),
            text);
}

TEST(SimplifyTest, KeepsSlicesOfConcatsWithStepsOrOtherAxes) {
  EXPECT_EQ(simplified("x: f32[4, 3], y: f32[4, 5]",
                       "c = concat x, y {axis = 1};"
                       "a = slice c {axis = 1, begin = 3, end = 8, step = 2};"
                       "b = slice c {axis = 0, begin = 1, end = 3}; return a, b"),
            "  c = concat x, y {axis = 1}\n"
            "  a = slice c {axis = 1, begin = 3, end = 8, step = 2}\n"
            "  b = slice c {axis = 0, begin = 1, end = 3, step = 1}\n"
            "  return a, b\n");
}

/// Writing a slice back to its own position changes nothing.
TEST(SimplifyTest, MergesNeighbouringSlices) {
  EXPECT_EQ(simplified("x: f32[4, 8]",
                       "v = select x {axis = 1, index = 3};"
                       "y = select_scatter x, v {axis = 1, index = 3}; return y"),
            "  return y = x\n");
}

TEST(SimplifyTest, ConsecutiveSliceWritesAreOneConcat) {
  EXPECT_EQ(simplified("x: f32[8], v: f32[1], w: f32[1]",
                       "a = slice_scatter x, v {axis = 0, begin = 2, end = 3};"
                       "b = slice_scatter a, w {axis = 0, begin = 3, end = 4}; return b"),
            "  slice_1 = slice x {axis = 0, begin = 0, end = 2, step = 1}\n"
            "  slice_2 = slice x {axis = 0, begin = 4, end = 8, step = 1}\n"
            "  b = concat slice_1, v, w, slice_2 {axis = 0}\n"
            "  return b\n");
}

/// All levels merge in one pass. Merging level by level would copy each segment once per level.
TEST(SimplifyTest, MergesALongChainOfConcats) {
  constexpr int kLevels = 300;
  std::string statements = "a0 = exp x; c0 = concat a0, a0 {axis = 0};";
  for (int i = 1; i < kLevels; ++i)
    statements += fmt::format("a{0} = exp a{1}; c{0} = concat c{1}, a{0} {{axis = 0}};", i, i - 1);
  Graph graph = parse(graph_text("x: f32[8]", statements + fmt::format("return c{}", kLevels - 1)));
  simplify(graph.data());
  EXPECT_EQ(graph.data().outputs[0].node->operands.size(), kLevels + 1);
  EXPECT_LT(graph.data().nodes.size(), 3 * kLevels);
}

TEST(SimplifyTest, ReadsSymbolicSlicesOfAConcatFromTheirSegment) {
  EXPECT_EQ(simplified("x: f32[n], y: f32[n]",
                       "c = concat x, y {axis = 0};"
                       "z = slice c {axis = 0, begin = n, end = 2 * n}; e = exp z; return e"),
            "  e = exp y\n"
            "  return e\n");
}

TEST(SimplifyTest, DropsLosslessCasts) {
  EXPECT_EQ(simplified("x: bf16[8]", "a = cast x {to = f32}; y = cast a {to = bf16}; return y"),
            "  return y = x\n");
  EXPECT_EQ(simplified("x: i32[8]", "a = cast x {to = i64}; y = cast a {to = f32}; return y"),
            "  y = cast x {to = f32}\n"
            "  return y\n");
}

TEST(SimplifyTest, KeepsCastsThatRound) {
  const std::string text =
      "  a = cast x {to = f16}\n"
      "  y = cast a {to = bf16}\n"
      "  return y\n";
  EXPECT_EQ(simplified("x: bf16[8]", "a = cast x {to = f16}; y = cast a {to = bf16}; return y"),
            text);
  EXPECT_EQ(simplified("x: i64[8]", "a = cast x {to = f64}; y = cast a {to = i64}; return y"),
            "  a = cast x {to = f64}\n"
            "  y = cast a {to = i64}\n"
            "  return y\n");
}

/// Casts from floating dtypes to integers saturate, and casts between integers wrap.
TEST(SimplifyTest, KeepsCastsThatMaySaturate) {
  EXPECT_EQ(simplified("x: i16[8]", "a = cast x {to = f32}; y = cast a {to = u8}; return y"),
            "  a = cast x {to = f32}\n"
            "  y = cast a {to = u8}\n"
            "  return y\n");
  EXPECT_EQ(simplified("x: i16[8]", "a = cast x {to = f32}; y = cast a {to = i32}; return y"),
            "  y = cast x {to = i32}\n"
            "  return y\n");
  EXPECT_EQ(simplified("x: f8e5m2[8]", "a = cast x {to = f32}; y = cast a {to = f8e5m2}; return y"),
            "  return y = x\n");
}

TEST(SimplifyTest, DividesByPowersOfTwoByMultiplying) {
  EXPECT_EQ(simplified("x: f32[8]", "y = div x, 4096.0; return y"),
            "  y = mul x, 0.00024414062\n"
            "  return y\n");
  EXPECT_EQ(simplified("x: f32[8]", "y = div x, -0.5; return y"),
            "  y = mul x, -2.0\n"
            "  return y\n");
}

TEST(SimplifyTest, KeepsOtherDivisions) {
  const std::string third = "  y = div x, 3.0\n  return y\n";
  EXPECT_EQ(simplified("x: f32[8]", "y = div x, 3.0; return y"), third);
  // The reciprocal of 2^127 is subnormal.
  const std::string huge = "  y = div x, 1.7014118e+38\n  return y\n";
  EXPECT_EQ(simplified("x: f32[8]", "y = div x, 1.7014118e+38; return y"), huge);
  EXPECT_EQ(simplified("x: f32[8]", "y = div x, 0.0; return y"), "  y = div x, 0.0\n  return y\n");
  EXPECT_EQ(simplified("x: f32[8]", "y = div x, inf; return y"), "  y = div x, inf\n  return y\n");
}

TEST(SimplifyTest, RewritesValuesOfUpdates) {
  EXPECT_EQ(simplified("w: f32[8], g: f32[8]", "a = neg g; y = sub w, a; update w, y; return y"),
            "  y = add w, g\n"
            "  update w, y\n"
            "  return y\n");
}

TEST(SimplifyTest, MovesALabelToItsReplacement) {
  EXPECT_EQ(simplified("x: f32[8], y: f32[8]",
                       "a = neg y; shifted = sub x, a; b = mul shifted, 1.0; z = exp b; return z"),
            "  shifted = add x, y\n"
            "  z = exp shifted\n"
            "  return z\n");
}

TEST(SimplifyTest, OutputsMayBecomeOneNode) {
  EXPECT_EQ(simplified("x: f32[8]", "y = exp x; z = mul y, 1.0; return y, z"),
            "  y = exp x\n"
            "  return y, z = y\n");
}

TEST(SimplifyTest, HandlesLongChainsWithoutRecursion) {
  Graph graph("chain");
  Tensor x = graph.input("x", f32, {8});
  for (int i = 0; i < 100000; ++i) x = i % 3 == 0 ? mul(x, 1.0) : i % 3 == 1 ? exp(x) : neg(neg(x));
  graph.output("y", x);
  Graph copy = clone(graph);
  simplify(copy.data());
  EXPECT_EQ(reachable(copy.data()).size(), 33334U);
}

}  // namespace
}  // namespace sinter::simplify_test
