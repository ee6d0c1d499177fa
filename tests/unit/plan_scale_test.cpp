// Planning long programs: what is done per node does not grow with the number of nodes.
#include "compiler/plan.h"
#include "tests/support/large_graphs.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

constexpr std::size_t kSmall = 1000;

class PlanScaleTest : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Nodes, PlanScaleTest, testing::Values(4000, 16000),
                         [](const auto& nodes) { return std::to_string(nodes.param); });

Program planned(const test::GraphFamily& family, std::size_t nodes) {
  return plan(family.record(nodes), *find_target("h200"), {.symbols = family.symbols});
}

/// `count` is no more than `few`, counted for a small graph, scaled to so many nodes; with some to
/// spare.
void expect_flat(std::int64_t count, std::size_t nodes, std::int64_t few, double slack) {
  const double scale = static_cast<double>(nodes) / kSmall;
  EXPECT_LE(static_cast<double>(count), (static_cast<double>(few) * slack + kSmall) * scale);
}

TEST_P(PlanScaleTest, WorkPerNodeIsThatOfSmallGraphs) {
  for (const test::GraphFamily& family : test::graph_families()) {
    SCOPED_TRACE(family.name);
    const Program small = planned(family, kSmall);
    const Program large = planned(family, GetParam());
    const PlanWork& few = small.work;
    const PlanWork& many = large.work;
    expect_flat(many.candidates_scored, GetParam(), few.candidates_scored, 1.1);
    expect_flat(many.bodies_built, GetParam(), few.bodies_built, 1.1);
    expect_flat(many.values_built, GetParam(), few.values_built, 1.1);
    expect_flat(many.kernels_scheduled, GetParam(), few.kernels_scheduled, 1.1);
    // Up to its bound, a check follows all that lies between two groups: more in longer programs.
    expect_flat(many.cycle_check_visits, GetParam(), few.cycle_check_visits, 2.5);
    // And no fewer groups have merged.
    EXPECT_LE(large.kernels.size(), small.kernels.size() * GetParam() / kSmall * 11 / 10 + 1);
  }
}

TEST_P(PlanScaleTest, WhatRepeatsItselfIsPlannedOnce) {
  for (const test::GraphFamily& family : test::graph_families()) {
    if (family.name == "random") continue;
    SCOPED_TRACE(family.name);
    const Program small = planned(family, kSmall);
    const Program large = planned(family, GetParam());
    // Where the graph ends, a few kernels are different.
    constexpr std::int64_t kAtTheEnd = 30;
    EXPECT_LE(large.work.bodies_built, small.work.bodies_built + kAtTheEnd);
    EXPECT_LE(large.work.kernels_scheduled, small.work.kernels_scheduled + 3);
  }
}

}  // namespace
}  // namespace sinter
