// Constant folding: ops that are evaluated at plan time, and ops that are left to the device.
#include "compiler/simplify/fold.h"

#include "tests/support/graphs/rewritten.h"

#include <gtest/gtest.h>

namespace sinter::fold_test {
namespace {

std::string folded(std::string_view inputs, std::string_view statements) {
  return rewritten(graph_text(inputs, statements), fold);
}

/// The folded statement y = op a, b, for constants `a` and `b` of `dtype`.
std::string folded_pair(std::string_view op, std::string_view a, std::string_view b,
                        std::string_view dtype) {
  const auto full = [&](std::string_view shape, std::string_view value) {
    return "full {shape = " + std::string(shape) + ", value = " + std::string(value) +
           ", dtype = " + std::string(dtype) + "}";
  };
  return folded("x: f32[1]", "a = " + full("[2, 1]", a) + "; b = " + full("[3]", b) +
                                 "; y = " + std::string(op) + " a, b; return y");
}

std::string result(std::string_view value, std::string_view dtype) {
  return "  y = full {shape = [2, 3], value = " + std::string(value) +
         ", dtype = " + std::string(dtype) + "}\n  return y\n";
}

TEST(FoldTest, RoundsToF32) {
  EXPECT_EQ(folded_pair("add", "1.0", "1e-08", "f32"), result("1.0", "f32"));
  EXPECT_EQ(folded_pair("add", "1.0", "1e-08", "f64"), result("1.00000001", "f64"));
}

TEST(FoldTest, RoundsHalvesThroughF32) {
  EXPECT_EQ(folded_pair("mul", "3.0", "0.1", "bf16"), result("0.30078125", "bf16"));
  EXPECT_EQ(folded_pair("add", "60000.0", "6000.0", "f16"), result("inf", "f16"));
}

TEST(FoldTest, KeepsTheSignOfZero) {
  EXPECT_EQ(folded_pair("mul", "-1.0", "0.0", "f32"), result("-0.0", "f32"));
  EXPECT_EQ(folded_pair("maximum", "-0.0", "0.0", "f32"), result("0.0", "f32"));
}

TEST(FoldTest, DividesByZero) {
  EXPECT_EQ(folded_pair("div", "1.0", "0.0", "f32"), result("inf", "f32"));
  EXPECT_EQ(folded_pair("div", "0.0", "0.0", "f32"), result("nan", "f32"));
}

TEST(FoldTest, MapsAllNaNsToOneNode) {
  Graph graph = parse(graph_text("x: f32[1]",
                                 "a = full {shape = [2], value = nan, dtype = f32};"
                                 "z = full {shape = [2], value = 0.0, dtype = f32};"
                                 "b = neg a; c = div z, z; return b, c"));
  fold(graph.data());
  EXPECT_EQ(graph.data().outputs[0].node, graph.data().outputs[1].node);
}

TEST(FoldTest, WrapsIntegers) {
  EXPECT_EQ(folded_pair("add", "2147483647", "1", "i32"), result("-2147483648", "i32"));
  EXPECT_EQ(folded_pair("mul", "3000000000", "4000000000", "i64"),
            result("-6446744073709551616", "i64"));
}

TEST(FoldTest, Compares) {
  EXPECT_EQ(folded_pair("lt", "1.0", "2.0", "f32"), result("true", "bool"));
  EXPECT_EQ(folded_pair("eq", "nan", "nan", "f32"), result("false", "bool"));
  EXPECT_EQ(folded_pair("ge", "-1", "2", "i32"), result("false", "bool"));
  EXPECT_EQ(folded_pair("logical_or", "true", "false", "bool"), result("true", "bool"));
}

TEST(FoldTest, LeavesInexactOpsToTheDevice) {
  EXPECT_EQ(
      folded("x: f32[1]", "a = full {shape = [2], value = 1.0, dtype = f32}; y = exp a; return y"),
      "  a = full {shape = [2], value = 1.0, dtype = f32}\n"
      "  y = exp a\n"
      "  return y\n");
}

TEST(FoldTest, FoldsExactFunctions) {
  EXPECT_EQ(
      folded("x: f32[1]", "a = full {shape = [2], value = 2.0, dtype = f32}; y = sqrt a; return y"),
      "  y = full {shape = [2], value = 1.4142135, dtype = f32}\n"
      "  return y\n");
}

TEST(FoldTest, Casts) {
  EXPECT_EQ(folded("x: f32[1]",
                   "a = full {shape = [2], value = -3.7, dtype = f32}; y = cast a {to = i32};"
                   "return y"),
            "  y = full {shape = [2], value = -3, dtype = i32}\n"
            "  return y\n");
  EXPECT_EQ(folded("x: f32[1]",
                   "a = full {shape = [2], value = nan, dtype = f32}; y = cast a {to = i64};"
                   "return y"),
            "  y = full {shape = [2], value = 0, dtype = i64}\n"
            "  return y\n");
}

TEST(FoldTest, SeesThroughViews) {
  EXPECT_EQ(
      folded(
          "x: f32[n]",
          "a = full {shape = [4, n], value = 2.0, dtype = f32}; b = permute a {axes = [1, 0]};"
          "c = reshape b {shape = [n * 4]}; y = slice c {axis = 0, begin = 0, end = n}; return y"),
      "  y = full {shape = [n], value = 2.0, dtype = f32}\n"
      "  return y\n");
}

TEST(FoldTest, MergesEqualConstants) {
  const std::string_view both =
      "a = full {shape = [2], value = 1.0, dtype = f32}; b = full {shape = [3], value = 1.0, dtype "
      "= f32};"
      "y = concat a, b {axis = 0}; return y";
  EXPECT_EQ(folded("x: f32[1]", both),
            "  y = full {shape = [5], value = 1.0, dtype = f32}\n  return y\n");
}

TEST(FoldTest, KeepsDifferentConstants) {
  const std::string text =
      "  a = full {shape = [2], value = 0.0, dtype = f32}\n"
      "  b = full {shape = [3], value = -0.0, dtype = f32}\n"
      "  y = concat a, b {axis = 0}\n"
      "  return y\n";
  EXPECT_EQ(folded("x: f32[1]",
                   "a = full {shape = [2], value = 0.0, dtype = f32};"
                   "b = full {shape = [3], value = -0.0, dtype = f32}; y = concat a, b {axis = 0}; "
                   "return y"),
            text);
}

TEST(FoldTest, FoldsExtremesOfAConstant) {
  EXPECT_EQ(folded("x: f32[1]",
                   "a = full {shape = [4, 5], value = 2.0, dtype = f32};"
                   "y = max a {axes = [1]}; return y"),
            "  y = full {shape = [4], value = 2.0, dtype = f32}\n  return y\n");
}

TEST(FoldTest, KeepsExtremesOfPossiblyEmptyAxes) {
  const std::string text = folded("x: f32[n]",
                                  "a = full {shape = [4, n], value = 2.0, dtype = f32};"
                                  "y = max a {axes = [1]}; return y");
  EXPECT_NE(text.find("y = max a"), text.npos);
}

TEST(FoldTest, FoldsConstantSizes) {
  EXPECT_EQ(
      folded("x: f32[8]", "n = size {extent = 16777217, dtype = f32}; y = mul x, n; return y"),
      "  y = mul x, 16777216.0\n  return y\n");
}

TEST(FoldTest, KeepsSymbolicSizes) {
  EXPECT_EQ(folded("x: f32[n]", "c = size {extent = n, dtype = f32}; y = mul x, c; return y"),
            "  c = size {extent = n, dtype = f32}\n  y = mul x, c\n  return y\n");
}

TEST(FoldTest, OutputsMayBeConstants) {
  EXPECT_EQ(folded("x: f32[1]",
                   "a = full {shape = [], value = 2.0, dtype = f32}; y = mul a, a; return y"),
            "  y = full {shape = [], value = 4.0, dtype = f32}\n  return y\n");
}

TEST(FoldTest, FoldingTwiceChangesNothing) {
  Graph graph = parse(graph_text("x: f32[8]",
                                 "a = full {shape = [8], value = 2.0, dtype = bf16};"
                                 "b = add a, 0.1; c = cast b {to = f32}; y = mul x, c; return y"));
  fold(graph.data());
  const Node* once = graph.data().outputs[0].node;
  fold(graph.data());
  EXPECT_EQ(graph.data().outputs[0].node, once);
}

}  // namespace
}  // namespace sinter::fold_test
