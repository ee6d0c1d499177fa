// Candidates that copy operands to shared memory: where they exist, and the bytes that their copies
// have in flight.
#include "compiler/candidates/copied_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "compiler/body_building/build_body.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/plan.h"
#include "compiler/tiling/copied_loads.h"
#include "ir/support/round_up.h"
#include "sinter/text.h"
#include "tests/support/graphs/copied_graphs.h"

namespace sinter::copied_candidates_test {
namespace {

using test::CopiedGraph;
using test::with_few_sms;
using ::testing::HasSubstr;
using ::testing::Not;

Program planned(const std::string& text, const Target& target,
                std::vector<std::int64_t> symbols = {}, std::int64_t alignment = 16) {
  return plan(parse(text), target, {.symbols = std::move(symbols), .alignment = alignment}, {});
}

/// The candidates of the only kernel with copies of one kind.
std::vector<Schedule> with(Copies copies, const Program& program) {
  std::vector<Schedule> result;
  for (const Schedule& schedule : program.kernels.at(0).candidates)
    if (schedule.copies == copies) result.push_back(schedule);
  return result;
}

constexpr const char* kScaled = R"(
graph scaled(x: f32[n]) {
  y = mul x, 0.5
  return y
})";
constexpr std::int64_t kLarge = 1 << 26;

TEST(CopiedCandidates, AreNeverTheDefault) {
  for (const std::string_view arch : known_archs()) {
    const Program program = planned(kScaled, *find_target(arch), {kLarge});
    EXPECT_EQ(program.kernels.at(0).schedule.copies, Copies::none) << arch;
    EXPECT_LE(program.kernels.at(0).candidates.size(), kMaxCandidates) << arch;
  }
}

TEST(CopiedCandidates, DependOnTheArchitecture) {
  for (const std::string_view arch : known_archs()) {
    const Program program = planned(kScaled, *find_target(arch), {kLarge});
    const int capability = compute_capability_of(arch);
    EXPECT_EQ(with(Copies::thread, program).empty(), capability < 80) << arch;
    EXPECT_EQ(with(Copies::bulk, program).empty(), capability < 90) << arch;
  }
}

/// With 64 registers per thread, the blocks of an SM have at least 64 KiB in flight.
TEST(CopiedCandidates, HaveEnoughBytesInFlight) {
  for (const CopiedGraph& graph : test::copied_graphs())
    for (const std::string_view arch : {"sm_80", "sm_86", "sm_90", "sm_100", "sm_120"}) {
      SCOPED_TRACE(fmt::format("{} on {}", graph.name, arch));
      const Target target = with_few_sms(arch);
      const std::int64_t n = graph.sizes.empty() ? 0 : graph.sizes[0].value;
      const Program program = planned(graph.text, target, {n});
      const Kernel& kernel = program.kernels.at(0);
      const Body body = body_of(program, kernel);
      int found = 0;
      for (const Schedule& schedule : kernel.candidates) {
        if (schedule.copies == Copies::none) continue;
        ++found;
        const std::vector<int> loads = copied_loads(body, schedule, program.facts);
        const std::int64_t bytes = stage_bytes(body, loads, schedule);
        const Source source = emit(program, kernel, schedule, "k");
        EXPECT_EQ(source.shared_bytes, copied_shared_bytes(bytes, schedule));
        EXPECT_EQ(source.copied_ahead, schedule.stages * bytes);
        const int blocks = blocks_per_sm(target, schedule.threads, 64, source.shared_bytes);
        EXPECT_GE(blocks * source.copied_ahead, 64 * 1024) << to_string(schedule);
        EXPECT_EQ(schedule.unroll % schedule.stages, 0);
        EXPECT_GE(schedule.stages, 2);
      }
      EXPECT_GE(found, target.compute_capability >= 90 ? 2 : 1);
    }
}

/// Blocks of row kernels have several groups of rows. A stage is in flight while the block computes
/// if the row is in registers by then.
TEST(CopiedCandidates, RowsAreComputedInTurn) {
  for (const CopiedGraph& graph : test::copied_row_graphs())
    for (const std::string_view arch : {"sm_80", "sm_90", "sm_100"}) {
      SCOPED_TRACE(fmt::format("{} on {}", graph.name, arch));
      const Target target = with_few_sms(arch);
      const std::int64_t rows = graph.sizes.empty() ? 300 : graph.sizes[0].value;
      const Program program = planned(graph.text, target, {rows});
      const Kernel& kernel = program.kernels.at(0);
      const Body body = body_of(program, kernel);
      int found = 0;
      for (const Schedule& schedule : kernel.candidates) {
        if (schedule.copies == Copies::none) continue;
        ++found;
        EXPECT_TRUE(schedule.resident && !schedule.in_shared && schedule.cluster == 1);
        EXPECT_GE(schedule.unroll, 3);
        const std::vector<int> loads = copied_loads(body, schedule, program.facts);
        const Source source = emit(program, kernel, schedule, "k");
        const bool keeps_loads = graph.name != "residual";
        EXPECT_EQ(source.copied_ahead, (keeps_loads ? schedule.stages : schedule.stages - 1) *
                                           stage_bytes(body, loads, schedule));
        EXPECT_LE(source.shared_bytes, target.shared_per_block_opt_in);
        const std::int64_t groups = divide_up<std::int64_t>(rows, schedule.rows_per_block);
        EXPECT_EQ(evaluate(source.grid, program.facts.symbols),
                  divide_up<std::int64_t>(groups, schedule.unroll));
      }
      EXPECT_EQ(found, target.compute_capability >= 90 ? 2 : 1);
    }
}

TEST(CopiedCandidates, LargeArraysFillStagesSeveralTimes) {
  const Program program = planned(kScaled, *find_target("h200"), {kLarge});
  const std::vector<Schedule> bulk = with(Copies::bulk, program);
  ASSERT_EQ(bulk.size(), 2U);
  EXPECT_GT(bulk[0].unroll, bulk[0].stages);
  EXPECT_EQ(bulk[1].unroll, bulk[1].stages);
  EXPECT_THAT(to_string(bulk[0]), HasSubstr("stages of bulk copies"));
  EXPECT_THAT(to_string(with(Copies::thread, program).at(0)),
              HasSubstr("stages of asynchronous copies"));
}

TEST(CopiedCandidates, AreAbsentForSmallArrays) {
  const Program program = planned(kScaled, *find_target("h200"), {1 << 18});
  EXPECT_TRUE(with(Copies::thread, program).empty());
  EXPECT_TRUE(with(Copies::bulk, program).empty());
}

TEST(CopiedCandidates, AreAbsentForMoreThanEightInputs) {
  std::string inputs;
  std::string statements;
  std::string sum = "x0";
  for (int i = 0; i < 9; ++i) {
    inputs += fmt::format("{}x{}: f32[n]", i == 0 ? "" : ", ", i);
    if (i == 0) continue;
    statements += fmt::format("  s{0} = add {1}, x{0}\n", i, sum);
    sum = fmt::format("s{}", i);
  }
  const Program program =
      planned(fmt::format("graph sum({}) {{\n{}  return {}\n}}", inputs, statements, sum),
              *find_target("h200"), {kLarge});
  EXPECT_TRUE(with(Copies::thread, program).empty());
  EXPECT_TRUE(with(Copies::bulk, program).empty());
}

/// A bulk copy needs addresses that are multiples of 16 bytes, and cp.async those of its size.
TEST(CopiedCandidates, RespectTheAlignmentOfPointers) {
  for (const std::int64_t alignment : {4, 8, 16}) {
    const Program program = planned(R"(
graph sum(a: f32[n], b: bf16[n]) {
  h = cast b {to = f32}
  y = add a, h
  return y
})",
                                    with_few_sms("sm_90"), {100000}, alignment);
    EXPECT_EQ(with(Copies::bulk, program).empty(), alignment < 16) << alignment;
    for (const Schedule& schedule : with(Copies::thread, program)) {
      const Body body = body_of(program, program.kernels[0]);
      for (const int load : copied_loads(body, schedule, program.facts))
        EXPECT_LE(schedule.vector * size_of(body.values[static_cast<std::size_t>(load)].dtype),
                  alignment);
    }
  }
}

/// Only contiguous operands are copied. The others are loaded, in the tail and in complete tiles.
TEST(CopiedCandidates, LoadOtherOperandsAsBefore) {
  const Program program = planned(R"(
graph gated(x: f32[300, 512], both: f32[300, 1024], bias: f32[512]) {
  g = slice both {axis = 1, begin = 512, end = 1024, step = 1}
  s = mul x, g
  y = add s, bias
  return y
})",
                                  with_few_sms("sm_90"));
  for (const Copies copies : {Copies::thread, Copies::bulk})
    for (const Schedule& schedule : with(copies, program)) {
      const std::string text = emit(program, program.kernels[0], schedule, "k").text;
      EXPECT_THAT(text, HasSubstr("x_tile"));
      EXPECT_THAT(text, HasSubstr("load<4>(both_in"));
      EXPECT_THAT(text, HasSubstr("load<4>(bias_in"));
      EXPECT_THAT(text, Not(HasSubstr("both_tile")));
      EXPECT_THAT(text, Not(HasSubstr("bias_tile")));
    }
}

TEST(CopiedCandidates, SectionsOfALaunchHaveNoCopies) {
  const Program program = planned(R"(
graph two(x: f32[100000], z: f32[70000]) {
  y = mul x, 0.5
  w = add z, 1.0
  return y, w
})",
                                  with_few_sms("sm_90"));
  ASSERT_EQ(program.kernels.size(), 1U);
  ASSERT_EQ(program.kernels[0].sections.size(), 2U);
  for (const Kernel& section : program.kernels[0].sections)
    EXPECT_TRUE(std::ranges::any_of(section.candidates, [](const Schedule& schedule) {
      return schedule.copies != Copies::none;
    }));
  for (const Schedule& schedule : program.kernels[0].candidates)
    for (const Schedule& section : schedule.sections) EXPECT_EQ(section.copies, Copies::none);
}

}  // namespace
}  // namespace sinter::copied_candidates_test
