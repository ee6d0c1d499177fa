// Horizontal fusion: which kernels share a launch, and the boundary reasons of those that do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::fuse_launches_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Program planned(const std::string& text, std::vector<std::int64_t> symbols = {},
                std::vector<std::string> skip = {}) {
  return plan(parse(text), *find_target("h200"), {.symbols = std::move(symbols)},
              {.skip = std::move(skip)});
}

/// Subtracts a multiple of each channel's sum. The sum is available only after all its blocks
/// finish.
std::string centred(int batch, int size) {
  return fmt::format(R"(
graph centred(x: f32[{}, 64, {}]) {{
  s = sum x {{axes = [0, 2], keep = true}}
  m = mul s, 0.001
  y = sub x, m
  return y
}})",
                     batch, size);
}

Source emitted(const Program& program) {
  const Kernel& kernel = program.kernels.at(0);
  return emit(program, kernel, kernel.schedule, kernel.name);
}

TEST(FuseLaunchesTest, ResultsOfDifferentSizesShareALaunch) {
  const Program program = planned(R"(
graph two(x: f32[4096], z: f32[100, 3]) {
  y = exp x
  s = sum z {axes = [1]}
  return y, s
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.kind, KernelKind::horizontal);
  EXPECT_THAT(kernel.sections, ElementsAre(Field(&Kernel::phase, 0), Field(&Kernel::phase, 0)));
  const Source source = emitted(program);
  EXPECT_FALSE(source.is_cooperative);
  EXPECT_THAT(source.text, AllOf(HasSubstr("if (block < "), Not(HasSubstr("grid_barrier"))));
  EXPECT_TRUE(source.tickets.is(0));
  Extent blocks = 0;
  for (std::size_t i = 0; i < kernel.sections.size(); ++i)
    blocks =
        blocks + emit(program, kernel.sections[i], kernel.schedule.sections[i], "section").grid;
  EXPECT_EQ(source.grid, blocks);
}

TEST(FuseLaunchesTest, ConsumersAreInALaterPhase) {
  const Program program = planned(centred(32, 1024));
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_EQ(phases(program.kernels[0]), 3);  // two levels of the sum, then its consumer
  const Source source = emitted(program);
  EXPECT_TRUE(source.is_cooperative);
  EXPECT_TRUE(source.has_barrier);
  EXPECT_THAT(source.text, HasSubstr("grid_barrier"));
  EXPECT_THAT(source.text, Not(HasSubstr("grid_depart")));  // two barriers leave the counter at 0
  ASSERT_FALSE(program.boundaries.empty());
  for (const Boundary& boundary : program.boundaries) EXPECT_TRUE(boundary.is_inside);
  EXPECT_EQ(program.boundaries[0].producer, "centred_0_0");
  EXPECT_EQ(program.boundaries[0].consumer, "centred_0_1");
}

TEST(FuseLaunchesTest, OddNumberOfBarriersEndsWithADeparture) {
  const Program program = planned(R"(
graph odd(x: f32[512, 512]) {
  s = sum x {axes = [1], keep = true}
  d = sub x, s
  t = sum d {axes = [0], keep = true}
  u = sub d, t
  return u
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  ASSERT_EQ(phases(program.kernels[0]), 2);
  EXPECT_THAT(emitted(program).text, HasSubstr("grid_depart(tickets);"));
}

TEST(FuseLaunchesTest, TheLastBlockRunsASmallTail) {
  const Program program = planned(centred(128, 32768));
  ASSERT_THAT(program.kernels, SizeIs(2));
  EXPECT_TRUE(program.kernels[0].has_tail);
  const Source source = emitted(program);
  EXPECT_FALSE(source.is_cooperative);
  EXPECT_THAT(source.text, AllOf(HasSubstr("(tickets, gridDim.x)) return;"),
                                 Not(HasSubstr("grid_barrier"))));
}

TEST(FuseLaunchesTest, LargeKernelsAreSeparateLaunches) {
  const Program program = planned(centred(128, 32768));
  ASSERT_THAT(program.kernels, SizeIs(2));
  EXPECT_THAT(program.kernels[1].depends_on, ElementsAre(0));
  const auto names_the_barrier = [](const Boundary& boundary) {
    return !boundary.is_inside &&
           boundary.reason.find("blocks that wait for one another") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(program.boundaries, names_the_barrier));
}

TEST(FuseLaunchesTest, MoreRowsPerBlockDoNotOverflowSharedMemory) {
  // The rows fit only in shared memory, and the other section has larger blocks.
  const Program program = planned(R"(
graph beside(x: f32[264, 50000], z: f32[100000]) {
  y = softmax x {axis = 1}
  e = exp z
  return y, e
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  for (const Schedule& schedule : kernel.candidates)
    EXPECT_LE(emit(program, kernel, schedule, "beside").shared_bytes,
              find_target("h200")->shared_per_block_opt_in);
  const auto is_resident = [](const Schedule& section) { return section.in_shared; };
  EXPECT_TRUE(std::ranges::any_of(kernel.schedule.sections, is_resident));
}

TEST(FuseLaunchesTest, OnlyKernelsWithoutGridBarriersMayStartEarly) {
  const std::string text = centred(128, 32768);
  const Program separate = planned(text, {}, {"fuse_launches"});
  for (const Kernel& kernel : separate.kernels) {
    const Source source = emit(separate, kernel, kernel.schedule, "k");
    EXPECT_TRUE(source.may_start_early);
    // This comes first, because earlier launches may still write the operands.
    EXPECT_THAT(source.text, HasSubstr(") {\n  wait_for_prior_launches();\n"));
  }
  const Program cooperative = planned(centred(32, 1024));
  const Source source = emitted(cooperative);
  ASSERT_TRUE(source.is_cooperative);
  EXPECT_FALSE(source.may_start_early);
  EXPECT_THAT(source.text, Not(HasSubstr("wait_for_prior_launches")));
  // GPUs before sm_90 do not support early starts.
  const Program old = plan(parse(text), *find_target("sm_80"), {}, {});
  for (const Kernel& kernel : old.kernels)
    EXPECT_FALSE(emit(old, kernel, kernel.schedule, "k").may_start_early);
}

TEST(FuseLaunchesTest, CanBeSkipped) {
  const Program program = planned(centred(32, 1024), {}, {"fuse_launches"});
  EXPECT_THAT(program.kernels, SizeIs(3));
  for (const Kernel& kernel : program.kernels) EXPECT_THAT(kernel.sections, SizeIs(0));
}

TEST(FuseLaunchesTest, SectionsHaveTheThreadsOfTheLaunch) {
  const Program program = planned(centred(32, 1024));
  const Kernel& kernel = program.kernels.at(0);
  EXPECT_LE(kernel.candidates.size(), 12u);
  for (const Schedule& schedule : kernel.candidates) {
    ASSERT_EQ(schedule.sections.size(), kernel.sections.size());
    for (const Schedule& section : schedule.sections) EXPECT_EQ(section.threads, schedule.threads);
  }
}

/// `count` + 1 independent kernels whose row lengths are not multiples of a vector.
std::string past_the_ends_of_rows(int count) {
  std::string text;
  std::string parameters;
  std::string results;
  for (int i = 0; i < count; ++i) {
    parameters += fmt::format("{0}x{1}: bf16[40, 33], b{1}: bf16[33]", i == 0 ? "" : ", ", i);
    text += fmt::format("  y{0} = add x{0}, b{0}\n", i);
    results += fmt::format("{}y{}", i == 0 ? "" : ", ", i);
  }
  return fmt::format(
      "graph past(z: bf16[64, 35], c: bf16[35], {}) {{\n  s = add z, c\n{}  return s, {}\n}}",
      parameters, text, results);
}

TEST(FuseLaunchesTest, VectorsOfSectionsMayCrossRows) {
  const Program program = planned(past_the_ends_of_rows(1));
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_THAT(kernel.sections, SizeIs(2));
  for (const Schedule& section : kernel.schedule.sections) {
    EXPECT_TRUE(section.is_flat);
    EXPECT_EQ(section.vector, 8);
  }
}

TEST(FuseLaunchesTest, VectorsOfForeachListsDoNotCrossRows) {
  const Program program = planned(past_the_ends_of_rows(9));
  const Kernel& kernel = program.kernels.at(0);
  ASSERT_THAT(kernel.sections, SizeIs(10));
  for (std::size_t i = 0; i < kernel.sections.size(); ++i)
    EXPECT_EQ(kernel.schedule.sections[i].is_flat, kernel.sections[i].foreach_list < 0) << i;
  EXPECT_TRUE(std::ranges::any_of(kernel.sections,
                                  [](const Kernel& section) { return section.foreach_list >= 0; }));
}

TEST(FuseLaunchesTest, ResultsOfOtherSectionsBypassTheNonCoherentCache) {
  const std::string text = emitted(planned(centred(32, 1024))).text;
  EXPECT_THAT(text, HasSubstr("const float* __restrict__ x_in"));
  EXPECT_THAT(text, Not(HasSubstr("const float* __restrict__ s_in")));
}

TEST(FuseLaunchesTest, LongChainsAreSplitIntoSeveralLaunches) {
  std::string text = "graph chain(x: f32[64, 64]) {\n";
  std::string last = "x";
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("  s{0} = sum {1} {{axes = [{2}], keep = true}}\n  y{0} = sub {1}, s{0}\n",
                        i, last, i % 2);
    last = fmt::format("y{}", i);
  }
  const Program program = planned(text + "  return " + last + "\n}\n");
  EXPECT_GT(program.kernels.size(), 1u);
  for (const Kernel& kernel : program.kernels) {
    EXPECT_LE(kernel.sections.size(), 24u);
    EXPECT_LE(phases(kernel), 16);
  }
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    for (const int before : program.kernels[i].depends_on) EXPECT_LT(before, static_cast<int>(i));
}

}  // namespace
}  // namespace sinter::fuse_launches_test
