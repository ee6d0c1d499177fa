// Columns that stay resident between passes, and columns that several blocks share. All candidates
// and the unfused graph give the same bits, and launches move the predicted bytes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "tests/support/run/run.h"

namespace sinter::test::column_blocks_test {
namespace {

/// True if a candidate of some kernel of `text` keeps its columns resident. Runs all candidates.
bool may_keep(const std::string& text) {
  Options options{.skip = {"fuse_launches"}};
  options.force_candidate = 0;
  options.count = true;
  options.optimize_host = false;
  const Report report = compile(parse(text), host_device(), options).report();
  return std::ranges::any_of(report.kernels, [](const KernelReport& kernel) {
    return std::ranges::any_of(kernel.candidates, [](const CandidateReport& candidate) {
      return candidate.schedule.find("resident in shared memory") != std::string::npos;
    });
  });
}

bool has(const RunResult& run, std::string_view words) {
  return std::ranges::any_of(run.report.kernels, [&](const KernelReport& kernel) {
    return kernel.source.find(words) != std::string::npos;
  });
}

/// Rows and columns: even, odd and prime, with one part and several.
class Columns : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Columns, StayResidentBetweenPasses) {
  const auto [rows, columns] = GetParam();
  const std::string text = fmt::format(R"(
graph batch_norm(x: bf16[{0}, {1}], d: f64[{0}, {1}], weight: f32[{1}], rows_too: f32[{0}, 1]) {{
  h = cast x {{to = f32}}
  v, m = var_mean h {{axes = [0], keep = true}}
  c = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul c, r
  w = mul n, weight
  z = mul w, rows_too
  y = cast z {{to = bf16}}
  s = softmax d {{axis = 0}}
  return y, m, r, s
}})",
                                       rows, columns);
  run_and_check(text, {}, {.misaligned = true});
  EXPECT_TRUE(may_keep(text));
}

TEST_P(Columns, GradientsReadTwoArraysOnce) {
  const auto [rows, columns] = GetParam();
  const std::string text = fmt::format(R"(
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
                                       rows, columns);
  run_and_check(text);
  EXPECT_TRUE(may_keep(text));
}

INSTANTIATE_TEST_SUITE_P(Extents, Columns,
                         testing::Values(std::pair(2, 64), std::pair(97, 31), std::pair(256, 72),
                                         std::pair(1021, 24), std::pair(4100, 8)));

/// Columns of several parts stay resident if a block has few of them.
TEST(ColumnStaging, SupportsSeveralParts) {
  const std::string text = R"(
graph planes(x: bf16[34, 8193, 2]) {
  h = cast x {to = f32}
  m = mean h {axes = [1], keep = true}
  c = sub h, m
  y = cast c {to = bf16}
  return y
})";
  run_and_check(text);
  EXPECT_TRUE(may_keep(text));
}

/// Few columns of several parts, whose block has more than 512 threads.
TEST(ColumnStaging, PartsHaveGroupsOfThreads) {
  for (const auto& [dtype, rows, columns] :
       {std::tuple("bf16", 8191, 3), std::tuple("f32", 8192, 2), std::tuple("f16", 12289, 2)}) {
    const std::string text = fmt::format(
        "graph few(x: {}[{}, {}]) {{\n  v, m = var_mean x {{axes = [0]}}\n  return v, m\n}}", dtype,
        rows, columns);
    const RunResult run = run_and_check(text);
    ASSERT_EQ(run.report.kernels.size(), 1U) << text;
    EXPECT_EQ(run.report.kernels[0].bytes_read,
              run.report.kernels[0].minimal_bytes - run.report.kernels[0].bytes_written);
  }
}

/// Rows and columns for which one block per tile of columns would leave most SMs idle.
class FewColumns : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(FewColumns, AreSharedByBlocks) {
  const auto [rows, columns] = GetParam();
  for (const std::string dtype : {"f32", "bf16", "f64"}) {
    const RunResult run = run_and_check(fmt::format(R"(
graph bias_gradient(x: {2}[{0}, {1}], b: {2}[{1}]) {{
  s = sum x {{axes = [0]}}
  p = argmax x {{axis = 0}}
  l = logsumexp x {{axes = [0]}}
  z = mul s, b
  return s, p, l, z
}})",
                                                    rows, columns, dtype));
    EXPECT_TRUE(has(run, "join_splits<")) << run.report.kernels[0].source;
  }
}

INSTANTIATE_TEST_SUITE_P(Extents, FewColumns,
                         testing::Values(std::pair(4096, 64), std::pair(6271, 8),
                                         std::pair(16384, 33), std::pair(40009, 3)));

/// Outer axes, a state that does not commute, and an elementwise result.
TEST(FewColumns, SeveralPlanes) {
  const RunResult run = run_and_check(R"(
graph planes(x: f32[3, 70001, 6]) {
  v, m = var_mean x {axes = [1], correction = 1}
  y = mul x, 2.0
  return y, v, m
})",
                                      {}, {.candidates = true});
  EXPECT_TRUE(has(run, "join_splits<"));
}

TEST(FewColumns, SymbolicRows) {
  for (const std::int64_t rows : {0, 1, 2000, 9001, 20000}) {
    const RunResult run = run_and_check(R"(
graph symbol(x: f32[rows, 20]) {
  s = sum x {axes = [0]}
  a = max x {axes = [0]}
  return s, a
})",
                                        {{"rows", rows}});
    if (rows >= 9001) {
      EXPECT_TRUE(has(run, "join_splits<"));
    }
  }
}

}  // namespace
}  // namespace sinter::test::column_blocks_test
