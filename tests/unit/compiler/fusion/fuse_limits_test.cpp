// Limits on the size of kernels. Larger kernels would spill and take too long to compile.
#include "compiler/fusion/fusion_evaluator.h"
#include "compiler/fusion/greedy_fuser.h"
#include "compiler/plan.h"
#include "sinter/text.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::fuse_limits_test {
namespace {

Program planned(const std::string& text) {
  return plan(parse(text), *find_target("h200"), {.symbols = {}}, {.skip = {"fuse_launches"}});
}

TEST(FuseLimitsTest, LongChainsAreSplitWithoutRecomputing) {
  std::string text = "graph chain(x: f32[1024]) {\n";
  for (int i = 0; i < 1000; ++i)
    text += fmt::format("  v{} = {} {}\n", i, i % 2 ? "neg" : "tanh",
                        i == 0 ? "x" : fmt::format("v{}", i - 1));
  const Program program = planned(text + "  return v999\n}\n");
  std::size_t nodes = 0;
  for (const Kernel& kernel : program.kernels) {
    EXPECT_LE(kernel.nodes.size(), 512u) << kernel.name;
    nodes += kernel.nodes.size();
  }
  EXPECT_EQ(nodes, 1000u);
}

/// Compile time grows faster than the number of unrolled instructions.
TEST(FuseLimitsTest, LongBodiesUnrollFewElements) {
  const auto elements = [](int ops) {
    std::string text = "graph chain(x: bf16[4096, 4096]) {\n";
    for (int i = 0; i < ops; ++i)
      text += fmt::format("  v{} = {} {}\n", i, i % 2 ? "exp" : "tanh",
                          i == 0 ? "x" : fmt::format("v{}", i - 1));
    const Program program = planned(text + fmt::format("  return v{}\n}}\n", ops - 1));
    const Schedule& schedule = program.kernels.at(0).schedule;
    return schedule.vector * schedule.unroll;
  };
  EXPECT_GE(elements(8), 8);
  EXPECT_EQ(elements(500), 1);
}

TEST(FuseLimitsTest, RematerializationRespectsTheArgumentLimit) {
  // Each sum of 16 arrays has two readers with 18 arrays of their own.
  std::string inputs;
  std::string body;
  const auto sum_of = [&](const std::string& name, int count, const std::string& first) {
    for (int i = 0; i < count; ++i) {
      inputs += fmt::format("{}{}_{}: f32[64]", inputs.empty() ? "" : ", ", name, i);
      body += fmt::format("  {0}{1} = add {2}, {0}_{1}\n", name, i,
                          i == 0 ? first : fmt::format("{}{}", name, i - 1));
    }
  };
  sum_of("s", 16, "1.0");
  sum_of("a", 18, "s15");
  sum_of("b", 18, "s15");
  const Program program =
      planned(fmt::format("graph sums({}) {{\n{}  return a17, b17\n}}\n", inputs, body));
  for (const Kernel& kernel : program.kernels) {
    std::set<const Node*> arrays;
    for (const Node* node : kernel.nodes)
      for (const Node* operand : node->operands)
        if (program.buffer_of.contains(operand) &&
            std::ranges::find(kernel.nodes, operand) == kernel.nodes.end())
          arrays.insert(operand);
    EXPECT_LE(arrays.size() + kernel.stores.size(), kMaxArguments) << kernel.name;
  }
}

/// `values` functions of x, their sum, and a chain that reads all of them again. Any cut crosses
/// about that many arrays. All names start with `name`; the result is `name`r.
std::string sum_and_readers(const std::string& name, int values) {
  std::string text;
  const auto add = [&](const std::string& line) { text += "  " + name + line + "\n"; };
  for (int i = 0; i < values; ++i) {
    add(fmt::format("t{} = mul x, {}", i, 1 + i / 64.0));
    add(fmt::format("v{} = tanh {}t{}", i, name, i));
  }
  add(fmt::format("s0 = neg {}v0", name));
  for (int i = 1; i < values; ++i) add(fmt::format("s{0} = add {1}s{2}, {1}v{0}", i, name, i - 1));
  add(fmt::format("p0 = mul {0}v0, {0}s{1}", name, values - 1));
  for (int i = 1; i < values; ++i) add(fmt::format("p{0} = sub {1}p{2}, {1}v{0}", i, name, i - 1));
  add(fmt::format("r = mul {0}p{1}, {0}s{1}", name, values - 1));
  return text;
}

TEST(FuseLimitsTest, MayExceedTheArrayLimitTemporarily) {
  const Program program =
      planned("graph live(x: f32[4096, 1024]) {\n" + sum_and_readers("a", 60) + "  return ar\n}\n");
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_EQ(program.kernels[0].bytes, 2.0 * 4096 * 1024 * 4);
}

/// A GreedyFuser repeats the merges of another one only if each step leaves the same arrays.
TEST(FuseLimitsTest, RepeatsMergesOfAnEqualFuser) {
  const Graph graph = parse("graph live(x: f32[4096, 1024], y: f32[4096, 1024]) {\n" +
                            sum_and_readers("a", 60) + "  z = add ar, y\n  return z\n}\n");
  LazyValueNames names;
  const Facts facts;
  PlanWork work;
  const auto fuser = [&] {
    auto result = std::make_unique<GreedyFuser>(graph.data(), names, *find_target("h200"), facts,
                                                work, Groups::InitialGroups::single_nodes);
    result->run({});
    return result;
  };
  const auto explorer = fuser();
  ASSERT_TRUE(explorer->has_hit_array_limit());
  const std::vector<GreedyFuser::Merge> merges = explorer->merge_past_arrays();
  ASSERT_GE(merges.size(), 2u);

  const auto repeated = fuser();
  const double before = repeated->seconds();
  EXPECT_TRUE(repeated->merge_as(merges));
  EXPECT_EQ(repeated->seconds(), explorer->seconds());
  EXPECT_LT(repeated->seconds(), before);

  EXPECT_FALSE(fuser()->merge_as({merges.begin() + 1, merges.end()})) << "other arrays are left";
  const std::vector<GreedyFuser::Merge> twice = {merges[0], merges[0]};
  EXPECT_FALSE(fuser()->merge_as(twice)) << "merged groups no longer exist";
}

/// The results exceed the array limit of one kernel, but the chain before them is still one kernel.
TEST(FuseLimitsTest, ManyResultsSplitTheKernel) {
  std::string text = "graph live(x: f32[4096, 1024], y: f32[4096, 1024]) {\n" +
                     sum_and_readers("a", 60) + "  b0 = mul ar, y\n";
  std::string results = "b0";
  for (int i = 1; i < 40; ++i) {
    text += fmt::format("  b{} = sin b{}\n", i, i - 1);
    results += fmt::format(", b{}", i);
  }
  const Program program = planned(text + "  return " + results + "\n}\n");
  EXPECT_LE(program.kernels.size(), 3u);
  for (const Kernel& kernel : program.kernels) {
    EXPECT_LE(kernel.reads.size() + kernel.stores.size(), kMaxArguments) << kernel.name;
  }
}

TEST(FuseLimitsTest, VisitsSharedOperandsOnce) {
  // There are 2^100 paths from the end of the chain to its beginning.
  std::string text = "graph ways(x: f32[64, 256]) {\n  v0 = mul x, x\n";
  for (int i = 1; i <= 100; ++i)
    text += fmt::format("  p{0} = mul v{1}, x\n  v{0} = add v{1}, p{0}\n", i, i - 1);
  const Program program = planned(text + R"(
  m = mean v100 {axes = [1], keep = true}
  y = sub v100, m
  return y
})");
  EXPECT_FALSE(program.kernels.empty());
}

}  // namespace
}  // namespace sinter::fuse_limits_test
