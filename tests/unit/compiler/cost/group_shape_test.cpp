// What is known of regular groups without a body is what their bodies say.
#include "compiler/cost/group_shape.h"
#include "compiler/body/body_request.h"
#include "compiler/cost/cost.h"

#include <gtest/gtest.h>

#include "compiler/fusion/group.h"
#include "compiler/plan.h"
#include "tests/support/graphs/large_graphs.h"

namespace sinter::group_shape_test {
namespace {

/// Groups of a graph as planning would leave it before fusing, which the test merges by itself.
class Grouped {
 public:
  explicit Grouped(const Graph& graph, std::vector<std::int64_t> symbols = {})
      : program_(plan(graph, target, {.symbols = symbols}, {.fuse = false})),
        facts{.symbols = std::move(symbols)},
        groups(program_.graph->data(), *program_.lazy_names, program_.work,
               Groups::InitialGroups::single_nodes),
        sizes_(program_.graph->data(), facts) {}

  /// Its cost if that is known without a body.
  std::optional<Cost> cost_without_body(int group) {
    const GroupShape& group_shape = groups[group].group_shape;
    if (group_shape.kind == GroupShape::Kind::rows &&
        !reads_rows_once(group_shape, max_kept_bytes(groups[group].contents()), target, facts))
      return std::nullopt;
    return cost_of(group_shape, groups[group].contents(), target, sizes_);
  }

  Cost cost_of_body(int group) const {
    const BodyAnswer answer = groups.body(groups.kernel_nodes(group),
                                          [&](const Node* node) { return groups.name(node); });
    EXPECT_EQ(answer.reason, "");
    return cost_of(answer.body, target, facts);
  }

  /// Merges each group with the ones that read it while what they become is group_shape, and
  /// compares what is known of all that come up on the way. Returns how many these are.
  int compare_all() {
    int compared = 0;
    for (int group = 0; group < groups.size(); ++group) {
      compared += compare(group);
      for (const int consumer : groups.consumers(group)) {
        if (!groups[group].alive || !groups[consumer].alive) continue;
        const GroupShape both = groups.group_shape(group, consumer);
        Groups::Between between = groups.between(group, consumer);
        if (both.kind == GroupShape::Kind::none ||
            groups.union_traffic(group, consumer, sizes_).arguments > 24 ||
            between.detour != Groups::Detour::none)
          continue;
        groups.merge(group, consumer, std::move(between));
        compared += compare(group);
      }
    }
    return compared;
  }

  const Target target = *find_target("h200");

 private:
  int compare(int group) {
    if (!groups[group].alive) return 0;
    const std::optional<Cost> known = cost_without_body(group);
    if (!known) return 0;
    const Cost cost = cost_of_body(group);
    EXPECT_EQ(known->bytes_read, cost.bytes_read);
    EXPECT_EQ(known->bytes_written, cost.bytes_written);
    EXPECT_EQ(known->instructions, cost.instructions);
    EXPECT_EQ(known->seconds, cost.seconds);
    return 1;
  }

  Program program_;

 public:
  Facts facts;
  Groups groups;

 private:
  NodeSizes sizes_;
};

TEST(GroupShape, CostsAreThoseOfBodies) {
  for (const test::GraphFamily& family : test::graph_families()) {
    SCOPED_TRACE(family.name);
    Grouped grouped(family.record(400), family.symbols);
    EXPECT_GT(grouped.compare_all(), 300);
  }
}

TEST(GroupShape, TellsRowsFromColumns) {
  Graph graph("square");
  const Tensor x = graph.input("x", f32, {64, 64});
  graph.output("rows", x - sum(x, {1}, Keep::yes));
  graph.output("columns", x - sum(x, {0}, Keep::yes));
  const Grouped grouped(graph);
  const auto kind_of_reduction_of = [&](std::int64_t axis) {
    for (int group = 0; group < grouped.groups.size(); ++group) {
      const Node& node = *grouped.groups[group].nodes[0];
      if (is_reduction(node.op) && reduced_axes(node)[0] == axis)
        return grouped.groups[group].group_shape.kind;
    }
    ADD_FAILURE() << "no reduction of axis " << axis;
    return GroupShape::Kind::none;
  };
  EXPECT_EQ(kind_of_reduction_of(1), GroupShape::Kind::rows);
  EXPECT_EQ(kind_of_reduction_of(0), GroupShape::Kind::none);
}

TEST(GroupShape, ViewsOfValuesNeedABody) {
  Graph graph("turned");
  const Tensor x = graph.input("x", f32, {64, 64});
  const Tensor y = exp(x);
  graph.output("z", y + permute(y, {1, 0}));
  const Grouped grouped(graph);
  const auto kind_of = [&](Op op) {
    for (int group = 0; group < grouped.groups.size(); ++group)
      if (grouped.groups[group].nodes[0]->op == op) return grouped.groups[group].group_shape.kind;
    ADD_FAILURE() << "no such op";
    return GroupShape::Kind::none;
  };
  EXPECT_EQ(kind_of(Op::exp), GroupShape::Kind::plain);
  EXPECT_EQ(kind_of(Op::add), GroupShape::Kind::none);
}

TEST(GroupShape, LongRowsNeedABody) {
  Graph graph("long");
  const Tensor x = graph.input("x", f32, {4096, 1 << 17});
  graph.output("y", x - sum(x, {1}, Keep::yes));
  Grouped grouped(graph);
  int reductions = 0;
  for (int group = 0; group < grouped.groups.size(); ++group) {
    if (grouped.groups[group].group_shape.kind != GroupShape::Kind::rows) continue;
    ++reductions;
    EXPECT_FALSE(grouped.cost_without_body(group).has_value());
  }
  EXPECT_EQ(reductions, 1);
}

}  // namespace
}  // namespace sinter::group_shape_test
