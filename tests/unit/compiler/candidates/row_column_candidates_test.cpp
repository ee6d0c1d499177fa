// Candidates of kernels that reduce rows and columns: how blocks and clusters combine column
// states, and how many states cross memory.
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

/// Checks the grid, the workspace and the traffic of all schedules. Each column has two sums.
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
    // Each of the two sums has 4 bytes per state. The rows are read once.
    EXPECT_TRUE(source.workspace_bytes.is(2 * 4 * left * columns));
    EXPECT_TRUE(source.traffic.bytes_read.is(2 * rows * columns * 2 + 2 * 4 * left * columns));
  }
}

TEST(RowColumn, EachBlockOrClusterStoresOneState) {
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

/// A block must not exit while others read its shared memory.
TEST(RowColumn, BlocksSynchroniseBeforeAndAfterRemoteReads) {
  const Program program = planned(backward(4096, 1536));
  for (const Schedule& schedule : program.kernels[0].candidates) {
    if (!schedule.combines_columns) continue;
    const std::string text = emit(program, program.kernels[0], schedule, "backward").text;
    const std::size_t before = text.find("cluster_wait();");
    const std::size_t combines = text.find("join_ranks<");
    const std::size_t after = text.find("cluster_wait();", before + 1);
    const std::size_t ends = text.find("last_block");
    EXPECT_LT(before, combines);
    EXPECT_LT(combines, after);
    EXPECT_LT(after, ends);
    EXPECT_EQ(text.find("cluster_wait();", after + 1), std::string::npos);
  }
}

TEST(RowColumn, TargetsBeforeSm90CombineOnlyWithinBlocks) {
  const Program program = planned(backward(4096, 1536), "a100");
  expect_states(program, 4096, 1536);
  EXPECT_THAT(
      program.kernels[0].candidates.list(),
      AllOf(Each(Field(&Schedule::cluster, 1)), Contains(Field(&Schedule::rows_per_block, Gt(1)))));
}

/// A partition of a GPU with fewer than 8 SMs cannot run clusters of 8 blocks.
TEST(RowColumn, FewSmsUseSmallClusters) {
  Target target = *find_target("h200");
  for (const int sms : {1, 2, 7}) {
    target.sm_count = sms;
    const Program program = plan(parse(backward(4096, 1536)), target, {}, {});
    EXPECT_THAT(program.kernels, SizeIs(1)) << sms;
    EXPECT_LE(program.kernels[0].schedule.cluster, sms);
  }
}

TEST(RowColumn, ClustersHoldRowsTooLongForABlock) {
  for (const std::int64_t columns : {20005, 30522, 50265}) {
    const Program program = planned(backward(4096, columns));
    ASSERT_THAT(program.kernels, SizeIs(1)) << columns;
    EXPECT_GT(program.kernels[0].schedule.blocks_per_row(), 1);
    expect_states(program, 4096, columns);
  }
  EXPECT_THAT(planned(backward(4096, 50265), "a100").boundaries,
              Contains(Field(&Boundary::reason, HasSubstr("do not fit in registers"))));
  // A row that fits in one block needs no cluster.
  EXPECT_EQ(planned(backward(4096, 4096)).kernels.at(0).schedule.blocks_per_row(), 1);
}

/// Each block of a row finishes its own columns, and has separate tickets for them.
TEST(RowColumn, BlocksOfARowFinishTheirOwnColumns) {
  const Program program = planned(backward(4096, 32768));
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_GT(kernel.schedule.blocks_per_row(), 1);
  const Source source = emit(program, kernel, kernel.schedule, "backward");
  EXPECT_THAT(source.text, AllOf(HasSubstr("* cluster_rank() + group, "),
                                 HasSubstr("cluster_wait();  // all blocks of the cluster")));
  const int groups = workspace_states(kernel.schedule) / states_per_group(kernel.schedule);
  EXPECT_TRUE(source.tickets.is(kernel.schedule.cluster * (groups + 1)));
}

/// In a horizontally fused launch, a kernel combines its columns without clusters.
TEST(RowColumn, SectionsOfALaunchUseNoClusters) {
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
