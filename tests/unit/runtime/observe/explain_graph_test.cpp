// The role of each recorded value in an explanation: computed by kernels, read through as a view,
// or simplified away.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/error.h"
#include "sinter/explain.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"

namespace sinter::explain_graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const RecordedNode& node(const Explanation& explanation, const std::string& name) {
  const auto found = std::ranges::find(explanation.nodes, name, &RecordedNode::name);
  if (found == explanation.nodes.end()) throw InternalError("no node " + name);
  return *found;
}

TEST(ExplainGraphTest, ReportsComputedViewedAndSimplifiedValues) {
  const Explanation explanation = explain(parse(R"(graph g(x: f32[64, 256], s: f32) {
  t = permute x {axes = [1, 0]}
  same = add t, 0
  twice = neg same
  back = neg twice
  y = mul back, s
  return y
})"));
  EXPECT_EQ(node(explanation, "x").role, "input");
  EXPECT_EQ(node(explanation, "s").role, "scalar");
  EXPECT_EQ(node(explanation, "t").role, "view");
  EXPECT_THAT(node(explanation, "t").groups, ElementsAre("g_0"));
  EXPECT_EQ(node(explanation, "back").role, "simplified");
  EXPECT_THAT(node(explanation, "back").groups, ElementsAre("g_0"));
  const RecordedNode& y = node(explanation, "y");
  EXPECT_EQ(y.role, "computed");
  EXPECT_EQ(y.text, "y = mul back, s");
  EXPECT_EQ(y.dtype + y.shape, "f32[256, 64]");
  EXPECT_EQ(y.place, "text:6");
  EXPECT_THAT(y.groups, ElementsAre("g_0"));
  EXPECT_THAT(y.outputs, ElementsAre("y"));
  EXPECT_EQ(explanation.nodes[static_cast<std::size_t>(y.operands[0])].name, "back");
}

TEST(ExplainGraphTest, RecomputedValuesHaveSeveralGroups) {
  const Explanation explanation = explain(parse(R"(graph g(x: f32[4096, 4096]) {
  e = exp x
  rows = sum e {axes = [1], keep = false}
  total = sum rows {axes = [0], keep = false}
  columns = sum e {axes = [0], keep = false}
  return total, columns
})"),
                                          {}, {.skip = {"fuse_launches"}});
  EXPECT_GE(node(explanation, "e").groups.size(), 1U);
  const auto reader = std::ranges::find_if(explanation.groups, [](const GroupExplanation& group) {
    return std::ranges::any_of(group.reads, [](const ArrayUse& use) { return !use.from.empty(); });
  });
  ASSERT_NE(reader, explanation.groups.end());
  EXPECT_EQ(reader->reads[0].kind, "temporary");
  EXPECT_THAT(reader->reads[0].from, ElementsAre(explanation.groups[0].name));
}

TEST(ExplainGraphTest, ReportsTheTargetsOfUpdates) {
  const Explanation explanation = explain(parse(R"(graph g(w: f32[64], d: f32[64]) {
  n = sub w, d
  update w, n
})"));
  EXPECT_EQ(node(explanation, "n").updates, "w");
  EXPECT_THAT(node(explanation, "n").outputs, IsEmpty());
}

TEST(ExplainGraphTest, AddsAProfileOfTheSameGraph) {
  Explanation explanation =
      explain(parse("graph g(x: f32[rows]) { y = exp x\n return y }"), {{"rows", 4096}});
  Profile profile{.graph = "g", .device = "a GPU", .sizes = {"rows = 4096"}, .caches = "cold"};
  profile.kernels.push_back({.name = "g_0", .launches = 1, .median_us = 2.5});
  add_profile(explanation, profile);
  ASSERT_TRUE(explanation.kernels[0].measured.has_value());
  EXPECT_EQ(explanation.kernels[0].measured->median_us, 2.5);
  EXPECT_EQ(explanation.measured_on, "a GPU; cold");
  EXPECT_NE(explanation_json(explanation).find("\"median_us\": 2.5"), std::string::npos);
}

TEST(ExplainGraphTest, RejectsMeasurementsOfOtherGraphs) {
  Explanation explanation =
      explain(parse("graph g(x: f32[rows]) { y = exp x\n return y }"), {{"rows", 4096}});
  EXPECT_EQ(
      test::error_of([&] { add_profile(explanation, {.graph = "h"}); }),
      "the profile of h with 0 kernels does not belong to g with 1 kernels: explain the graph "
      "that was run, for its sizes, options and target");
  Profile other{.graph = "g", .sizes = {"rows = 8"}};
  other.kernels.resize(1);
  EXPECT_EQ(test::error_of([&] { add_profile(explanation, other); }),
            "the profile of g is for rows = 8, but the explanation is for rows = 4096: explain it "
            "for those sizes");
  EXPECT_EQ(test::error_of([&] { add_tuning(explanation, {.graph = "g"}); }),
            "the report of g with 0 kernels does not belong to g with 1 kernels: explain the graph "
            "that was run, for its sizes, options and target");
}

TEST(ExplainGraphTest, AddsTheTuningTableOfAReport) {
  Explanation explanation = explain(parse("graph g(x: f32[4096]) { y = exp x\n return y }"));
  EXPECT_FALSE(explanation.kernels[0].report.candidates.empty());
  EXPECT_EQ(explanation.kernels[0].report.candidates[0].median_us, 0);
  Report report{.graph = "g", .device = "a GPU"};
  report.kernels.push_back({.name = "g_1f"});
  report.kernels[0].candidates = {{.schedule = "threads 64", .median_us = 3, .chosen = true}};
  report.kernels[0].tuning = "1 candidate";
  add_tuning(explanation, report);
  ASSERT_EQ(explanation.kernels[0].report.candidates.size(), 1U);
  EXPECT_EQ(explanation.kernels[0].report.candidates[0].median_us, 3);
  EXPECT_EQ(explanation.kernels[0].report.tuning, "1 candidate");
  EXPECT_EQ(explanation.measured_on, "a GPU");
}

}  // namespace
}  // namespace sinter::explain_graph_test
