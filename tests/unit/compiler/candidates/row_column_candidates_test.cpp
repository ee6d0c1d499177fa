// Kernels of rows and columns: who joins which states, and what of them crosses memory.
#include "compiler/candidates/row_column_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "tests/support/graphs/planned.h"

namespace sinter::row_column_candidates_test {
namespace {

using test::planned;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// The gradients of a layer norm's input, weight and bias.
std::string backward(std::int64_t rows, std::int64_t columns) {
  return fmt::format(R"(
graph backward(x: bf16[{0}, {1}], g: bf16[{0}, {1}]) {{
  h = cast x {{to = f32}}
  f = cast g {{to = f32}}
  p = mul h, f
  s = sum p {{axes = [1], keep = true}}
  d = sub f, s
  y = cast d {{to = bf16}}
  a = sum p {{axes = [0]}}
  b = sum f {{axes = [0]}}
  return y, a, b
}})",
                     rows, columns);
}

/// What every schedule of a kernel of rows and columns promises, of two sums for each column.
void expect_states(const Program& program, std::int64_t rows, std::int64_t columns) {
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_EQ(kernel.kind, KernelKind::row_column_reduce);
  for (const Schedule& schedule : kernel.candidates) {
    SCOPED_TRACE(to_string(schedule));
    const Source source = emit(program, kernel, schedule, "backward");
    const std::int64_t left = workspace_states(schedule);
    EXPECT_TRUE(source.grid.is(blocks_of(schedule)));
    EXPECT_EQ(source.cluster, schedule.cluster);
    EXPECT_EQ(blocks_of(schedule) % schedule.cluster, 0);
    EXPECT_EQ(left * schedule.rows_per_block * (schedule.combines_columns ? schedule.cluster : 1),
              schedule.splits);
    EXPECT_LE(source.shared_bytes, find_target("h200")->shared_per_block_opt_in);
    // Of two sums, each state has 4 bytes; the rows are read once besides.
    EXPECT_TRUE(source.workspace_bytes.is(2 * 4 * left * columns));
    EXPECT_TRUE(source.traffic.bytes_read.is(2 * rows * columns * 2 + 2 * 4 * left * columns));
  }
}

TEST(RowColumn, EachBlockOrClusterLeavesOneState) {
  const Program program = planned(backward(4096, 1536));
  expect_states(program, 4096, 1536);
  const auto& candidates = program.kernels[0].candidates.list();
  EXPECT_LE(candidates.size(), 13u);
  EXPECT_THAT(candidates, Contains(Field(&Schedule::combines_columns, true)));
  EXPECT_THAT(candidates, Contains(AllOf(Field(&Schedule::combines_columns, false),
                                         Field(&Schedule::rows_per_block, Gt(1)))));
  EXPECT_LE(workspace_states(candidates.front()), 64);
  const std::string text =
      emit(program, program.kernels[0], program.kernels[0].schedule, "backward").text;
  EXPECT_THAT(text, HasSubstr("join_ranks<"));
}

/// Blocks may not end while others read what they have.
TEST(RowColumn, BlocksOfAClusterMeetBeforeAndAfterTheyReadFromOneAnother) {
  const Program program = planned(backward(4096, 1536));
  for (const Schedule& schedule : program.kernels[0].candidates) {
    if (!schedule.combines_columns) continue;
    const std::string text = emit(program, program.kernels[0], schedule, "backward").text;
    const std::size_t before = text.find("cluster_wait();");
    const std::size_t joins = text.find("join_ranks<");
    const std::size_t after = text.find("cluster_wait();", before + 1);
    const std::size_t ends = text.find("last_block(");
    EXPECT_LT(before, joins);
    EXPECT_LT(joins, after);
    EXPECT_LT(after, ends);
    EXPECT_EQ(text.find("cluster_wait();", after + 1), std::string::npos);
  }
}

TEST(RowColumn, TargetsBeforeSm90JoinInBlocksAlone) {
  const Program program = planned(backward(4096, 1536), "a100");
  expect_states(program, 4096, 1536);
  EXPECT_THAT(
      program.kernels[0].candidates.list(),
      AllOf(Each(Field(&Schedule::cluster, 1)), Contains(Field(&Schedule::rows_per_block, Gt(1)))));
}

/// Clusters of 8 blocks find no SMs on a part of a GPU that has fewer.
TEST(RowColumn, FewSmsHaveSmallClusters) {
  Target target = *find_target("h200");
  for (const int sms : {1, 2, 7}) {
    target.sm_count = sms;
    const Program program = plan(parse(backward(4096, 1536)), target, {}, {});
    EXPECT_THAT(program.kernels, SizeIs(1)) << sms;
    EXPECT_LE(program.kernels[0].schedule.cluster, sms);
  }
}

TEST(RowColumn, ClustersHaveRowsThatAreTooLongForABlock) {
  for (const std::int64_t columns : {20005, 30522, 50265}) {
    const Program program = planned(backward(4096, columns));
    ASSERT_THAT(program.kernels, SizeIs(1)) << columns;
    EXPECT_GT(program.kernels[0].schedule.blocks_per_row(), 1);
    expect_states(program, 4096, columns);
  }
  EXPECT_THAT(planned(backward(4096, 50265), "a100").boundaries,
              Contains(Field(&Boundary::reason, HasSubstr("do not fit in registers"))));
  // What one block has place for needs no cluster.
  EXPECT_EQ(planned(backward(4096, 4096)).kernels.at(0).schedule.blocks_per_row(), 1);
}

/// Each block of a row stores what belongs to its own columns, and has tickets for these.
TEST(RowColumn, BlocksThatShareARowEndWithTheirOwnColumns) {
  const Program program = planned(backward(4096, 32768));
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_GT(kernel.schedule.blocks_per_row(), 1);
  const Source source = emit(program, kernel, kernel.schedule, "backward");
  EXPECT_THAT(source.text, AllOf(HasSubstr("* cluster_rank() + group, "),
                                 HasSubstr("cluster_wait();  // all blocks of the cluster")));
  const int groups = workspace_states(kernel.schedule) / states_per_group(kernel.schedule);
  EXPECT_TRUE(source.tickets.is(kernel.schedule.cluster * (groups + 1)));
}

/// With other sections in its launch a kernel joins no columns in clusters, which it can do
/// without.
TEST(RowColumn, SectionsOfALaunchDoWithoutClusters) {
  const Program program = planned(R"(
graph small(x: f32[300, 256], z: f32[64, 65]) {
  s = sum x {axes = [1], keep = true}
  d = sub x, s
  c = sum d {axes = [0]}
  e = exp z
  return d, c, e
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  ASSERT_EQ(program.kernels[0].kind, KernelKind::horizontal);
  for (const Schedule& schedule : program.kernels[0].candidates)
    EXPECT_THAT(schedule.sections, Each(Field(&Schedule::cluster, 1)));
}

}  // namespace
}  // namespace sinter::row_column_candidates_test
