// Every family of reductions under every candidate schedule: results within the oracle's bounds,
// equal bits, and the predicted bytes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/graphs/oracle_support.h"
#include "tests/support/run/run.h"

namespace sinter::test::reduction_test {
namespace {

/// Row lengths for every row schedule: shorter than a chunk, odd, prime, one part, several parts.
class RowReduction : public testing::TestWithParam<int> {};

TEST_P(RowReduction, SumAndMaxAndArgmaxOfRows) {
  run_and_check(fmt::format(R"(
graph rows(x: f32[7, {0}], h: bf16[5, {0}], i: i32[3, {0}] {{range = [-100, 100]}}) {{
  s = sum x {{axes = [1]}}
  m = max x {{axes = [1]}}
  a = argmax x {{axis = 1}}
  hs = sum h {{axes = [1]}}
  hm = min h {{axes = [1]}}
  is = sum i {{axes = [1]}}
  im = max i {{axes = [1]}}
  return s, m, a, hs, hm, is, im
}})",
                            GetParam()));
}

TEST_P(RowReduction, SoftmaxOfRows) {
  run_and_check(fmt::format(R"(
graph softmax(x: f32[rows, {0}], h: f16[6, {0}]) {{
  y = softmax x {{axis = -1}}
  g = cast h {{to = f32}}
  z = log_softmax g {{axis = -1}}
  zh = cast z {{to = f16}}
  return y, zh
}})",
                            GetParam()),
                {{"rows", 9}});
}

TEST_P(RowReduction, LayerNormOfRows) {
  run_and_check(fmt::format(R"(
graph layer_norm(x: bf16[5, {0}], weight: f32[{0}], bias: f32[{0}]) {{
  h = cast x {{to = f32}}
  v, m = var_mean h {{axes = [-1], keep = true}}
  d = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul d, r
  s = mul n, weight
  b = add s, bias
  y = cast b {{to = bf16}}
  return y, m
}})",
                            GetParam()));
}

TEST_P(RowReduction, LogsumexpOfRows) {
  run_and_check(fmt::format(R"(
graph logsumexp_rows(x: f32[rows, {0}], h: bf16[3, {0}], d: f64[2, {0}]) {{
  a = logsumexp x {{axes = [1], keep = true}}
  p = sub x, a
  b = logsumexp h {{axes = [1]}}
  c = logsumexp d {{axes = [1]}}
  return a, p, b, c
}})",
                            GetParam()),
                {{"rows", 5}});
}

INSTANTIATE_TEST_SUITE_P(Extents, RowReduction,
                         testing::Values(2, 3, 10, 33, 64, 127, 256, 1000, 1024, 4099, 8192, 8200,
                                         10240, 20000, 24576, 65536));

class ColumnReduction : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(ColumnReduction, OverTheFirstAndTheMiddleAxis) {
  const auto [extent, inner] = GetParam();
  run_and_check(fmt::format(R"(
graph columns(x: f32[{0}, {1}], h: bf16[2, {0}, {1}]) {{
  s = sum x {{axes = [0]}}
  a = argmax x {{axis = 0}}
  g = cast h {{to = f32}}
  v, m = var_mean g {{axes = [1]}}
  hm = max h {{axes = [1], keep = true}}
  l = logsumexp x {{axes = [0]}}
  return s, a, v, m, hm, l
}})",
                            extent, inner));
}

TEST_P(ColumnReduction, SoftmaxDownTheColumns) {
  const auto [extent, inner] = GetParam();
  run_and_check(fmt::format(R"(
graph column_softmax(x: f32[3, {0}, {1}]) {{
  y = softmax x {{axis = 1}}
  return y
}})",
                            extent, inner));
}

INSTANTIATE_TEST_SUITE_P(Extents, ColumnReduction,
                         testing::Values(std::pair(2, 5), std::pair(3, 64), std::pair(50, 17),
                                         std::pair(256, 640), std::pair(1000, 33),
                                         std::pair(9000, 12), std::pair(10240, 9)));

class FullReduction : public testing::TestWithParam<int> {};

TEST_P(FullReduction, SumMaxAndMeanOfEverything) {
  run_and_check(fmt::format(R"(
graph full(x: f32[{0}], h: bf16[{0}]) {{
  sq = mul x, x
  s = sum sq {{axes = [0]}}
  n = sqrt s
  m = max x {{axes = [0]}}
  a = argmax x {{axis = 0}}
  g = mean h {{axes = [0]}}
  l = logsumexp x {{axes = [0]}}
  k = logsumexp h {{axes = [0]}}
  return n, m, a, g, l, k
}})",
                            GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Extents, FullReduction,
                         testing::Values(1, 5, 4096, 8191, 10240, 16384, 100003, 1 << 18));

TEST(Reduction, SeveralLevelsAndMixedAxes) {
  run_and_check(R"(
graph mixed(x: f32[6, 5, 40, 30], y: f32[300, 200]) {
  a = sum x {axes = [0, 2, 3]}
  b = mean x {axes = [1, 3], keep = true}
  c = max x {axes = [0, 1]}
  d = sum y {axes = [0, 1]}
  v, m = var_mean x {axes = [0, 2, 3]}
  l = logsumexp y
  k = logsumexp x {axes = [0, 2, 3], keep = true}
  return a, b, c, d, v, m, l, k
})");
}

TEST(Reduction, StridedInputsReduceInMemoryOrder) {
  run_and_check(R"(
graph strided(x: f32[4, 8, 6, 10] {strides = [480, 1, 80, 8]}, p: f32[9, 100] {strides = [104, 1]}) {
  a = sum x {axes = [0, 2, 3]}
  b = sum x {axes = [1]}
  c = max p {axes = [1]}
  t = permute p {axes = [1, 0]}
  d = sum t {axes = [0]}
  return a, b, c, d
})");
}

TEST(Reduction, WelfordOfLongRows) {
  run_and_check(R"(
graph welford(x: f32[2, 70000]) {
  v, m = var_mean x {axes = [1], correction = 1}
  return v, m
})");
}

TEST(Reduction, LogsumexpOfInfinitiesAndNan) {
  const Graph graph = parse(R"(
graph specials(x: f32[7, 5], d: f64[7, 5]) {
  a = logsumexp x {axes = [1]}
  b = logsumexp d {axes = [1]}
  c = logsumexp x {axes = [0]}
  return a, b, c
})");
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> rows = {-inf, -inf,  -inf,  -inf, -inf,  //
                                    -inf, -inf,  2,     -inf, -inf,  //
                                    inf,  1,     -inf,  3,    inf,   //
                                    1,    nan,   inf,   2,    3,     //
                                    -inf, -inf,  -inf,  -inf, nan,   //
                                    3e38, -3e38, 0,     1,    3e38,  //
                                    -0.0, -inf,  -1e30, -200, -inf};
  const RunResult run = run_graph(
      graph, host_device(), {{"x", array(f32, {7, 5}, rows)}, {"d", array(f64, {7, 5}, rows)}}, {});
  for (const char* name : {"a", "b"}) {
    const HostArray& result = run.results.at(name);
    EXPECT_EQ(result.real_at(0), -inf);
    EXPECT_EQ(result.real_at(1), 2);
    EXPECT_EQ(result.real_at(2), inf);
    EXPECT_TRUE(std::isnan(result.real_at(3)));
    EXPECT_TRUE(std::isnan(result.real_at(4)));
    EXPECT_NEAR(result.real_at(5), 3e38, 1e32);
    EXPECT_NEAR(result.real_at(6), 0, 1e-80);
  }
  EXPECT_EQ(run.results.at("c").real_at(0), inf);
  EXPECT_TRUE(std::isnan(run.results.at("c").real_at(1)));
}

TEST(Reduction, ReducedSymbolsPlanBySizeClass) {
  for (const std::int64_t columns : {1, 4, 100, 1024, 5000, 9001, 10240})
    run_and_check(R"(
graph symbols(x: f32[rows, columns]) {
  s = sum x {axes = [1], keep = true}
  d = div x, s
  m = max x {axes = [0]}
  return d, m
})",
                  {{"rows", 37}, {"columns", columns}});
}

TEST(Reduction, ManySmallRowsFillTheLastBlockPartly) {
  for (const std::int64_t rows : {1, 2, 129, 1000})
    run_and_check(R"(
graph small_rows(x: f32[rows, 10], t: i64[rows]) {
  l = log_softmax x {axis = 1}
  i = reshape t {shape = [rows, 1]}
  n = take_along_axis l, i {axis = 1}
  m = mean n {axes = [0, 1]}
  return m, n
})",
                  {{"rows", rows}});
}

TEST(Reduction, EmptyRowsGiveIdentities) {
  run_and_check(R"(
graph empty(x: f32[rows, columns]) {
  s = sum x {axes = [1]}
  m = max x {axes = [1]}
  l = logsumexp x {axes = [1]}
  t = permute x {axes = [1, 0]}
  k = logsumexp t {axes = [0]}
  return s, m, l, k
})",
                {{"rows", 3}, {"columns", 0}});
}

TEST(Reduction, ChainsOfReductionsOfNoRows) {
  const std::string_view sums = R"(
graph z1(x: f32[n, 64]) {
  a = sum x {axes = [1]}
  b = exp a
  s = sum b {axes = [0]}
  m = max b {axes = [0]}
  t = add s, 1.0
  return s, t, m, b
}
)";
  for (const std::int64_t n : {0, 1, 40}) run_and_check(sums, {{"n", n}});
  const std::string_view mixed = R"(
graph z2(x: f32[n, m]) {
  a = max x {axes = [1], keep = true}
  d = sub x, a
  e = exp d
  s = sum e {axes = [1], keep = true}
  y = div e, s
  c = sum y {axes = [0]}
  q = sum c {axes = [0]}
  g = argmax s {axis = 0}
  return y, c, q, a
}
)";
  run_and_check(mixed, {{"n", 5}, {"m", 0}});
  run_and_check(mixed, {{"n", 5}, {"m", 3}});
}

TEST(Reduction, WideStatesOfManyColumnsFitSharedMemory) {
  run_and_check(R"(
graph boolcol(x: bool[4096, 256]) {
  n = sum x {axes = [0]}
  y = gt n, 7
  return y
}
)");
  run_and_check(R"(
graph places(x: bf16[4096, 512]) {
  a = argmax x {axis = 0}
  return a
})",
                {}, {.candidates = false});
}

TEST(Reduction, ColumnsOfManyParts) {
  run_and_check(R"(
graph deep(x: bf16[600000, 3]) {
  s = sum x {axes = [0]}
  a = argmax x {axis = 0}
  return s, a
})");
}

/// The rows are contiguous only once the axis of extent 1 is removed.
TEST(Reduction, ColumnsThenTheirResults) {
  run_and_check(R"(
graph columns(x: f64[n, 8, 1]) {
  a = max x {axes = [0], keep = true}
  b = max a {axes = [1, 2], keep = true}
  y = copy x
  return b, y
})",
                {{"n", 3}});
}

}  // namespace
}  // namespace sinter::test::reduction_test
