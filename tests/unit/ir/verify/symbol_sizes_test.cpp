// Sizes of symbols from shapes of inputs or by name, and the errors for sizes that do not match.
#include "ir/verify/symbol_sizes.h"

#include "compiler/simplify/graph_sweep.h"
#include "sinter/error.h"
#include "sinter/opaque.h"
#include "sinter/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::symbol_sizes_test {
namespace {

using testing::ElementsAre;
using Shape = std::vector<std::int64_t>;

struct Given {
  std::string name;
  Shape shape;
};

std::vector<std::int64_t> solve(const Graph& graph, const std::vector<Given>& given) {
  std::vector<InputShape> shapes;
  for (const Given& input : given) shapes.push_back({.name = input.name, .shape = input.shape});
  const std::size_t symbols = graph.data().extents->symbols().size();
  return solve_symbols(graph.data(), shapes, Shape(symbols, kUnknownSize));
}

std::string refusal(auto action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "(nothing was refused)";
}

class SymbolSizesTest : public testing::Test {
 protected:
  Graph graph{"model"};
  Extent rows = graph.extent("rows");
  Extent columns = graph.extent("columns");
};

TEST_F(SymbolSizesTest, SolvesPlainSymbols) {
  graph.input("x", f32, {rows, columns});
  EXPECT_THAT(solve(graph, {{"x", {3, 5}}}), ElementsAre(3, 5));
}

TEST_F(SymbolSizesTest, ChecksExpressionsOfKnownSymbols) {
  graph.input("x", f32, {rows, columns * 16});
  graph.input("b", f32, {columns});
  EXPECT_THAT(solve(graph, {{"b", {256}}, {"x", {2, 4096}}}), ElementsAre(2, 256));
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {2, 4097}}, {"b", {256}}});
            }),
            "input x: axis 1 is 4097 but the graph says columns * 16, which is 4096 for columns = "
            "256");
}

TEST_F(SymbolSizesTest, SolvesExpressionsWithOneUnknown) {
  graph.input("x", f32, {rows * 16 + 1, rows + columns});
  EXPECT_THAT(solve(graph, {{"x", {33, 7}}}), ElementsAre(2, 5));
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {34, 7}}});
            }),
            "input x: axis 0 is 34 but the graph says rows * 16 + 1; no value of rows fits");
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {33, 1}}});
            }),
            "input x: axis 1 is 1 but the graph says columns + rows; no value of columns fits");
}

TEST_F(SymbolSizesTest, OneSymbolHasOneSize) {
  graph.input("x", f32, {rows});
  graph.input("y", f32, {rows});
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {3}}, {"y", {4}}});
            }),
            "input y: axis 0 is 4 but the graph says rows, which is 3 for rows = 3");
}

TEST_F(SymbolSizesTest, ConstantExtentsMustMatch) {
  graph.input("x", f32, {rows, 64});
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {3, 65}}});
            }),
            "input x: axis 1 is 65 but the graph says 64");
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {3}}});
            }),
            "input x: shape [3] has rank 1 but the graph says [rows, 64], rank 2");
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {-1, 64}}});
            }),
            "input x: axis 0 is -1 but the graph says rows; an extent is at least 0");
}

TEST_F(SymbolSizesTest, RejectsUnknownAndRepeatedInputs) {
  graph.input("x", f32, {rows});
  graph.input("y", f32, {rows});
  graph.scalar("lr", f32);
  EXPECT_THAT(solve(graph, {{"x", {3}}, {"y", {3}}, {"lr", {}}}), ElementsAre(3, kUnknownSize));
  EXPECT_THAT(solve(graph, {{"y", {3}}}), ElementsAre(3, kUnknownSize));
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {3}}, {"y", {3}}, {"z", {3}}});
            }),
            "input z: graph model has no input of this name; it has [x, y, lr]");
  EXPECT_EQ(refusal([&] {
              solve(graph, {{"x", {3}}, {"y", {3}}, {"x", {3}}});
            }),
            "input x: it is given twice; give it once");
}

TEST_F(SymbolSizesTest, UnusedSymbolsNeedNoSize) {
  const Tensor x = graph.input("x", f32, {rows});
  const NamedSize sizes[] = {{.name = "rows", .value = 3}};
  EXPECT_THAT(symbols_from_sizes(graph, sizes), ElementsAre(3, 0));
  graph.output("y", x, {.strides = {columns}});
  EXPECT_EQ(refusal([&] { symbols_from_sizes(graph, sizes); }),
            "symbol columns: its size is unknown; give its size, such as columns = 64");
}

TEST_F(SymbolSizesTest, AcceptsSizesByName) {
  const Tensor x = graph.input("x", f32, {rows, columns});
  graph.output("y", x + 1.0);
  const auto sizes = [&](std::vector<NamedSize> list) { return symbols_from_sizes(graph, list); };
  EXPECT_THAT(sizes({{"columns", 4}, {"rows", 2}}), ElementsAre(2, 4));
  EXPECT_EQ(refusal([&] {
              sizes({{"rows", 2}});
            }),
            "symbol columns: its size is unknown; give its size, such as columns = 64");
  EXPECT_EQ(refusal([&] {
              sizes({{"depth", 2}});
            }),
            "size depth: graph model has no symbol of this name; it has [rows, columns]");
  EXPECT_EQ(refusal([&] {
              sizes({{"rows", 2}, {"rows", 3}});
            }),
            "size rows: it is given twice, as 2 and 3");
  EXPECT_EQ(refusal([&] {
              sizes({{"rows", -2}});
            }),
            "size rows: -2 is negative; an extent is at least 0");
}

TEST_F(SymbolSizesTest, RejectsInvalidSizesWithTheirLocation) {
  const Tensor x = graph.input("x", f32, {rows, 4});
  graph.output("y", slice(x, 0, 2, 10));
  EXPECT_NO_THROW(check_sizes(graph, Shape{10, 0}));
  EXPECT_THAT(
      refusal([&] {
        check_sizes(graph, Shape{5, 0});
      }),
      testing::MatchesRegex("slice: elements 2 to 9 are outside axis 0 of extent rows, which "
                            "is 5 \\(recorded at symbol_sizes_test.cpp:[0-9]+\\)"));
  graph.output("tail", slice(x, 0, 12, rows));
  EXPECT_THAT(
      refusal([&] {
        check_sizes(graph, Shape{11, 0});
      }),
      testing::HasSubstr("slice: axis 0 of extent rows - 12 would be -1; give larger sizes"));
}

TEST_F(SymbolSizesTest, RejectsNegativeSizesOfCallResults) {
  const Tensor x = graph.input("x", f32, {rows});
  // The graph does not use the result that may have a negative size.
  const std::vector<Tensor> results =
      opaque_results("f", {x}, {{.shape = {rows}}, {.shape = {rows - 10}}});
  graph.output("y", results[0]);
  const Graph needed = clone(graph);
  EXPECT_NO_THROW(check_sizes(needed.data(), Shape{10, 0}));
  EXPECT_THAT(refusal([&] {
                check_sizes(needed.data(), Shape{9, 0});
              }),
              testing::HasSubstr("extent rows - 10 of result 1 would be -1; give larger sizes"));
}

TEST_F(SymbolSizesTest, RejectsTakeFromAnEmptyAxis) {
  const Tensor x = graph.input("x", f32, {rows});
  graph.output("y", take(x, iota(graph, columns), 0));
  EXPECT_NO_THROW(check_sizes(graph, Shape{1, 7}));
  EXPECT_NO_THROW(check_sizes(graph, Shape{0, 0}));
  EXPECT_THAT(
      refusal([&] {
        check_sizes(graph, Shape{0, 7});
      }),
      testing::HasSubstr("take: axis 0 of f32[rows] is empty, so there is no element to take"));
}

}  // namespace
}  // namespace sinter::symbol_sizes_test
