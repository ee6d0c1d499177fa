// Planning of large graphs: the work per node does not grow with the number of nodes.
#include "compiler/plan.h"
#include "tests/support/graphs/large_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace sinter::plan_scale_test {
namespace {

constexpr std::size_t kSmall = 1000;

class PlanScaleTest : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Nodes, PlanScaleTest, testing::Values(10'000, 100'000),
                         [](const auto& nodes) { return std::to_string(nodes.param); });

Program planned(const test::GraphFamily& family, std::size_t nodes) {
  return plan(family.record(nodes), *find_target("h200"), {.symbols = family.symbols});
}

/// Limits of the work per node, for graphs of any size. They are 10% above measured values.
struct WorkPerNode {
  std::string_view family;
  double candidates_scored;
  double cycle_check_visits;
  double bodies_built;
  double values_built;
  double kernels_scheduled;
};
constexpr WorkPerNode kMostWork[] = {
    {"chain", 0.05, 0.08, 0.01, 0.01, 0.01},
    {"wide", 0.01, 0.01, 0.01, 0.01, 0.01},
    {"layers", 1.7, 1.4, 0.01, 0.4, 0.01},
    {"random", 12.8, 26, 0.01, 0.2, 0.07},
};

double per_node(std::int64_t count, std::size_t nodes) {
  return static_cast<double>(count) / static_cast<double>(nodes);
}

void expect_little_work(const PlanWork& work, std::size_t nodes, const WorkPerNode& most) {
  EXPECT_LE(per_node(work.candidates_scored, nodes), most.candidates_scored);
  EXPECT_LE(per_node(work.cycle_check_visits, nodes), most.cycle_check_visits);
  EXPECT_LE(per_node(work.bodies_built, nodes), most.bodies_built);
  EXPECT_LE(per_node(work.values_built, nodes), most.values_built);
  EXPECT_LE(per_node(work.kernels_scheduled, nodes), most.kernels_scheduled);
}

TEST_P(PlanScaleTest, WorkPerNodeDoesNotGrow) {
  for (const test::GraphFamily& family : test::graph_families()) {
    SCOPED_TRACE(family.name);
    const WorkPerNode& most = *std::ranges::find(kMostWork, family.name, &WorkPerNode::family);
    const Program small = planned(family, kSmall);
    const Program large = planned(family, GetParam());
    expect_little_work(small.work, kSmall, most);
    expect_little_work(large.work, GetParam(), most);
    // Fusion is as effective as in small graphs.
    EXPECT_LE(large.kernels.size(), small.kernels.size() * GetParam() / kSmall * 11 / 10 + 1);
  }
}

TEST(PlanScale, RepeatedPartsArePlannedOnce) {
  for (const test::GraphFamily& family : test::graph_families()) {
    if (family.name == "random") continue;
    SCOPED_TRACE(family.name);
    const Program small = planned(family, kSmall);
    const Program large = planned(family, 16 * kSmall);
    // A few kernels differ at the end of the graph.
    constexpr std::int64_t kAtTheEnd = 30;
    EXPECT_LE(large.work.bodies_built, small.work.bodies_built + kAtTheEnd);
    EXPECT_LE(large.work.kernels_scheduled, small.work.kernels_scheduled + 3);
  }
}

}  // namespace
}  // namespace sinter::plan_scale_test
