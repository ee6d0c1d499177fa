// Costs of groups with a regular pattern, which need no body, equal the costs of their bodies.
#include "compiler/cost/group_pattern.h"
#include "compiler/body/body_request.h"
#include "compiler/cost/cost.h"

#include <gtest/gtest.h>

#include "compiler/fusion/group.h"
#include "compiler/plan.h"
#include "tests/support/graphs/large_graphs.h"

namespace sinter::group_pattern_test {
namespace {

/// The initial groups of a graph after all passes before fusion. The tests merge them.
class Grouped {
 public:
  explicit Grouped(const Graph& graph, std::vector<std::int64_t> symbols = {})
      : program_(plan(graph, target, {.symbols = symbols}, {.fuse = false})),
        facts{.symbols = std::move(symbols)},
        groups(program_.graph->data(), *program_.lazy_names, program_.work,
               Groups::InitialGroups::single_nodes),
        sizes_(program_.graph->data(), facts) {}

  /// The cost of `group`, or nullopt if the cost needs a body.
  std::optional<Cost> cost_without_body(int group) {
    const GroupPattern& pattern = groups[group].pattern;
    if (pattern.kind == GroupPattern::Kind::rows &&
        !reads_rows_once(pattern, max_kept_bytes(groups.contents(group, sizes_)), target, facts))
      return std::nullopt;
    return cost_of(pattern, groups.contents(group, sizes_), target, sizes_);
  }

  Cost cost_of_body(int group) const {
    const BodyAnswer answer = groups.body(groups.kernel_nodes(group),
                                          [&](const Node* node) { return groups.name(node); });
    EXPECT_EQ(answer.reason, "");
    return cost_of(answer.body, target, facts);
  }

  /// Merges each group with its readers while the union has a pattern. Compares all costs that need
  /// no body with those of bodies, and returns the number of comparisons.
  int compare_all() {
    int compared = 0;
    for (int group = 0; group < groups.size(); ++group) {
      compared += compare(group);
      for (const int consumer : groups.consumers(group)) {
        if (!groups[group].alive || !groups[consumer].alive) continue;
        const GroupPattern both = groups.union_pattern(group, consumer);
        Groups::Between between = groups.between(group, consumer);
        if (both.kind == GroupPattern::Kind::none ||
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

TEST(GroupPattern, CostsEqualThoseOfBodies) {
  for (const test::GraphFamily& family : test::graph_families()) {
    SCOPED_TRACE(family.name);
    Grouped grouped(family.record(400), family.symbols);
    EXPECT_GT(grouped.compare_all(), 300);
  }
}

/// A value that is several outputs, in equal or other layouts, or also updates an input.
TEST(GroupPattern, EveryPlaceOfAResultCounts) {
  Graph graph("places");
  const Tensor x = graph.input("x", f32, {64, 128});
  const Tensor total = graph.input("total", f32, {64, 128});
  const Tensor y = exp(x);
  graph.output("first", y);
  graph.output("second", y);
  graph.output("padded", y, {.strides = {160, 1}});
  const Tensor z = sin(x);
  graph.output("sine", z);
  graph.update(total, z);
  Grouped grouped(graph);
  constexpr double kBytes = 64 * 128 * 4;
  std::vector<double> written;
  for (int group = 0; group < grouped.groups.size(); ++group)
    written.push_back(grouped.cost_of_body(group).bytes_written);
  EXPECT_EQ(written, (std::vector<double>{3 * kBytes, 2 * kBytes}));
  EXPECT_EQ(grouped.compare_all(), 2);
}

TEST(GroupPattern, DistinguishesRowsFromColumns) {
  Graph graph("square");
  const Tensor x = graph.input("x", f32, {64, 64});
  graph.output("rows", x - sum(x, {1}, Keep::yes));
  graph.output("columns", x - sum(x, {0}, Keep::yes));
  const Grouped grouped(graph);
  const auto kind_of_reduction_of = [&](std::int64_t axis) {
    for (int group = 0; group < grouped.groups.size(); ++group) {
      const Node& node = *grouped.groups[group].nodes[0];
      if (is_reduction(node.op) && reduced_axes(node)[0] == axis)
        return grouped.groups[group].pattern.kind;
    }
    ADD_FAILURE() << "no reduction of axis " << axis;
    return GroupPattern::Kind::none;
  };
  EXPECT_EQ(kind_of_reduction_of(1), GroupPattern::Kind::rows);
  EXPECT_EQ(kind_of_reduction_of(0), GroupPattern::Kind::none);
}

TEST(GroupPattern, ViewsOfValuesNeedABody) {
  Graph graph("turned");
  const Tensor x = graph.input("x", f32, {64, 64});
  const Tensor y = exp(x);
  graph.output("z", y + permute(y, {1, 0}));
  const Grouped grouped(graph);
  const auto kind_of = [&](Op op) {
    for (int group = 0; group < grouped.groups.size(); ++group)
      if (grouped.groups[group].nodes[0]->op == op) return grouped.groups[group].pattern.kind;
    ADD_FAILURE() << "no such op";
    return GroupPattern::Kind::none;
  };
  EXPECT_EQ(kind_of(Op::exp), GroupPattern::Kind::plain);
  EXPECT_EQ(kind_of(Op::add), GroupPattern::Kind::none);
}

TEST(GroupPattern, LongRowsNeedABody) {
  Graph graph("long");
  const Tensor x = graph.input("x", f32, {4096, 1 << 17});
  graph.output("y", x - sum(x, {1}, Keep::yes));
  Grouped grouped(graph);
  int reductions = 0;
  for (int group = 0; group < grouped.groups.size(); ++group) {
    if (grouped.groups[group].pattern.kind != GroupPattern::Kind::rows) continue;
    ++reductions;
    EXPECT_FALSE(grouped.cost_without_body(group).has_value());
  }
  EXPECT_EQ(reductions, 1);
}

}  // namespace
}  // namespace sinter::group_pattern_test
