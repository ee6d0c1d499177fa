// Foreach updates, as in optimisers: arrays of many shapes in one launch, whose addresses are in a
// table. The table is a kernel parameter or in device memory.
#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/driver/host/host_driver.h"
#include "tests/support/graphs/lists.h"
#include "tests/support/run/run.h"

namespace sinter::test::foreach_host_test {
namespace {

using testing::Each;
using testing::SizeIs;

TEST(Foreach, WithATableInMemoryIsOneLaunch) {
  const RunResult run = run_and_check(adamw_text(100));
  EXPECT_EQ(run.launches, 1);
}

TEST(Foreach, IsOneLaunch) {
  const RunResult run = run_and_check(adamw_text(18));
  EXPECT_EQ(run.launches, 1);
  ASSERT_THAT(run.report.kernels, SizeIs(1));
  EXPECT_THAT(run.report.kernels[0].sections, SizeIs(18));
}

TEST(Foreach, HalfTypesAtMisalignedAddresses) {
  const RunResult run = run_and_check(adamw_text(9, "bf16"), {}, {.misaligned = true});
  EXPECT_EQ(run.launches, 1);
}

/// The launch reads the gradients twice: for their norm and for the step.
TEST(Foreach, ClippingIsInTheSameLaunch) {
  constexpr std::int64_t kElements =
      4 * (64 * 48 + 48 + 192 * 48 + 1 + 33 * 7 + 48 * 64 + 57 + 2 * 3 * 5 + 96 * 48);
  const RunResult run = run_and_check(clip_adamw_text(36));
  EXPECT_EQ(run.launches, 1);
  EXPECT_GE(run.bytes_read, kElements * (2 + 3) * 4);
  EXPECT_LE(run.bytes_read, kElements * (2 + 3) * 4 * 101 / 100);
  EXPECT_GE(run.bytes_written, kElements * 3 * 4);
  EXPECT_LE(run.bytes_written, kElements * 3 * 4 * 101 / 100);
}

/// Without launch fusion: the norm has its own launch, so no grid barrier is needed.
TEST(Foreach, ClippingWorksInSeparateLaunches) {
  run_and_check(clip_adamw_text(12, "bf16"), {}, {.options = {.skip = {"fuse_launches"}}});
}

/// Symbolic sizes, so that the table changes between runs.
TEST(Foreach, SymbolicSizes) {
  std::string sizes;
  for (int i = 0; i < 12; ++i) sizes += fmt::format("{}x{}: f32[n, {}]", i ? ", " : "", i, i + 3);
  const std::string text = fmt::format("graph scaled({}) {{\n{}\n  return {}\n}}\n", sizes,
                                       repeated("  a# = mul x#, 2.5\n  y# = tanh a#", 12, "\n"),
                                       repeated("y#", 12, ", "));
  for (const std::int64_t n : {1, 7, 64, 0}) {
    const RunResult run = run_and_check(text, {{"n", n}});
    EXPECT_EQ(run.launches, n == 0 ? 0 : 1) << n;
  }
}

/// Row reductions of one shape share their code. Later sections read their results.
TEST(Foreach, EqualRows) {
  const std::string text =
      fmt::format("graph rows({}) {{\n{}\n  return {}\n}}\n", repeated("x#: f32[33, 96]", 10, ", "),
                  repeated("  y# = softmax x# {axis = 1}\n  t# = sum y# {axes = [0]}", 10, "\n"),
                  repeated("y#, t#", 10, ", "));
  const RunResult run = run_and_check(text);
  EXPECT_EQ(run.launches, 1);
}

/// Each section has its own scratch memory.
TEST(Foreach, SplitReductions) {
  const std::string text =
      fmt::format("graph sums({}) {{\n{}\n  return {}\n}}\n", repeated("x#: f32[70000]", 9, ", "),
                  repeated("  y# = sum x#", 9, "\n"), repeated("y#", 9, ", "));
  const RunResult run = run_and_check(text);
  EXPECT_EQ(run.launches, 1);
}

/// More shapes than one launch supports. Each launch takes all arrays of some shapes.
TEST(Foreach, ManyShapes) {
  constexpr int kShapes = 26;
  std::string inputs;
  std::string norms;
  for (int i = 0; i < 3 * kShapes; ++i) {
    inputs += fmt::format("x{}: f32[{}], ", i, 40 + 7 * (i % kShapes));
    norms += fmt::format("{}n{}", i == 0 ? "" : ", ", i);
  }
  const RunResult run = run_and_check(
      "graph scaled(" + inputs + "lr: f32) {\n" +
      repeated("  s# = sum x#\n  n# = reshape s# {shape = [1]}\n", 3 * kShapes, "") +
      "  norms = concat " + norms + " {axis = 0}\n  total = sum norms\n  by = mul total, lr\n" +
      repeated("  y# = mul x#, by\n", 3 * kShapes, "") + "  return " +
      repeated("y#", 3 * kShapes, ", ") + "\n}\n");
  EXPECT_LE(run.launches, 3);
}

/// The number of arrays. The table of 12 is a parameter, that of 180 is in device memory.
class ForeachTables : public testing::TestWithParam<std::size_t> {};

/// Consecutive runs on different arrays, without waiting in between.
TEST_P(ForeachTables, EachRunHasItsOwnTable) {
  const std::size_t count = GetParam();
  constexpr int kRuns = 5;
  const Graph graph = parse(fmt::format(
      "graph doubled({}) {{\n{}\n  return {}\n}}\n", repeated("x#: f32[1000]", count, ", "),
      repeated("  y# = mul x#, 2", count, "\n"), repeated("y#", count, ", ")));
  const Device device = host_device();
  const Executable executable = compile(graph, device);
  Context context = executable.context();
  const Stream stream = device.stream();
  // Bindings refer to their names and arrays, so these must outlive them.
  std::vector<std::string> names[2];
  for (std::size_t i = 0; i < count; ++i) {
    names[0].push_back(fmt::format("x{}", i));
    names[1].push_back(fmt::format("y{}", i));
  }
  std::vector<std::array<Array, 2>> arrays;
  for (int run = 0; run < kRuns; ++run)
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<float> numbers(1000, static_cast<float>(100 * run + i));
      arrays.push_back({device.empty(f32, {1000}), device.empty(f32, {1000})});
      device.upload(arrays.back()[0], numbers, stream);
      stream.synchronize();
    }
  for (int run = 0; run < kRuns; ++run) {
    std::vector<Binding> bindings[2];
    for (std::size_t i = 0; i < count; ++i)
      for (const std::size_t side : {0, 1})
        bindings[side].emplace_back(names[side][i],
                                    arrays[static_cast<std::size_t>(run) * count + i][side]);
    if (run % 2 == 0)
      context.run(stream, bindings[0], bindings[1]);
    else
      context.replay(stream, bindings[0], bindings[1]);
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto expected = static_cast<float>(2 * (100 * (i / count) + i % count));
    EXPECT_THAT(device.download<float>(arrays[i][1], stream), Each(expected)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Arrays, ForeachTables, testing::Values(12, 180));

}  // namespace
}  // namespace sinter::test::foreach_host_test
