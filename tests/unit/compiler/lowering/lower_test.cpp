// Lowering of mean, var and reductions of several levels.
#include "compiler/lowering/lower.h"

#include "compiler/program/guards.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/oracle/interpret.h"
#include "ir/oracle/random_inputs.h"
#include "tests/support/graphs/rewritten.h"

#include <gtest/gtest.h>

namespace sinter::lower_test {
namespace {

Lowered lower_all(const Graph& graph, const Facts& facts) {
  return lower(graph, reachable(graph.data()), facts);
}

std::string lowered(std::string_view inputs, std::string_view statements,
                    std::vector<std::int64_t> symbols = {}) {
  return statements_of(
      lower_all(parse(graph_text(inputs, statements)), {.symbols = std::move(symbols)}).graph);
}

std::vector<std::string> guards(std::string_view inputs, std::string_view statements,
                                std::vector<std::int64_t> symbols) {
  const Graph recorded = parse(graph_text(inputs, statements));
  std::vector<std::string> result;
  for (const Guard& guard : lower_all(recorded, {.symbols = std::move(symbols)}).guards)
    result.push_back(to_string(guard));
  return result;
}

TEST(LowerTest, KeepsOneLevelOfFloats) {
  EXPECT_EQ(lowered("x: f32[8, 64]", "y = sum x {axes = [1]}; return y"),
            "  y = sum x {axes = [1], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, KeepsGraphsWithoutWork) {
  const Graph graph =
      parse(graph_text("x: f32[8, 64]", "y = max x {axes = [1]}; z = exp y; return z"));
  const Graph lowered = lower_all(graph, {}).graph;
  EXPECT_EQ(print(lowered), print(graph));
  EXPECT_TRUE(lowered.data().are_all_live());
}

TEST(LowerTest, UnchangedNodesPrecedeLoweredNodes) {
  EXPECT_EQ(lowered("x: f32[8, 64], z: f32[8]",
                    "m = mean x {axes = [1]}; e = exp z; y = add m, e; return y"),
            "  e = exp z\n"
            "  m_sum = sum x {axes = [1], keep = false}\n"
            "  size = size {extent = 64, dtype = f32}\n"
            "  m = div m_sum, size\n"
            "  y = add m, e\n"
            "  return y\n");
}

TEST(LowerTest, KeepsTheRecordedGraph) {
  const Graph graph = parse(graph_text("x: f32[8, 64]", "y = mean x {axes = [1]}; return y"));
  const std::string text = print(graph);
  const std::size_t nodes = graph.data().nodes.size();
  EXPECT_NE(print(lower_all(graph, {}).graph), text);
  EXPECT_EQ(print(graph), text);
  EXPECT_EQ(graph.data().nodes.size(), nodes);
}

TEST(LowerTest, MeanMayUseASumThatIsRecordedLater) {
  EXPECT_EQ(lowered("x: f32[8, 64]",
                    "m = mean x {axes = [1]}; s = sum x {axes = [1]}; y = sub m, s; return y"),
            "  s = sum x {axes = [1], keep = false}\n"
            "  size = size {extent = 64, dtype = f32}\n"
            "  m = div s, size\n"
            "  y = sub m, s\n"
            "  return y\n");
}

TEST(LowerTest, SumsHalvesInF32AndRoundsOnce) {
  EXPECT_EQ(lowered("x: bf16[8, 64]", "y = sum x {axes = [1]}; return y"),
            "  cast_1 = cast x {to = f32}\n"
            "  sum_2 = sum cast_1 {axes = [1], keep = false}\n"
            "  y = cast sum_2 {to = bf16}\n"
            "  return y\n");
}

TEST(LowerTest, ComputesLogsumexpOfHalvesInF32) {
  EXPECT_EQ(lowered("x: bf16[8, 64]", "y = logsumexp x {axes = [1]}; return y"),
            "  cast_1 = cast x {to = f32}\n"
            "  logsumexp_2 = logsumexp cast_1 {axes = [1], keep = false}\n"
            "  y = cast logsumexp_2 {to = bf16}\n"
            "  return y\n");
}

TEST(LowerTest, LogsumexpLevelsReduceEarlierResults) {
  EXPECT_EQ(lowered("x: f32[3, 129, 128]", "y = logsumexp x; return y"),
            "  logsumexp_1 = logsumexp x {axes = [2], keep = false}\n"
            "  y = logsumexp logsumexp_1 {axes = [0, 1], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, SumsIntegersIn64Bits) {
  EXPECT_EQ(lowered("x: i32[8, 64]", "y = sum x {axes = [1]}; return y"),
            "  cast_1 = cast x {to = i64}\n"
            "  y = sum cast_1 {axes = [1], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, CountsBools) {
  EXPECT_EQ(lowered("x: bool[64]", "y = sum x; return y"),
            "  cast_1 = cast x {to = i64}\n"
            "  y = sum cast_1 {axes = [0], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, MeanIsTheSumOverTheCount) {
  EXPECT_EQ(lowered("x: bf16[8, 64]", "m = mean x {axes = [-1], keep = true}; return m"),
            "  cast_1 = cast x {to = f32}\n"
            "  m_sum = sum cast_1 {axes = [1], keep = true}\n"
            "  size = size {extent = 64, dtype = f32}\n"
            "  div_3 = div m_sum, size\n"
            "  m = cast div_3 {to = bf16}\n"
            "  return m\n");
}

TEST(LowerTest, MeanCountsSymbols) {
  EXPECT_EQ(lowered("x: f32[rows, 4]", "m = mean x; return m", {6}),
            "  m_sum = sum x {axes = [0, 1], keep = false}\n"
            "  size = size {extent = rows * 4, dtype = f32}\n"
            "  m = div m_sum, size\n"
            "  return m\n");
}

TEST(LowerTest, VarianceTakesTwoPassesAndSharesTheMean) {
  EXPECT_EQ(lowered("x: f32[8, 64]",
                    "v, m = var_mean x {axes = [1], correction = 1, keep = true} ; return v, m"),
            "  v_sum = sum x {axes = [1], keep = true}\n"
            "  size = size {extent = 64, dtype = f32}\n"
            "  m = div v_sum, size\n"
            "  v_deviation = sub x, m\n"
            "  mul_4 = mul v_deviation, v_deviation\n"
            "  v_squares = sum mul_4 {axes = [1], keep = true}\n"
            "  size_2 = size {extent = 63, dtype = f32}\n"
            "  v = div v_squares, size_2\n"
            "  return v, m\n");
}

TEST(LowerTest, VarianceOfManyElementsUsesWelford) {
  EXPECT_EQ(lowered("x: f16[8, 65537]", "v = var x {axes = [1], correction = 0}; return v"),
            "  cast_1 = cast x {to = f32}\n"
            "  v_squares = welford cast_1 {axes = [1], keep = false}\n"
            "  size = size {extent = 65537, dtype = f32}\n"
            "  div_3 = div v_squares, size\n"
            "  v = cast div_3 {to = f16}\n"
            "  return v\n");
}

TEST(LowerTest, VarianceOfLongColumnsUsesWelford) {
  const std::string_view statements = "v = var x {axes = [0]}; return v";
  EXPECT_EQ(lowered("x: f32[32768, 8]", statements).find("welford"), std::string::npos);
  EXPECT_NE(lowered("x: f32[32769, 8]", statements).find("welford"), std::string::npos);
  // It is a row if all later axes have one position.
  EXPECT_EQ(lowered("x: f32[32769, 1]", statements).find("welford"), std::string::npos);
}

TEST(LowerTest, VarianceOfSeveralLevelsTakesTwoPasses) {
  const std::string text = lowered("x: f32[512, 512]", "v = var x {axes = [0, 1]}; return v");
  EXPECT_EQ(text.find("welford"), text.npos);
  EXPECT_NE(text.find("v_deviation = sub x, reshape_"), text.npos);
}

TEST(LowerTest, WelfordOfSeveralLevelsTakesTwoPasses) {
  const std::string text = lowered("x: f32[512, 512]", "w = welford x; return w");
  EXPECT_EQ(text.find("welford"), text.npos);
  EXPECT_NE(text.find("w = sum sum_"), text.npos);
}

TEST(LowerTest, MergesNeighbouringAxesUpToTheLimit) {
  EXPECT_EQ(lowered("x: f32[128, 128]", "y = sum x; return y"),
            "  y = sum x {axes = [0, 1], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, SplitsLargeReductionsIntoLevels) {
  EXPECT_EQ(lowered("x: f32[3, 129, 128]", "y = sum x {axes = [0, 1, 2]}; return y"),
            "  sum_1 = sum x {axes = [2], keep = false}\n"
            "  y = sum sum_1 {axes = [0, 1], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, LevelsKeepAxesOnRequest) {
  EXPECT_EQ(lowered("x: f32[4, 256, 5, 256]", "y = max x {axes = [1, 3], keep = true}; return y"),
            "  max_1 = max x {axes = [3], keep = true}\n"
            "  y = max max_1 {axes = [1], keep = true}\n"
            "  return y\n");
}

TEST(LowerTest, LevelsDropAxesOneByOne) {
  EXPECT_EQ(lowered("x: f32[4, 256, 5, 256]", "y = max x {axes = [1, 3]}; return y"),
            "  max_1 = max x {axes = [3], keep = false}\n"
            "  y = max max_1 {axes = [1], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, LeadingAxesAreOneLevel) {
  EXPECT_EQ(lowered("x: f32[256, 1, 512, 3]", "y = sum x {axes = [0, 2]}; return y"),
            "  y = sum x {axes = [0, 2], keep = false}\n"
            "  return y\n");
  // The last axis is a separate level, and so are axes that are not adjacent.
  EXPECT_EQ(lowered("x: f32[3, 256, 512, 1]", "y = sum x {axes = [1, 2]}; return y"),
            "  sum_1 = sum x {axes = [2], keep = false}\n"
            "  y = sum sum_1 {axes = [1], keep = false}\n"
            "  return y\n");
  EXPECT_EQ(lowered("x: f32[256, 3, 512, 2]", "y = sum x {axes = [0, 2]}; return y"),
            "  sum_1 = sum x {axes = [2], keep = false}\n"
            "  y = sum sum_1 {axes = [0], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, LeadingAxesNeedNoGuard) {
  const std::string_view inputs = "x: f32[rows, 1024, 3]";
  const std::string_view statements = "y = sum x {axes = [0, 1]}; return y";
  EXPECT_EQ(guards(inputs, statements, {17}), std::vector<std::string>{});
  EXPECT_EQ(lowered(inputs, statements, {17}),
            "  y = sum x {axes = [0, 1], keep = false}\n  return y\n");
}

TEST(LowerTest, ShortSumsAcrossVectorsAreAdditions) {
  EXPECT_EQ(lowered("x: f32[6, 3, 8]", "y = sum x {axes = [1]}; return y"),
            "  slice_1 = slice x {axis = 1, begin = 0, end = 1, step = 1}\n"
            "  reshape_2 = reshape slice_1 {shape = [6, 8]}\n"
            "  slice_3 = slice x {axis = 1, begin = 1, end = 2, step = 1}\n"
            "  reshape_4 = reshape slice_3 {shape = [6, 8]}\n"
            "  add_5 = add reshape_2, reshape_4\n"
            "  slice_6 = slice x {axis = 1, begin = 2, end = 3, step = 1}\n"
            "  reshape_7 = reshape slice_6 {shape = [6, 8]}\n"
            "  y = add add_5, reshape_7\n"
            "  return y\n");
}

TEST(LowerTest, OtherSumsStayReductions) {
  const auto is_reduction = [](std::string_view inputs, std::string_view statements) {
    return lowered(inputs, statements).find("= sum ") != std::string::npos;
  };
  EXPECT_FALSE(is_reduction("x: f32[4, 8]", "y = sum x {axes = [0]}; return y"));
  EXPECT_TRUE(is_reduction("x: f32[5, 8]", "y = sum x {axes = [0]}; return y")) << "two chunks";
  EXPECT_TRUE(is_reduction("x: f32[8, 4]", "y = sum x {axes = [1]}; return y")) << "along vectors";
  EXPECT_TRUE(is_reduction("x: f32[4, 8]", "y = sum x {axes = [0]}; z = sub x, y; return z"))
      << "another op reads the operand";
  EXPECT_TRUE(is_reduction("x: f32[4, 8]", "a = exp x; y = sum a {axes = [0]}; return a, y"))
      << "the operand is a result";
}

TEST(LowerTest, LevelsFollowTheRecordedOrder) {
  // Channels last: axis 1 is the innermost in memory, so it is reduced first.
  EXPECT_EQ(lowered("x: f32[256, 256] {strides = [1, 256]}", "y = sum x; return y"),
            "  sum_1 = sum x {axes = [0], keep = false}\n"
            "  y = sum sum_1 {axes = [0], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, OneLevelKeepsTheRecordedOrder) {
  EXPECT_EQ(lowered("x: bf16[4, 256] {strides = [1, 4]}", "y = sum x; return y"),
            "  cast_1 = cast x {to = f32}\n"
            "  sum_2 = sum cast_1 {axes = [0, 1], keep = false, order = [1, 0]}\n"
            "  y = cast sum_2 {to = bf16}\n"
            "  return y\n");
}

TEST(LowerTest, SymbolicExtentsAddAGuard) {
  const std::string_view inputs = "x: f32[rows, 1024]", statements = "y = sum x; return y";
  EXPECT_EQ(guards(inputs, statements, {16}),
            std::vector<std::string>{"rows * 1024 in [0, 16384]"});
  EXPECT_EQ(guards(inputs, statements, {17}),
            std::vector<std::string>{"rows * 1024 at least 16385"});
  EXPECT_EQ(lowered(inputs, statements, {17}),
            "  sum_1 = sum x {axes = [1], keep = false}\n"
            "  y = sum sum_1 {axes = [0], keep = false}\n"
            "  return y\n");
}

TEST(LowerTest, SymbolicVarianceIsGuarded) {
  const std::string_view inputs = "x: f32[4, n]";
  const std::string_view statements = "v = var x {axes = [1]}; return v";
  EXPECT_EQ(guards(inputs, statements, {100}), std::vector<std::string>{"n in [0, 65536]"});
  EXPECT_EQ(guards(inputs, statements, {65537}), std::vector<std::string>{"n at least 65537"});
}

TEST(LowerTest, ConstantExtentsNeedNoGuard) {
  EXPECT_EQ(guards("x: f32[rows, 1024]", "y = var x {axes = [1]}; return y", {16}),
            std::vector<std::string>{});
}

TEST(LowerTest, EmptySumIsZero) {
  EXPECT_EQ(lowered("x: f32[4, 0]", "y = sum x {axes = [1]}; return y"),
            "  y = full {shape = [4], value = 0.0, dtype = f32}\n"
            "  return y\n");
}

TEST(LowerTest, ReductionsWithoutResultsAreEmptyArrays) {
  EXPECT_EQ(lowered("x: f32[0, 64], b: bf16[100, 0]",
                    "a = argmax x {axis = 1}; m = mean b {axes = [0]}; c = cumsum b {axis = 0}; "
                    "return a, m, c"),
            "  a = full {shape = [0], value = 0, dtype = i64}\n"
            "  m = full {shape = [0], value = 0.0, dtype = bf16}\n"
            "  c = full {shape = [100, 0], value = 0.0, dtype = bf16}\n"
            "  return a, m, c\n");
}

TEST(LowerTest, EmptyExtremesAreTheLimitsOfTheDType) {
  EXPECT_EQ(lowered("x: f32[4, 0], i: i32[0]",
                    "a = max x {axes = [1]}; b = min x {axes = [1]}; c = max i; return a, b, c"),
            "  a = full {shape = [4], value = -inf, dtype = f32}\n"
            "  b = full {shape = [4], value = inf, dtype = f32}\n"
            "  c = full {shape = [], value = -2147483648, dtype = i32}\n"
            "  return a, b, c\n");
}

TEST(LowerTest, EmptyLogsumexpIsMinusInfinity) {
  EXPECT_EQ(lowered("x: f16[4, 0]", "y = logsumexp x {axes = [1]}; return y"),
            "  full = full {shape = [4], value = -inf, dtype = f32}\n"
            "  y = cast full {to = f16}\n"
            "  return y\n");
}

TEST(LowerTest, LogsumexpOfOneElementIsAView) {
  EXPECT_EQ(lowered("x: f32[4, 1]", "y = logsumexp x {axes = [1]}; return y"),
            "  y = reshape x {shape = [4]}\n"
            "  return y\n");
}

TEST(LowerTest, ReductionsOfOneElementAreViews) {
  EXPECT_EQ(lowered("x: f32[4, 1]",
                    "a = sum x {axes = [1]}; b = max x {axes = [1], keep = true}; c = argmax x "
                    "{axis = 1}; return a, b, c"),
            "  a = reshape x {shape = [4]}\n"
            "  c = full {shape = [4], value = 0, dtype = i64}\n"
            "  return a, b = x, c\n");
}

TEST(LowerTest, AxesOfExtentOneMergeWithAnyLevel) {
  EXPECT_EQ(lowered("x: f32[1, 20000, 1]", "e = exp x; y = sum e {keep = true}; return y"),
            "  e = exp x\n"
            "  y = sum e {axes = [0, 1, 2], keep = true}\n"
            "  return y\n");
}

TEST(LowerTest, ReductionOfAScalarIsTheScalar) {
  EXPECT_EQ(lowered("x: f32[]", "y = sum x; return y"), "  return y = x\n");
}

TEST(LowerTest, KeepsLocationsOfRecordedOps) {
  const Graph recorded =
      parse("graph g(x: f16[8, 64]) {\n  m = mean x\n  return m\n}", "model.sinter");
  const Graph graph = lower_all(recorded, {}).graph;
  for (const Node* node : reachable(graph.data()))
    EXPECT_EQ(graph.data().location_text(node),
              node->op == Op::input ? "model.sinter:1" : "model.sinter:2");
}

/// The first element whose oracle results before and after lowering differ by more than their
/// bounds, or "".
std::string first_difference(const Graph& before, const Graph& after,
                             std::span<const std::int64_t> symbols) {
  const HostArrays inputs = random_inputs(before, symbols, 1);
  const Interpretation expected = interpret(before, inputs, symbols);
  const Interpretation actual = interpret(after, inputs, symbols);
  for (const auto& [name, a] : expected.outputs) {
    const Expected& b = actual.outputs.at(name);
    for (std::int64_t i = 0; i < a.size(); ++i) {
      const double distance = std::fabs(a.real(i) - b.real(i));
      const bool same = a.real(i) == b.real(i) || (std::isnan(a.real(i)) && std::isnan(b.real(i)));
      if (!same && !(distance <= 1.001 * (a.bound(i) + b.bound(i))))
        return name + " at " + std::to_string(i) + ": " + std::to_string(a.real(i)) + " became " +
               std::to_string(b.real(i));
    }
  }
  return "";
}

struct Meaning {
  std::string_view inputs;
  std::string_view statements;
  std::vector<std::int64_t> symbols = {};
};

void PrintTo(const Meaning& meaning, std::ostream* out) { *out << meaning.statements; }

class LowerMeaningTest : public testing::TestWithParam<Meaning> {};

TEST_P(LowerMeaningTest, IsPreserved) {
  const Meaning& meaning = GetParam();
  const Graph recorded = parse(graph_text(meaning.inputs, meaning.statements));
  const Graph graph = lower_all(recorded, {.symbols = meaning.symbols}).graph;
  EXPECT_EQ(first_difference(recorded, graph, meaning.symbols), "");
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, LowerMeaningTest,
    testing::Values(
        Meaning{"x: f32[7, 33]", "y = mean x {axes = [0]}; return y"},
        Meaning{"x: bf16[7, 33]", "y = mean x {axes = [1], keep = true}; return y"},
        Meaning{"x: f16[7, 33]", "v, m = var_mean x {axes = [0, 1], correction = 1}; return v, m"},
        Meaning{"x: f32[2, 70000]", "v = var x {axes = [1]}; return v"},
        Meaning{"x: f32[40000, 2]", "v = var x {axes = [0], correction = 1}; return v"},
        Meaning{"x: f64[300, 3, 70]", "v = var x {axes = [0, 2], keep = true}; return v"},
        Meaning{"x: f32[300, 70, 3]", "v = var x; return v"},
        Meaning{"x: f32[300, 70, 3]", "w = welford x {axes = [0, 1]}; return w"},
        Meaning{"x: f32[300, 70, 3]", "l = logsumexp x; return l"},
        Meaning{"x: bf16[300, 70, 3]", "l = logsumexp x {axes = [0, 1], keep = true}; return l"},
        Meaning{"x: f32[n, 70]", "l = logsumexp x {axes = [0]}; m = logsumexp x; return l, m", {0}},
        Meaning{"x: i32[300, 70, 3]", "s = sum x; a = max x {axes = [0, 1]}; return s, a"},
        Meaning{"x: bool[300, 70]", "s = sum x {axes = [0]}; return s"},
        Meaning{"x: f32[300, 70, 2] {strides = [1, 300, 21000]}",
                "s = sum x; a = argmax x {axis = 1}; return s, a"},
        Meaning{
            "x: f32[n, 70]", "v, m = var_mean x; s = sum x {axes = [0]}; return v, m, s", {300}},
        Meaning{"x: f32[n, 70]", "m = mean x {axes = [0]}; s = sum x; return m, s", {0}},
        Meaning{"x: f32[3, 1]", "v = var x {axes = [1], correction = 1}; return v"},
        Meaning{"x: f32[3, 0]", "m = mean x {axes = [1]}; v = var x {axes = [1]}; return m, v"}));

}  // namespace
}  // namespace sinter::lower_test
