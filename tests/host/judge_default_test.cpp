// The oracle's word on default schedules, as programs are tuned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "sinter/text.h"

namespace sinter {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// What is told about tuning while `graph` is compiled for 500 rows.
std::vector<std::string> told(const Graph& graph, int debug) {
  std::vector<std::string> lines;
  Options options;
  options.tune = Tune::quick;
  options.debug = debug;
  options.cache.mode = CacheMode::off;
  options.log = [&](std::string_view line) {
    if (line.starts_with("tune: kernel")) lines.emplace_back(line);
  };
  compile(graph, host_device(), options).prepare({{"rows", 500}});
  return lines;
}

class JudgedProgram : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Texts, JudgedProgram,
    testing::Values(
        // Rows with a number, a weight in strides, a cast at the end.
        "graph a(x: bf16[rows, 96], w: f32[96], s: f32[]) {\n"
        "  h = cast x {to = f32}\n  m = mean h {axes = [1], keep = true}\n  c = sub h, m\n"
        "  d = mul c, w\n  e = mul d, s\n  y = cast e {to = bf16}\n  return y\n}\n",
        // Two kernels: the second reads what the first one makes.
        "graph b(x: f32[rows, 64], z: f32[64, 64]) {\n"
        "  a = sum x {axes = [0], keep = false}\n  b = max z {axes = [1], keep = false}\n"
        "  c = mul a, b\n  d = sub x, c\n  e = sum d {axes = [0], keep = false}\n  return d, "
        "e\n}\n",
        // An input that is written in place, read before.
        "graph c(w: f32[rows, 128], g: f32[rows, 128]) {\n"
        "  d = mul g, 0.125\n  n = sub w, d\n  update w, n\n}\n",
        // Indices, of which some are out of range and clamped.
        "graph d(t: f32[32, 48], i: i32[rows]) {\n"
        "  y = take t, i {axis = 0}\n  z = mul y, 2.0\n  return z\n}\n",
        // Views, pieces and a size that is a number of the program's.
        "graph e(x: f32[rows, 40], y: f32[rows, 24]) {\n"
        "  c = concat x, y {axis = 1}\n  p = permute c {axes = [1, 0]}\n"
        "  m = mean p {axes = [1], keep = true}\n  z = sub p, m\n  return z\n}\n"));

TEST_P(JudgedProgram, KeepsToTheOraclesBounds) {
  const std::vector<std::string> lines = told(parse(GetParam()), 2);
  EXPECT_THAT(lines, Not(SizeIs(0)));
  EXPECT_THAT(lines, Each(HasSubstr("elements are within the oracle's bounds")));
}

TEST(JudgeDefault, ToldOfWithoutALadderWhereACustomOpIsNotWhatItsOracleSays) {
  const auto halves = [](const std::string& name, long double factor) {
    Graph graph("halves");
    const Tensor x = graph.input("x", f32, {graph.extent("rows"), 1024});
    graph.output("y", custom_op("half", "float " + name + "(float x) { return x * 0.5f; }", {x},
                                {.oracle = [factor](std::span<const long double> operands) {
                                  return operands[0] * factor;
                                }}));
    return graph;
  };
  EXPECT_THAT(told(halves("half", 0.25L), 0),
              Contains(HasSubstr("its result is wrong at rows = 7: y: ")));
  EXPECT_THAT(told(halves("half", 0.25L), 0), SizeIs(0)) << "it was measured, and told of";
  EXPECT_THAT(told(halves("right", 0.5L), 0), SizeIs(0));
}

}  // namespace
}  // namespace sinter
