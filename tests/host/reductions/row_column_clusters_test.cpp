// Row-column kernels whose blocks combine column states before they store them, or share rows that
// are too long for one block. They give the bits of every other schedule and of the unfused graph,
// and move the predicted bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

#include "compiler/plan.h"
#include "sinter/text.h"
#include "tests/support/run/run.h"

namespace sinter::test::row_column_clusters_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The core of softmax's gradient, followed by the gradient of a bias.
std::string gradient(std::string_view dtype, std::string_view rows, int columns) {
  return fmt::format(R"(
graph gradient(x: {0}[{1}, {2}], g: {0}[{1}, {2}]) {{
  p = mul x, g
  s = sum p {{axes = [1], keep = true}}
  m = mul x, s
  d = sub g, m
  c = sum d {{axes = [0]}}
  return d, c
}})",
                     dtype, rows, columns);
}

struct Rows {
  std::string_view dtype;
  int number;
  int columns;
};
void PrintTo(const Rows& rows, std::ostream* out) {
  *out << fmt::format("{}[{}, {}]", rows.dtype, rows.number, rows.columns);
}

class SharedRowsAndColumns : public testing::TestWithParam<Rows> {};

/// No block can hold all columns of a row and their states.
TEST_P(SharedRowsAndColumns, AreReadOnce) {
  const auto [dtype, rows, columns] = GetParam();
  const RunResult run =
      run_and_check(gradient(dtype, std::to_string(rows), columns), {}, {.replay = false});
  ASSERT_EQ(run.report.kernels.size(), 1u);
  const KernelReport& kernel = run.report.kernels[0];
  EXPECT_GT(kernel.cluster, 1) << kernel.schedule;
  EXPECT_THAT(kernel.source,
              AllOf(HasSubstr("ColumnStates<"), HasSubstr(".finish(exchange, cluster)")));
}

INSTANTIATE_TEST_SUITE_P(Sizes, SharedRowsAndColumns,
                         testing::Values(Rows{"f32", 85, 20005}, Rows{"bf16", 88, 30522},
                                         Rows{"f16", 75, 28003}, Rows{"f64", 86, 16388}));

TEST(RowColumnClusters, SymbolicRows) {
  const RunResult run = run_and_check(gradient("f32", "rows", 20005), {{"rows", 126}});
  ASSERT_EQ(run.report.kernels.size(), 1u);
  EXPECT_GT(run.report.kernels[0].cluster, 1);
}

/// Several column results, one with wide states, whose order of combination matters.
TEST(RowColumnClusters, KeepTheOrderOfNoncommutativeStates) {
  const RunResult run = run_and_check(R"(
graph picked(x: f32[127, 20011]) {
  s = sum x {axes = [1], keep = true}
  d = sub x, s
  a = argmax d {axis = 0}
  c = sum d {axes = [0]}
  return s, a, c
})",
                                      {}, {.replay = false});
  ASSERT_EQ(run.report.kernels.size(), 1u);
  EXPECT_GT(run.report.kernels[0].cluster, 1);
}

TEST(RowColumnClusters, FollowedByALastBlock) {
  const RunResult run = run_and_check(R"(
graph followed(x: f32[126, 20005], g: f32[126, 20005]) {
  p = mul x, g
  s = sum p {axes = [1], keep = true}
  m = mul x, s
  d = sub g, m
  c = sum d {axes = [0]}
  r = cumsum s {axis = 0}
  return d, c, r
})",
                                      {}, {.replay = false});
  ASSERT_EQ(run.report.kernels.size(), 1u);
  EXPECT_EQ(run.report.kernels[0].kind, "horizontal");
  EXPECT_GT(run.report.kernels[0].cluster, 1);
}

class CombinedStates : public testing::TestWithParam<Rows> {};

/// Candidates combine the states of several rows of a block, of the blocks of a cluster, or both.
TEST_P(CombinedStates, EveryCandidateGivesTheSameBits) {
  const auto [dtype, rows, columns] = GetParam();
  const std::string text = gradient(dtype, std::to_string(rows), columns);
  const RunResult run = run_and_check(text, {}, {.replay = false});
  ASSERT_EQ(run.report.kernels.size(), 1u);
  EXPECT_THAT(run.report.kernels[0].source, HasSubstr("ColumnStates<"));
  const Program program = plan(parse(text), *find_target("h200"), {.symbols = {}}, {});
  const Kernel& planned = program.kernels.at(0);
  const auto has = [&](bool in_cluster, bool in_block) {
    return std::ranges::any_of(planned.candidates, [&](const Schedule& schedule) {
      return schedule.combines_columns == in_cluster && (schedule.rows_per_block > 1) == in_block;
    });
  };
  EXPECT_TRUE(has(false, true));
  EXPECT_TRUE(has(true, columns <= 128));  // rows then have few threads each
}

INSTANTIATE_TEST_SUITE_P(Sizes, CombinedStates,
                         testing::Values(Rows{"f32", 1024, 96}, Rows{"bf16", 1021, 257},
                                         Rows{"f16", 4099, 70}, Rows{"f64", 515, 260},
                                         Rows{"f32", 8200, 40}));

}  // namespace
}  // namespace sinter::test::row_column_clusters_test
