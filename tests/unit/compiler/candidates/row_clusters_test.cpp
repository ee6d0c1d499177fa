// Rows that are resident in a cluster of blocks: the candidates, and the kernels that they emit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "tests/support/graphs/planned.h"

namespace sinter::row_clusters_test {
namespace {

using test::planned;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string softmax(std::string_view dtype, std::int64_t rows, std::int64_t columns) {
  return fmt::format(
      "graph softmax(x: {}[{}, {}]) {{\n  y = softmax x {{axis = 1}}\n  return y\n}}", dtype, rows,
      columns);
}

/// The cluster size and the memory that hold rows of `columns` elements in the default candidate.
struct Kept {
  std::string_view dtype;
  std::int64_t columns;
  int cluster;
  bool in_shared;
};
void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.dtype << " of " << kept.columns; }

class ResidentRows : public testing::TestWithParam<Kept> {};

TEST_P(ResidentRows, UsesTheSmallestClusterThatHoldsTheRows) {
  const auto [dtype, columns, cluster, in_shared] = GetParam();
  const Program program = planned(softmax(dtype, 4096, columns));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  EXPECT_TRUE(kernel.schedule.resident);
  EXPECT_EQ(kernel.schedule.cluster, cluster);
  EXPECT_EQ(kernel.schedule.in_shared, in_shared);
  EXPECT_LE(kernel.candidates.size(), 12u);
  const std::int64_t element = dtype == "f32" ? 4 : 2;
  // The program and all kernels with resident rows report one read and one write of each array.
  const std::int64_t bytes = 4096 * columns * element;
  EXPECT_EQ(kernel.bytes, 2.0 * static_cast<double>(bytes));
  for (const Schedule& schedule : kernel.candidates) {
    const Source source = emit(program, kernel, schedule, "rows");
    EXPECT_EQ(source.cluster, schedule.cluster);
    const std::int64_t groups = 4096 / schedule.rows_per_block;
    const std::int64_t turns = schedule.copies == Copies::none ? 1 : schedule.unroll;
    EXPECT_TRUE(source.grid.is((groups + turns - 1) / turns * schedule.cluster));
    EXPECT_LE(source.shared_bytes, find_target("h200")->shared_per_block_opt_in);
    if (schedule.resident) {
      EXPECT_TRUE(source.traffic.bytes_read.is(bytes)) << to_string(schedule);
    }
    if (schedule.cluster > 1) {
      EXPECT_TRUE(schedule.resident) << to_string(schedule);
    }
  }
}

// A softmax of bf16 rows keeps the exponentials resident, which are f32.
INSTANTIATE_TEST_SUITE_P(
    Columns, ResidentRows,
    testing::Values(Kept{"f32", 16384, 1, false}, Kept{"f32", 32768, 1, false},
                    Kept{"f32", 49152, 1, true}, Kept{"f32", 65536, 2, false},
                    Kept{"f32", 100003, 8, false}, Kept{"f32", 131072, 4, false},
                    Kept{"f32", 262144, 8, false}, Kept{"f32", 300000, 8, true},
                    Kept{"bf16", 16384, 1, false}, Kept{"bf16", 131072, 4, false},
                    Kept{"bf16", 262144, 8, false}));

TEST(RowClusters, NarrowRowsAreResidentInTheirDType) {
  const Program program = planned(R"(
graph lse(x: bf16[4096, 262144]) {
  g = cast x {to = f32}
  m = max g {axes = [1], keep = true}
  d = sub g, m
  e = exp d
  s = sum e {axes = [1]}
  return s
})");
  EXPECT_EQ(program.kernels.at(0).schedule.cluster, 4);
  EXPECT_FALSE(program.kernels.at(0).schedule.in_shared);
}

/// A layer norm whose rows are resident as bf16.
Kernel layer_norm_of(std::int64_t columns) {
  return planned(fmt::format(R"(
graph norm(x: bf16[4096, {}]) {{
  h = cast x {{to = f32}}
  v, m = var_mean h {{axes = [1], correction = 0, keep = true}}
  c = sub h, m
  r = rsqrt v
  n = mul c, r
  y = cast n {{to = bf16}}
  return y
}})",
                             columns))
      .kernels.at(0);
}

// An element that is loaded alone takes a register. Two elements of one vector load share a
// register.
TEST(RowClusters, NarrowElementsOfOddRowsUseARegisterEach) {
  for (const std::int64_t columns : {131072, 131070}) {
    const Schedule even = layer_norm_of(columns).schedule;
    EXPECT_EQ(even.cluster, 4) << columns;
    EXPECT_FALSE(even.in_shared) << columns;
  }
  for (const std::int64_t columns : {131071, 262143}) {
    const Schedule odd = layer_norm_of(columns).schedule;
    EXPECT_TRUE(odd.resident) << columns;
    EXPECT_TRUE(odd.in_shared) << columns;
    EXPECT_EQ(odd.threads, 512) << columns;
  }
}

// If 4 divides a row but 8 does not, the kernel uses vectors of 4. Masked vectors of 8 would take
// registers that the row needs.
TEST(RowClusters, RowsDivisibleByFourUseVectorsOfFour) {
  const Schedule schedule = planned(softmax("bf16", 4096, 65532)).kernels.at(0).schedule;
  EXPECT_EQ(schedule.vector, 4);
  EXPECT_TRUE(schedule.resident);
  EXPECT_FALSE(schedule.in_shared);
  // Only 2 divides this row, so the kernel uses masked vectors of 8.
  EXPECT_EQ(planned(softmax("bf16", 4096, 8190)).kernels.at(0).schedule.vector, 8);
}

// A block of 512 threads that is alone on its SM has 48 KiB of loads in flight: 96 bytes per
// thread.
TEST(RowClusters, RowLoopsUnrollForEnoughBytesInFlight) {
  const Schedule alone = planned(softmax("f32", 4096, 50257)).kernels.at(0).schedule;
  EXPECT_TRUE(alone.in_shared);
  EXPECT_EQ(alone.threads, 512);
  EXPECT_EQ(alone.blocks_per_sm, 1);
  EXPECT_EQ(alone.unroll, 8);
  // Rows that are resident in registers are loaded all at once anyway.
  EXPECT_EQ(planned(softmax("f32", 4096, 16384)).kernels.at(0).schedule.unroll, 1);
}

TEST(RowClusters, RowsTooLongForAClusterAreNotResident) {
  const Kernel kernel = planned(softmax("f32", 128, 1 << 21)).kernels.at(0);
  EXPECT_FALSE(kernel.schedule.resident);
  EXPECT_THAT(kernel.candidates.list(), Each(Field(&Schedule::cluster, 1)));
}

TEST(RowClusters, SixteenBlocksAreNeverTheDefault) {
  const Kernel kernel = planned(softmax("f32", 128, 524288)).kernels.at(0);
  EXPECT_FALSE(kernel.schedule.resident);
  EXPECT_THAT(kernel.candidates.list(), Contains(Field(&Schedule::cluster, 16)));
  // Consumer GPUs do not support clusters of 16 blocks.
  const Kernel consumer = planned(softmax("f32", 128, 524288), "rtx_5090").kernels.at(0);
  EXPECT_THAT(consumer.candidates.list(), Each(Field(&Schedule::cluster, 1)));
}

TEST(RowClusters, AreACandidateIfOneBlockNeedsSharedMemory) {
  const Kernel kernel = planned(softmax("f32", 4096, 49152)).kernels.at(0);
  EXPECT_EQ(kernel.schedule.cluster, 1);
  EXPECT_TRUE(kernel.schedule.in_shared);
  EXPECT_THAT(kernel.candidates.list(),
              Contains(AllOf(Field(&Schedule::cluster, 2), Field(&Schedule::in_shared, false))));
}

TEST(RowClusters, TargetsBeforeSm90HaveNoClusters) {
  for (const std::int64_t columns : {16384, 65536, 262144}) {
    const Program program = planned(softmax("f32", 128, columns), "a100");
    EXPECT_THAT(program.kernels.at(0).candidates.list(), Each(Field(&Schedule::cluster, 1)));
  }
}

TEST(RowClusters, FewRowsUseLargerClusters) {
  const Program few = planned(softmax("f32", 20, 32768));
  ASSERT_THAT(few.kernels, SizeIs(1));
  EXPECT_EQ(few.kernels[0].schedule.cluster, 4);  // 8 would be more blocks than SMs
  EXPECT_THAT(few.kernels[0].candidates.list(), AllOf(Contains(Field(&Schedule::cluster, 2)),
                                                      Contains(Field(&Schedule::cluster, 1))));
  // With 4 rows, clusters leave most SMs idle. Resident rows still win: a split over the whole grid
  // would read its parts again after a barrier.
  const Program fewest = planned(softmax("f32", 4, 32768));
  ASSERT_THAT(fewest.kernels, SizeIs(1));
  EXPECT_EQ(fewest.kernels[0].schedule.cluster, 8);
  const Kernel many = planned(softmax("f32", 4096, 16384)).kernels.at(0);
  EXPECT_THAT(many.candidates.list(), Each(Field(&Schedule::cluster, 1)));
}

/// 16 clusters of 8 blocks would take two waves, since the GPU runs 15 of them at once.
TEST(RowClusters, AllClustersRunAtOnce) {
  const Graph graph = parse(softmax("f32", 16, 65536));
  const auto cluster_on = [&](const Target& target) {
    return plan(graph, target, {}, {}).kernels.at(0).schedule.cluster;
  };
  Target target = *find_target("h200");
  EXPECT_EQ(cluster_on(target), 4);
  target.active_clusters = {66, 33, 16, 8};
  EXPECT_EQ(cluster_on(target), 8);
}

TEST(RowClusters, ReadFewRowsOnce) {
  for (const auto& [rows, columns] :
       {std::pair{1, 8192}, {1, 65536}, {8, 8192}, {32, 8192}, {8, 32768}, {1, 8191}, {2, 50257}}) {
    const Program program = planned(fmt::format(
        "graph f(x: f32[{}, {}]) {{\n  v, m = var_mean x {{axes = [1]}}\n  return v, m\n}}", rows,
        columns));
    ASSERT_THAT(program.kernels, SizeIs(1)) << rows << " x " << columns;
    const Kernel& kernel = program.kernels[0];
    EXPECT_TRUE(kernel.sections.empty()) << rows << " x " << columns;
    const Source source = emit(program, kernel, kernel.schedule, "rows");
    EXPECT_TRUE(source.traffic.bytes_read.is(std::int64_t{4} * rows * columns));
  }
}

TEST(RowClusters, VeryLongRowsAreSplitOverAllSms) {
  // Four arrays are read. 8 blocks would take longer than all SMs, even though all SMs read the row
  // twice more from the cache.
  const auto sum_of_four = [](std::int64_t columns) {
    return planned(fmt::format(R"(
graph f(a: f32[1, {0}], b: f32[1, {0}], c: f32[1, {0}], d: f32[1, {0}]) {{
  s = add a, b
  t = add c, d
  x = add s, t
  y = softmax x {{axis = 1}}
  return y
}})",
                               columns));
  };
  const auto is_spread =
      Contains(Field(&Boundary::reason, HasSubstr("must be split over all 132 SMs")));
  EXPECT_THAT(sum_of_four(262144).boundaries, is_spread);
  EXPECT_THAT(sum_of_four(65536).boundaries, IsEmpty());
}

TEST(RowClusters, BlocksSynchroniseBeforeTheyExchangeAndOneStores) {
  const Program program = planned(R"(
graph statistics(x: f32[128, 131072]) {
  y = softmax x {axis = 1}
  s = sum y {axes = [1]}
  return y, s
})");
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_EQ(kernel.schedule.cluster, 4);
  EXPECT_THAT(to_string(kernel.schedule), HasSubstr("clusters of 4 blocks"));
  const std::string text = emit(program, kernel, kernel.schedule, "rows").text;
  const std::size_t arrives = text.find("cluster_arrive_relaxed();  // this block has started");
  const std::size_t waits = text.find("cluster_wait();");
  const std::size_t exchanges = text.find(".finish(exchange, cluster)");
  EXPECT_LT(arrives, waits);
  EXPECT_LT(waits, exchanges);
  EXPECT_EQ(text.find("cluster_wait();", waits + 1), std::string::npos);
  EXPECT_THAT(text, AllOf(HasSubstr("if (cluster_rank() == 0 && Shape::thread() == 0)"),
                          HasSubstr("static_cast<int>(blockIdx.x) / 4")));
}

TEST(RowClusters, ShareALaunchOnlyWithATail) {
  const Program program = planned(R"(
graph followed(x: f32[128, 131072], z: f32[4096]) {
  y = softmax x {axis = 1}
  s = max y {axes = [1]}
  a = sum s {axes = [0]}
  c = cumsum s {axis = 0}
  d = div c, a
  e = exp z
  return s, d, e
})");
  const auto has_cluster = [](const Kernel& kernel) {
    return std::ranges::any_of(kernel.schedule.sections,
                               [](const Schedule& section) { return section.cluster > 1; });
  };
  const auto found = std::ranges::find_if(program.kernels, has_cluster);
  ASSERT_NE(found, program.kernels.end());
  EXPECT_TRUE(found->has_tail);
  EXPECT_THAT(program.kernels, SizeIs(2));  // the exp of z is a separate launch
  for (const Schedule& schedule : found->candidates) {
    EXPECT_GT(schedule.sections[0].cluster, 1);
    const Source source = emit(program, *found, schedule, "followed");
    EXPECT_EQ(source.cluster, schedule.sections[0].cluster);
    EXPECT_TRUE(source.grid.is(128 * source.cluster));
    EXPECT_FALSE(source.is_cooperative);
  }
}

TEST(RowClusters, ConsumersOfManyBlocksUseASeparateLaunch) {
  const Program program = planned(R"(
graph followed(x: f32[128, 131072]) {
  y = softmax x {axis = 1}
  c = cumsum y {axis = 0}
  return y, c
})");
  ASSERT_THAT(program.kernels, SizeIs(2));
  EXPECT_EQ(program.kernels[0].schedule.cluster, 4);
  EXPECT_THAT(program.boundaries,
              Contains(Field(&Boundary::reason,
                             HasSubstr("stay in clusters of 4 blocks, and only a last block "
                                       "can follow these in one launch"))));
}

}  // namespace
}  // namespace sinter::row_clusters_test
