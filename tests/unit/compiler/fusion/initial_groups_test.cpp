// Initial groups: each value shares a group with its readers if only one group reads it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/fusion/fusion_evaluator.h"
#include "compiler/fusion/group.h"
#include "sinter/text.h"

namespace sinter::initial_groups_test {
namespace {

using testing::ElementsAre;

/// The initial groups of a graph in text form.
class Grouped {
 public:
  explicit Grouped(const std::string& text,
                   Groups::InitialGroups initial = Groups::InitialGroups::fanout_free)
      : graph_(parse(text)), groups(graph_.data(), names_, work_, initial) {}

  /// The names of each group's nodes, in order of the groups.
  std::vector<std::string> all() const {
    std::vector<std::string> result;
    for (int group = 0; group < groups.size(); ++group)
      result.push_back(names(groups[group].nodes));
    return result;
  }
  std::string names(const Nodes& nodes) const {
    std::string result;
    for (const Node* node : nodes) result += (result.empty() ? "" : " ") + groups.name(node);
    return result;
  }

 private:
  Graph graph_;
  LazyValueNames names_;
  PlanWork work_;

 public:
  Groups groups;
};

TEST(GroupBegin, ValuesWithOneReadingGroupAreInThatGroup) {
  const Grouped grouped(
      "graph g(x: f32[64, 256], y: f32[64, 256]) {\n"
      "  a = tanh x\n  b = exp a\n  c = sin a\n  d = mul b, c\n  e = add d, y\n"
      "  return e\n}\n");
  EXPECT_THAT(grouped.all(), ElementsAre("a b c d e"));
  EXPECT_EQ(grouped.names(grouped.groups[0].loads), "x y");
  EXPECT_EQ(grouped.names(grouped.groups[0].stores), "e");
}

TEST(GroupBegin, SingleNodes) {
  const Grouped grouped("graph g(x: f32[64, 256]) {\n  a = tanh x\n  b = exp a\n  return b\n}\n",
                        Groups::InitialGroups::single_nodes);
  EXPECT_THAT(grouped.all(), ElementsAre("a", "b"));
}

TEST(GroupBegin, ValuesReadBySeveralGroupsAreSeparate) {
  // Only s reads d, but s is a reduction. Only e reads s, but e has another shape.
  const Grouped grouped(
      "graph g(x: f32[64, 256]) {\n"
      "  a = tanh x\n  b = exp a\n  c = sin a\n  d = mul x, c\n"
      "  s = sum d {axes = [1], keep = true}\n  e = add b, s\n"
      "  return e\n}\n");
  EXPECT_THAT(grouped.all(), ElementsAre("a", "c d", "s", "b e"));
}

TEST(GroupBegin, ResultsAndPermutedOperandsAreSeparate) {
  const Grouped grouped(
      "graph g(x: f32[64, 64]) {\n"
      "  a = tanh x\n  b = exp a\n  c = permute b {axes = [1, 0]}\n  d = mul c, 2.0\n"
      "  return a, d\n}\n");
  EXPECT_THAT(grouped.all(), ElementsAre("a", "b", "d"));
}

TEST(GroupBegin, WidenedValuesAreSeparate) {
  // b and c read h. They could read a instead, which is half as large.
  const Grouped grouped(
      "graph g(x: bf16[64, 256]) {\n"
      "  a = tanh x\n  h = cast a {to = f32}\n"
      "  b = sum h {axes = [1], keep = true}\n  c = exp h\n"
      "  return b, c\n}\n");
  EXPECT_THAT(grouped.all(), ElementsAre("a", "h", "b", "c"));
}

TEST(GroupBegin, GroupsRespectKernelLimits) {
  std::string text = "graph g(x0: f32[64]";
  for (int i = 1; i < 60; ++i) text += fmt::format(", x{}: f32[64]", i);
  text += ") {\n  y0 = tanh x0\n";
  for (int i = 1; i < 60; ++i) text += fmt::format("  y{} = add y{}, x{}\n", i, i - 1, i);
  const Grouped wide(text + "  return y59\n}\n");
  EXPECT_EQ(wide.groups.size(), 3);
  for (int group = 0; group < wide.groups.size(); ++group)
    EXPECT_LE(wide.groups.arguments(group), kMaxArguments);

  text = "graph g(x: f32[64]) {\n  y0 = tanh x\n";
  for (int i = 1; i < 600; ++i) text += fmt::format("  y{} = sin y{}\n", i, i - 1);
  const Grouped deep(text + "  return y599\n}\n");
  EXPECT_EQ(deep.groups.size(), 10);
  for (int group = 0; group < deep.groups.size(); ++group)
    EXPECT_LE(deep.groups[group].nodes.size(), kMaxNodes / 8);
}

}  // namespace
}  // namespace sinter::initial_groups_test
