// Candidates of column reductions: resident columns, and splits over several blocks.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "codegen/emit.h"
#include "compiler/body/minimal_bytes.h"
#include "compiler/plan.h"
#include "compiler/tiling/column_split.h"
#include "tests/support/graphs/planned.h"

namespace sinter::column_candidates_test {
namespace {

using test::planned;

std::int64_t bytes_of(const Program& program) {
  std::int64_t bytes = 0;
  for (const Kernel& kernel : program.kernels) {
    const Source source = emit(program, kernel, kernel.schedule, kernel.name);
    bytes += evaluate(source.traffic.bytes_read, {}) + evaluate(source.traffic.bytes_written, {});
  }
  return bytes;
}

/// 6272 rows of 16 bf16 columns take 196 KiB. A block has 227 KiB of shared memory.
constexpr std::string_view kBatchNorm = R"(
graph batch_norm(x: bf16[128, 960, 7, 7] {strides = [47040, 1, 6720, 960]}) {
  h = cast x {to = f32}
  v, m = var_mean h {axes = [0, 2, 3], correction = 0, keep = true}
  d = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul d, r
  y = cast n {to = bf16}
  return y, m, r
})";

TEST(ColumnSchedules, ColumnsThatFitAreResident) {
  const Program program = planned(kBatchNorm);
  ASSERT_EQ(program.kernels.size(), 1U);
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.kind, KernelKind::column_reduce);
  EXPECT_TRUE(kernel.schedule.in_shared);
  EXPECT_EQ(columns_of(kernel.schedule), 16);
  EXPECT_EQ(kernel.schedule, kernel.candidates.front());
  EXPECT_LE(kernel.candidates.size(), 12U);
  EXPECT_TRUE(kernel.notes.empty());
  EXPECT_EQ(bytes_of(program), minimal_bytes(program.graph->data(), {}));
  EXPECT_EQ(kernel.bytes, static_cast<double>(bytes_of(program)));
  EXPECT_LE(emit(program, kernel, kernel.schedule, "k").shared_bytes,
            find_target("h200")->shared_per_block_opt_in);
}

TEST(ColumnSchedules, OperandsSharedByAllColumnsAreNotResident) {
  const Program program = planned(R"(
graph weighted(x: f32[512, 4096], w: f32[512, 1]) {
  s = mul x, w
  m = mean s {axes = [0], keep = true}
  d = sub s, m
  y = mul d, w
  return y
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  const Kernel& kernel = program.kernels[0];
  ASSERT_TRUE(kernel.schedule.resident);
  const Source source = emit(program, kernel, kernel.schedule, kernel.name);
  EXPECT_NE(source.text.find("x_kept"), std::string::npos) << source.text;
  EXPECT_EQ(source.text.find("w_kept"), std::string::npos) << source.text;
}

TEST(ColumnSchedules, ColumnsTooLongForAClusterAreReadAgain) {
  const Program program = planned(R"(
graph column_softmax(x: f32[150000, 4096]) {
  y = softmax x {axis = 0}
  return y
})");
  ASSERT_FALSE(program.kernels.empty());
  for (const Kernel& kernel : program.kernels)
    for (const Schedule& schedule : kernel.candidates) EXPECT_FALSE(schedule.resident);
  EXPECT_FALSE(program.kernels.back().notes.empty());
}

TEST(ColumnSchedules, FewColumnsAreSplitOverManyBlocks) {
  const Program program = planned(R"(
graph few_columns(x: f32[1048576, 64]) {
  y = sum x {axes = [0]}
  return y
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  const Kernel& kernel = program.kernels[0];
  EXPECT_LE(kernel.candidates.size(), 12U);
  const Source source = emit(program, kernel, kernel.schedule, kernel.name);
  EXPECT_GE(evaluate(source.grid, {}), find_target("h200")->sm_count);
  const std::int64_t partials =
      64 * std::int64_t{kernel.schedule.splits} * static_cast<std::int64_t>(sizeof(float));
  EXPECT_EQ(evaluate(source.workspace_bytes, {}), partials);
  EXPECT_EQ(bytes_of(program), minimal_bytes(program.graph->data(), {}) + 2 * partials);
  EXPECT_EQ(kernel.bytes, static_cast<double>(bytes_of(program)));
}

TEST(ColumnSchedules, FewColumnsAreReadOnce) {
  for (const std::string_view dtype : {"f32", "bf16"})
    for (const auto& [rows, columns] : {std::pair{512, 2},
                                        {1024, 4},
                                        {2048, 3},
                                        {8192, 2},
                                        {8192, 3},
                                        {8191, 3},
                                        {8192, 4},
                                        {32768, 2},
                                        {32768, 4},
                                        {32768, 3}}) {
      const Program program = planned(fmt::format(
          "graph f(x: {}[{}, {}]) {{\n  v, m = var_mean x {{axes = [0]}}\n  return v, m\n}}", dtype,
          rows, columns));
      ASSERT_EQ(program.kernels.size(), 1U) << rows << " x " << columns;
      EXPECT_TRUE(program.kernels[0].schedule.resident) << dtype << rows << " x " << columns;
      EXPECT_EQ(bytes_of(program), minimal_bytes(program.graph->data(), {}));
    }
}

TEST(ColumnSchedules, ManyColumnsAreNotSplit) {
  const Program program = planned(R"(
graph many_columns(x: f32[4096, 65536]) {
  y = sum x {axes = [0]}
  return y
})");
  for (const Schedule& schedule : program.kernels[0].candidates) EXPECT_EQ(schedule.splits, 1);
}

/// Each accumulator of each part belongs to exactly one split. Splits are combined in the order of
/// the tree: first the pairs whose indices differ in the highest bit.
TEST(ColumnSchedules, SplitsAreSubtreesOfTheTree) {
  for (const std::int64_t extent : {5, 33, 1000, 6272, 9000, 16384, 1 << 20}) {
    const Tree tree = tree_of(extent);
    for (std::int64_t splits = 1; splits <= tree.parts * tree.accumulators; splits *= 2) {
      const ColumnSplit split = split_of(tree, splits);
      EXPECT_EQ(split.parts * split.accumulators * splits, tree.parts * tree.accumulators);
      EXPECT_EQ(split.residues > 1 ? split.parts : 1, 1);
      std::set<std::pair<std::int64_t, std::int64_t>> assigned;
      for (std::int64_t number = 0; number < splits; ++number)
        for (std::int64_t part = 0; part < split.parts; ++part)
          for (std::int64_t own = 0; own < split.accumulators; ++own)
            assigned.emplace((part * splits + number) % tree.parts,
                             number / tree.parts + own * split.residues);
      EXPECT_EQ(static_cast<std::int64_t>(assigned.size()), tree.parts * tree.accumulators)
          << extent << " in " << splits;
      EXPECT_GE(split.chunks_per_part * split.residues, tree.chunks_per_part);
    }
  }
}

}  // namespace
}  // namespace sinter::column_candidates_test
