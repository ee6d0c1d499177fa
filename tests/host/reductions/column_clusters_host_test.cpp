// Columns whose rows are distributed over the blocks of a cluster. Results are within the oracle's
// bounds and have the bits of every other schedule and the unfused graph. Each column is read once.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/run/run.h"

namespace sinter::test::column_clusters_host_test {
namespace {

/// Runs `text` with all checks. Expects that its kernel has clusters and reads each array once.
/// Without the launch attribute, the host device would report an error, because no other block
/// could be mapped.
RunResult run_in_clusters(const std::string& text, const CheckSettings& settings = {},
                          std::vector<Size> sizes = {}) {
  RunResult run = run_and_check(text, std::move(sizes), settings);
  EXPECT_EQ(run.report.kernels.size(), 1U);
  const KernelReport& kernel = run.report.kernels[0];
  EXPECT_GT(kernel.cluster, 1) << kernel.schedule;
  EXPECT_LE(kernel.bytes_read + kernel.bytes_written, 1.01 * double(kernel.minimal_bytes));
  return run;
}

/// Batch norm, with an additional weight per row.
std::string norms(int rows, int columns) {
  return fmt::format(R"(
graph batch_norm(x: bf16[{0}, {1}], weight: f32[{1}], rows_too: f32[{0}, 1]) {{
  h = cast x {{to = f32}}
  v, m = var_mean h {{axes = [0], keep = true}}
  c = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul c, r
  w = mul n, weight
  z = mul w, rows_too
  y = cast z {{to = bf16}}
  return y, m, r
}})",
                     rows, columns);
}

/// Rows and columns: a block has the accumulators of one part, or of one of several parts. Extents
/// are aligned, prime and odd.
class ClusterColumns : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(ClusterColumns, NormsOfHalves) {
  const auto [rows, columns] = GetParam();
  const RunResult run = run_in_clusters(norms(rows, columns), {.misaligned = true});
  EXPECT_EQ(run.report.kernels[0].kind, "column_reduce");
}

TEST_P(ClusterColumns, SoftmaxDownTheColumns) {
  const auto [rows, columns] = GetParam();
  for (const std::string dtype : {"f32", "f16"})
    run_in_clusters(fmt::format(R"(
graph column_softmax(x: {2}[{0}, {1}]) {{
  y = softmax x {{axis = 0}}
  return y
}})",
                                rows, columns, dtype));
}

TEST_P(ClusterColumns, GradientsOfSeveralReductionsInAPass) {
  const auto [rows, columns] = GetParam();
  run_in_clusters(fmt::format(R"(
graph batch_norm_backward(x: f32[{0}, {1}], g: f16[{0}, {1}], m: f32[1, {1}], r: f32[1, {1}]) {{
  d = cast g {{to = f32}}
  c = sub x, m
  p = mul d, c
  a = mean d {{axes = [0], keep = true}}
  b = mean p {{axes = [0], keep = true}}
  k = mul b, r
  t = mul c, k
  u = sub d, t
  w = sub u, a
  dx = mul w, r
  return dx, a, b
}})",
                              rows, columns));
}

INSTANTIATE_TEST_SUITE_P(Extents, ClusterColumns,
                         testing::Values(std::pair(8192, 48), std::pair(7001, 37),
                                         std::pair(12290, 40)));

/// Each block has several parts and iterates over them.
TEST(ColumnsOfClusters, WholeParts) {
  const RunResult run = run_in_clusters(R"(
graph planes(x: f32[5, 65539, 2]) {
  l = logsumexp x {axes = [1], keep = true}
  y = sub x, l
  return y
})");
  const std::string& text = run.report.kernels[0].source;
  EXPECT_NE(text.find("const int part = far_first<2>(number);"), std::string::npos) << text;
}

/// Blocks have accumulators of one of several parts.
TEST(ColumnsOfClusters, SharesOfParts) { run_in_clusters(norms(20483, 40)); }

TEST(ColumnsOfClusters, TriesSixteenBlocksIfTheDeviceSupportsThem) {
  const Options options{.tune = Tune::quick, .optimize_host = false};
  const Report report = compile(parse(norms(8192, 48)), host_device(), options).report();
  bool found = false;
  for (const CandidateReport& candidate : report.kernels.at(0).candidates) {
    EXPECT_EQ(candidate.problem, "") << candidate.schedule;
    found |= candidate.schedule.find("clusters of 16 blocks") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(ColumnsOfClusters, Doubles) {
  run_in_clusters(R"(
graph column_softmax(x: f64[8193, 42]) {
  y = softmax x {axis = 0}
  return y
})");
}

/// Several states of 8 and 16 bytes that do not commute, and a symbolic number of planes.
TEST(ColumnsOfClusters, StatesOfSeveralNumbers) {
  run_in_clusters(R"(
graph picked(x: f32[planes, 8195, 20]) {
  l = logsumexp x {axes = [1], keep = true}
  p = argmax x {axis = 1}
  q = argmin x {axis = 1}
  v, m = var_mean x {axes = [1], keep = true}
  d = sub x, l
  e = mul d, v
  return e, p, q, m
})",
                  {}, {{"planes", 2}});
}

/// All blocks of a cluster read the running statistics; the first one overwrites them.
TEST(ColumnsOfClusters, UpdatesStatisticsInPlace) {
  run_in_clusters(R"(
graph running(x: bf16[8192, 48], old: f32[1, 48]) {
  h = cast x {to = f32}
  m = mean h {axes = [0], keep = true}
  d = sub h, m
  f = mul d, old
  y = cast f {to = bf16}
  a = mul old, 0.9
  b = mul m, 0.1
  new = add a, b
  update old, new
  return y
})");
}

TEST(ColumnsOfClusters, FollowedByALastBlock) {
  const RunResult run = run_in_clusters(R"(
graph followed(x: f32[8191, 64]) {
  m = mean x {axes = [0], keep = true}
  d = sub x, m
  s = max d {axes = [0]}
  c = cumsum s {axis = 0}
  return c, d
})");
  EXPECT_EQ(run.report.kernels[0].kind, "horizontal");
}

/// Blocks of several kernels in one launch, each in its own clusters, and a last-block finish after
/// all.
TEST(ColumnsOfClusters, SeveralKernelsInOneLaunch) {
  const RunResult run = run_in_clusters(R"(
graph batch_norms(x: bf16[8192, 96], z: bf16[8192, 80]) {
  g = cast x {to = f32}
  m = mean g {axes = [0], keep = true}
  d = sub g, m
  y = cast d {to = bf16}
  h = cast z {to = f32}
  n = mean h {axes = [0], keep = true}
  e = sub h, n
  w = cast e {to = bf16}
  s = sum m {axes = [0, 1]}
  return y, w, s
})");
  EXPECT_EQ(run.report.kernels[0].sections.size(), 3U);
}

TEST(ColumnsOfClusters, TogetherWithRowClusters) {
  const RunResult run = run_in_clusters(R"(
graph normed(x: bf16[17, 131072], z: f32[8192, 320]) {
  y = softmax x {axis = 1}
  m = mean z {axes = [0], keep = true}
  d = sub z, m
  return y, d
})",
                                        {.candidates = false});
  EXPECT_EQ(run.report.kernels[0].sections.size(), 2U);
}

}  // namespace
}  // namespace sinter::test::column_clusters_host_test
