// plan: compiles a recorded graph into a scheduled program.
#include "compiler/plan.h"

#include "compiler/program/print_program.h"
#include "compiler/simplify/graph_sweep.h"
#include "sinter/error.h"
#include "sinter/ops.h"
#include "sinter/text.h"
#include "tests/support/graphs/rewritten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

const Target& target() { return known_targets()[0]; }

Graph softmax_graph() {
  return parse(graph_text("x: f32[rows, 1024]",
                          "m = max x {axes = [-1], keep = true}; s = sub x, m; e = exp s;"
                          "t = sum e {axes = [-1], keep = true}; y = div e, t; return y"));
}

TEST(PlanTest, SoftmaxIsOneKernel) {
  const Program program = plan(softmax_graph(), target(), {.symbols = {64}});
  EXPECT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.recorded_ops, 5);
}

TEST(PlanTest, DoesNotChangeTheGraph) {
  Graph graph = parse(graph_text("x: bf16[8, 64]", "m = mean x {axes = [1]}; return m"));
  const std::string before = print(graph);
  const std::size_t nodes = graph.data().nodes.size();
  plan(graph, target(), {});
  EXPECT_EQ(print(graph), before);
  EXPECT_EQ(graph.data().nodes.size(), nodes);
}

TEST(PlanTest, DumpsEveryStageInOrder) {
  std::vector<std::string> stages;
  PlanOptions options;
  options.dump = [&](std::string_view stage, const std::string&) { stages.emplace_back(stage); };
  plan(softmax_graph(), target(), {.symbols = {64}}, options);
  EXPECT_THAT(stages,
              ElementsAre("lower", "fold", "simplify", "fuse", "schedule", "fuse_launches"));
}

TEST(PlanTest, UnfusedIsOneKernelPerOp) {
  const Program program = plan(softmax_graph(), target(), {.symbols = {64}}, {.fuse = false});
  EXPECT_EQ(program.kernels.size(), 5U);
}

TEST(PlanTest, KernelsListTheirReadsInBufferOrder) {
  // The first two kernels are equal, so they share a schedule. The third has another one.
  const Program program =
      plan(parse(graph_text("x: f32[64], y: f32[64], z: f32[64]",
                            "a = sub y, x; b = sub z, y; c = atan2 z, x; return a, b, c")),
           target(), {}, {.fuse = false});
  ASSERT_EQ(program.kernels.size(), 3U);
  EXPECT_THAT(program.kernels[0].reads, ElementsAre(0, 1));
  EXPECT_THAT(program.kernels[1].reads, ElementsAre(1, 2));
  EXPECT_THAT(program.kernels[2].reads, ElementsAre(0, 2));
}

TEST(PlanTest, SkippingFuseIsUnfused) {
  const Program program = plan(softmax_graph(), target(), {.symbols = {64}}, {.skip = {"fuse"}});
  EXPECT_EQ(program.kernels.size(), 5U);
}

TEST(PlanTest, FusedAndUnfusedShareTheSimplifiedGraph) {
  const Program fused = plan(softmax_graph(), target(), {.symbols = {64}});
  const Program unfused = plan(softmax_graph(), target(), {.symbols = {64}}, {.fuse = false});
  EXPECT_EQ(print(*fused.graph), print(*unfused.graph));
}

TEST(PlanTest, SkippingSimplifyKeepsTheRecordedOps) {
  const Graph graph = parse(graph_text("x: f32[8]", "y = mul x, 1.0; z = exp y; return z"));
  EXPECT_THAT(print(*plan(graph, target(), {}, {.skip = {"simplify"}}).graph),
              HasSubstr("mul x, 1.0"));
  EXPECT_THAT(print(*plan(graph, target(), {}).graph), Not(HasSubstr("mul x, 1.0")));
}

TEST(PlanTest, ProgramHasTheGuardsOfLowering) {
  const Graph graph = parse(graph_text("x: f32[rows, 1024]", "y = sum x; return y"));
  const Program program = plan(graph, target(), {.symbols = {8}});
  const std::int64_t same[] = {8}, longer[] = {17};
  EXPECT_TRUE(holds(program, same));
  EXPECT_THAT(broken_guard(program, longer),
              HasSubstr("axes of up to 16384 elements are one level of a reduction"));
}

TEST(PlanTest, RemovesUnusedNodes) {
  const Graph graph = parse(graph_text("x: f32[8]", "y = mul x, 1.0; z = exp y; return z"));
  const Program program = plan(graph, target(), {});
  EXPECT_EQ(program.graph->data().nodes.size(), reachable(program.graph->data()).size());
}

TEST(PlanTest, RejectsAGraphWithoutResult) {
  Graph graph("nothing");
  graph.input("x", f32, {8});
  EXPECT_THAT([&] { plan(graph, target(), {}); },
              ThrowsMessage<UserError>(HasSubstr("graph nothing has no output and no update")));
}

TEST(PlanTest, NamesThePassThatFailed) {
  EXPECT_THAT([&] { plan(softmax_graph(), target(), {}); },
              ThrowsMessage<InternalError>(HasSubstr("failed in lower: ")));
}

TEST(PrintProgramTest, ShowsKernelsWithStatementsStoresAndSpace) {
  std::string fused;
  PlanOptions options;
  options.dump = [&](std::string_view stage, const std::string& text) {
    if (stage == "fuse") fused = text;
  };
  plan(softmax_graph(), target(), {.symbols = {64}}, options);
  EXPECT_EQ(fused,
            "program g: 1 kernel of 5 recorded ops\n"
            "kernel g_0\n"
            "  m = max x {axes = [1], keep = true}: f32[rows, 1]\n"
            "  s = sub x, m: f32[rows, 1024]\n"
            "  e = exp s: f32[rows, 1024]\n"
            "  t = sum e {axes = [1], keep = true}: f32[rows, 1]\n"
            "  y = div e, t: f32[rows, 1024]\n"
            "  store y in output y\n");
}

TEST(PrintProgramTest, ShowsSchedulesBoundariesAndOrder) {
  const Program program = plan(softmax_graph(), target(), {.symbols = {64}}, {.fuse = false});
  const std::string text = print(program);
  EXPECT_THAT(text, HasSubstr("kernel g_1: pointwise over "));
  EXPECT_THAT(text, HasSubstr("  store m in temporary m\n"));
  EXPECT_THAT(text, HasSubstr("  after g_0\n"));
  EXPECT_THAT(text, HasSubstr("  schedule threads "));
  EXPECT_THAT(text, HasSubstr("boundary g_0 | g_1 (256.5 KiB): fusion is off\n"));
}

TEST(PlanTest, BoundariesCountTheirBytes) {
  const Program program = plan(softmax_graph(), target(), {.symbols = {64}}, {.fuse = false});
  // m is stored and loaded, 64 values of 4 bytes; s and x are as large as x.
  ASSERT_GE(program.boundaries.size(), 2u);
  EXPECT_EQ(program.boundaries[0].bytes, 2.0 * 64 * 4 + 64 * 1024 * 4);
}

}  // namespace
}  // namespace sinter::plan_test
