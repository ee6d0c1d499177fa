// Columns that are resident in a cluster of blocks: the candidates, and the kernels that they emit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <ostream>
#include <string>

#include "codegen/emit.h"
#include "compiler/body/minimal_bytes.h"
#include "compiler/plan.h"
#include "compiler/tiling/column_split.h"
#include "tests/support/graphs/planned.h"

namespace sinter::column_clusters_test {
namespace {

using test::planned;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// A batch norm with channels last.
std::string batch_norm(std::string_view dtype, std::int64_t rows, std::int64_t columns) {
  return fmt::format(R"(
graph batch_norm(x: {}[{}, {}]) {{
  h = cast x {{to = f32}}
  v, m = var_mean h {{axes = [0], correction = 0, keep = true}}
  d = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  y = mul d, r
  z = cast y {{to = bf16}}
  return z, m, r
}})",
                     dtype, rows, columns);
}

/// The cluster size of the default candidate for columns of `rows` rows, with enough columns for
/// all SMs.
struct Kept {
  std::string_view dtype;
  std::int64_t rows;
  int cluster;
};
void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.dtype << " of " << kept.rows; }

class ColumnStaging : public testing::TestWithParam<Kept> {};

TEST_P(ColumnStaging, UsesTheSmallestClusterThatHoldsTheColumns) {
  constexpr std::int64_t kColumns = 4096;
  const auto [dtype, rows, cluster] = GetParam();
  const Program program = planned(batch_norm(dtype, rows, kColumns));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.kind, KernelKind::column_reduce);
  EXPECT_TRUE(kernel.schedule.in_shared);
  EXPECT_EQ(kernel.schedule.cluster, cluster);
  EXPECT_THAT(kernel.notes, SizeIs(0));
  // The program and all kernels with resident columns report one read and one write of each array.
  const std::int64_t minimal = minimal_bytes(program.graph->data(), {});
  EXPECT_EQ(kernel.bytes, static_cast<double>(minimal));
  for (const Schedule& schedule : kernel.candidates) {
    const Source source = emit(program, kernel, schedule, "columns");
    EXPECT_EQ(source.cluster, schedule.cluster);
    EXPECT_TRUE(source.grid.is(kColumns / columns_of(schedule) * schedule.cluster));
    EXPECT_LE(source.shared_bytes, find_target("h200")->shared_per_block_opt_in);
    EXPECT_EQ(schedule.splits, 1) << to_string(schedule);
    EXPECT_TRUE(schedule.resident || schedule.cluster == 1) << to_string(schedule);
    const Extent bytes = source.traffic.bytes_read + source.traffic.bytes_written;
    EXPECT_EQ(schedule.resident, bytes.is(minimal)) << to_string(schedule);
  }
}

// A block holds about 7,000 rows of one sector of bf16 columns. For f32 it holds half as many,
// because the column tile is one sector of the bf16 results.
INSTANTIATE_TEST_SUITE_P(Rows, ColumnStaging,
                         testing::Values(Kept{"bf16", 6272, 1}, Kept{"bf16", 8192, 2},
                                         Kept{"f32", 8191, 4}, Kept{"bf16", 14111, 4},
                                         Kept{"bf16", 25088, 4}, Kept{"f32", 25088, 8}));

TEST(ColumnClusters, FewColumnsUseLargerClusters) {
  const Kernel few = planned(batch_norm("bf16", 8192, 384)).kernels.at(0);
  const Kernel many = planned(batch_norm("bf16", 8192, 4096)).kernels.at(0);
  EXPECT_GT(few.schedule.cluster, many.schedule.cluster);
  // The columns would fit in one block, but too few SMs would work.
  const Kernel short_ones = planned(batch_norm("bf16", 6272, 128)).kernels.at(0);
  EXPECT_GT(short_ones.schedule.cluster, 1);
  EXPECT_THAT(short_ones.candidates.list(),
              Contains(AllOf(Field(&Schedule::cluster, 1), Field(&Schedule::resident, true))));
  // With enough columns for all SMs, single blocks come first. They read 32 bytes of each row, and
  // clusters read 128.
  const Kernel enough = planned(batch_norm("bf16", 6272, 4096)).kernels.at(0);
  EXPECT_EQ(enough.schedule.cluster, 1);
  EXPECT_EQ(columns_of(enough.schedule), 16);
  EXPECT_THAT(enough.candidates.list(),
              Contains(AllOf(Field(&Schedule::cluster, testing::Gt(1)),
                             testing::ResultOf(columns_of, 64))));
}

TEST(ColumnClusters, SixteenBlocksAreNeverTheDefault) {
  const std::string text =
      "graph f(x: f32[60000, 4096]) {\n  y = softmax x {axis = 0}\n  return y\n}";
  const Kernel kernel = planned(text).kernels.back();
  EXPECT_FALSE(kernel.schedule.resident);
  EXPECT_THAT(kernel.candidates.list(), Contains(Field(&Schedule::cluster, 16)));
  EXPECT_LE(kernel.candidates.size(), 12U);
  // Consumer GPUs do not support clusters of 16 blocks.
  EXPECT_THAT(planned(text, "rtx_5090").kernels.back().candidates.list(),
              Each(Field(&Schedule::cluster, 1)));
}

TEST(ColumnClusters, TargetsBeforeSm90HaveNoClusters) {
  for (const std::int64_t rows : {4096, 8192, 25088})
    EXPECT_THAT(planned(batch_norm("bf16", rows, 384), "a100").kernels.at(0).candidates.list(),
                Each(Field(&Schedule::cluster, 1)));
}

TEST(ColumnClusters, BlocksSynchroniseBeforeTheyExchangeAndOneStores) {
  const Program program = planned(batch_norm("bf16", 8192, 4096));
  const Kernel& kernel = program.kernels.at(0);
  const std::string text = emit(program, kernel, kernel.schedule, "columns").text;
  const std::size_t starts = text.find("cluster_arrive_relaxed();  // this block has started");
  const std::size_t waits = text.find("cluster_wait();  // all blocks of the cluster have started");
  const std::size_t exchanges = text.find("share_states<2, Shape>(");
  ASSERT_NE(exchanges, std::string::npos) << text;
  EXPECT_LT(starts, waits);
  EXPECT_LT(waits, exchanges);
  EXPECT_THAT(
      text, AllOf(HasSubstr("const int column_tile = static_cast<int>(blockIdx.x) / 2;"),
                  HasSubstr("const int split = cluster_rank();"),
                  HasSubstr("if (split == 0 && Shape::along() == 0)"), Not(HasSubstr("tickets"))));
}

TEST(ColumnClusters, ReductionsOfOnePassShareABarrier) {
  const Program program = planned(R"(
graph batch_norm_backward(x: bf16[8192, 4096], g: bf16[8192, 4096]) {
  d = cast g {to = f32}
  h = cast x {to = f32}
  p = mul d, h
  a = mean d {axes = [0], keep = true}
  b = mean p {axes = [0], keep = true}
  t = mul h, b
  u = sub d, t
  w = sub u, a
  y = cast w {to = bf16}
  return y
})");
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_GT(kernel.schedule.cluster, 1);
  const std::string text = emit(program, kernel, kernel.schedule, "columns").text;
  const auto count = [&](std::string_view word) {
    int result = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) ++result;
    return result;
  };
  EXPECT_EQ(count("share_states<"), 2) << text;
  EXPECT_EQ(count("cluster_wait();"), 2) << text;  // at the start, and once for both sums
}

TEST(ColumnClusters, ShareALaunchOnlyWithATail) {
  const Program program = planned(R"(
graph followed(x: f32[16384, 1024]) {
  m = mean x {axes = [0], keep = true}
  d = sub x, m
  s = max d {axes = [0]}
  c = cumsum s {axis = 0}
  return c, d
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  EXPECT_TRUE(kernel.has_tail);
  for (const Schedule& schedule : kernel.candidates) {
    ASSERT_GT(schedule.sections[0].cluster, 1);
    const Source source = emit(program, kernel, schedule, "followed");
    EXPECT_EQ(source.cluster, schedule.sections[0].cluster);
    EXPECT_FALSE(source.is_cooperative);
  }
}

/// Two batch norms of different inputs, with `columns` and `others` columns.
std::string batch_norms(int columns, int others) {
  return fmt::format(R"(
graph batch_norms(x: bf16[8192, {0}], z: bf16[8192, {1}]) {{
  g = cast x {{to = f32}}
  m = mean g {{axes = [0], keep = true}}
  d = sub g, m
  y = cast d {{to = bf16}}
  h = cast z {{to = f32}}
  n = mean h {{axes = [0], keep = true}}
  e = sub h, n
  w = cast e {{to = bf16}}
  s = sum m {{axes = [0, 1]}}
  return y, w, s
}})",
                     columns, others);
}

TEST(ColumnClusters, EqualClusterSizesShareALaunch) {
  const Program program = planned(batch_norms(384, 320));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  ASSERT_THAT(kernel.sections, SizeIs(3));
  EXPECT_TRUE(kernel.has_tail);
  for (const Schedule& schedule : kernel.candidates) {
    EXPECT_GT(schedule.sections[0].cluster, 1);
    EXPECT_EQ(schedule.sections[0].cluster, schedule.sections[1].cluster);
    EXPECT_EQ(schedule.sections[2].cluster, 1);
    const Source source = emit(program, kernel, schedule, "norms");
    EXPECT_EQ(source.cluster, schedule.sections[0].cluster);
    std::int64_t blocks = 0;
    for (int i = 0; i < 2; ++i)
      blocks += (i == 0 ? 384 : 320) / columns_of(schedule.sections[i]) * source.cluster;
    EXPECT_TRUE(source.grid.is(blocks)) << to_string(schedule);
  }
}

TEST(ColumnClusters, DifferentClusterSizesUseSeparateLaunches) {
  const Program program = planned(batch_norms(384, 4096));
  ASSERT_GE(program.kernels.size(), 2U);
  EXPECT_THAT(program.kernels[0].sections, SizeIs(0));
  EXPECT_THAT(program.kernels[1].sections, SizeIs(0));
  EXPECT_NE(program.kernels[0].schedule.cluster, program.kernels[1].schedule.cluster);
}

}  // namespace
}  // namespace sinter::column_clusters_test
