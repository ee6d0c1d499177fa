// KernelKey: equal for kernels that differ only in the arrays that they read and write.
#include "compiler/body/kernel_key.h"
#include "compiler/body/body_request.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::kernel_key_test {
namespace {

/// A graph with two results, and the keys of two kernels. Each kernel computes one result with all
/// its operands.
class TwoKernels {
 public:
  TwoKernels(const std::string& statements, const std::string& inputs)
      : graph_(parse(fmt::format("graph g({}) {{\n{}  return a, b\n}}\n", inputs, statements))),
        keys_(graph_.data()) {}

  bool have_equal_keys(std::vector<Extent> strides_of_b = {}) {
    const KernelKey a = key_of(graph_.data().outputs[0].node, {});
    return a == key_of(graph_.data().outputs[1].node, strides_of_b);
  }

 private:
  KernelKey key_of(const Node* result, std::span<const Extent> strides) {
    std::vector<bool> needed(graph_.data().nodes.size());
    needed[result->id] = true;
    std::vector<const Node*> nodes;
    for (std::size_t id = result->id + 1; id-- > 0;) {
      const Node* node = graph_.data().nodes[id];
      if (!needed[id]) continue;
      for (const Node* operand : node->operands) needed[operand->id] = true;
      if (!node->operands.empty()) nodes.insert(nodes.begin(), node);
    }
    const StoreRequest store = {.node = result, .strides = strides};
    return keys_.of({.nodes = nodes, .stores = {&store, 1}, .strides = [](const Node*) {
                       return std::span<const Extent>();
                     }});
  }

  Graph graph_;
  KernelKeys keys_;
};

const std::string kVectors = "x: f32[8, 4], y: f32[8, 4], z: f32[8, 4], w: f32[8, 4]";

bool have_equal_keys(const std::string& statements, const std::string& inputs = kVectors) {
  return TwoKernels(statements, inputs).have_equal_keys();
}

TEST(KernelKeyTest, IgnoresWhichArraysAreRead) {
  EXPECT_TRUE(have_equal_keys("s = sub x, y\n a = exp s\n t = sub z, w\n b = exp t\n"));
  EXPECT_TRUE(
      have_equal_keys("s = sum x {axes = [1], keep = true}\n a = sub x, s\n"
                      "t = sum z {axes = [1], keep = true}\n b = sub z, t\n"));
}

TEST(KernelKeyTest, DependsOnOpsAndShapes) {
  EXPECT_FALSE(have_equal_keys("a = exp x\n b = log y\n"));
  EXPECT_FALSE(have_equal_keys("a = mul x, 2.0\n b = mul y, 3.0\n"));
  EXPECT_FALSE(have_equal_keys("a = sum x {axes = [0]}\n b = sum y {axes = [1]}\n"));
  EXPECT_FALSE(have_equal_keys("a = exp x\n b = exp y\n", "x: f32[8], y: f32[9]"));
  EXPECT_FALSE(have_equal_keys("a = exp x\n b = exp y\n", "x: f32[8], y: f64[8]"));
}

TEST(KernelKeyTest, DependsOnRepeatedReads) {
  EXPECT_FALSE(have_equal_keys("a = mul x, y\n b = mul z, z\n"));
  EXPECT_TRUE(have_equal_keys("a = mul x, x\n b = mul z, z\n"));
}

TEST(KernelKeyTest, DependsOnOperandOrder) {
  EXPECT_FALSE(have_equal_keys("s = exp x\n a = sub s, y\n t = exp z\n b = sub w, t\n"));
}

TEST(KernelKeyTest, DependsOnStrides) {
  const std::string inputs = "x: f32[8, 4], y: f32[8, 4] {strides = [8, 1]}";
  EXPECT_FALSE(have_equal_keys("a = exp x\n b = exp y\n", inputs));
  TwoKernels kernels("a = exp x\n b = exp y\n", kVectors);
  EXPECT_TRUE(kernels.have_equal_keys());
  EXPECT_FALSE(kernels.have_equal_keys({1, 8}));
}

TEST(KernelKeyTest, DependsOnIndexMapsOfViews) {
  EXPECT_FALSE(
      have_equal_keys("v = slice x {axis = 0, begin = 0, end = 4}\n a = exp v\n"
                      "u = slice y {axis = 0, begin = 4, end = 8}\n b = exp u\n"));
  EXPECT_TRUE(
      have_equal_keys("v = slice x {axis = 0, begin = 4, end = 8}\n a = exp v\n"
                      "u = slice y {axis = 0, begin = 4, end = 8}\n b = exp u\n"));
}

Program planned(const std::string& text) {
  return plan(parse(text), *find_target("h200"), {.symbols = {}}, {.skip = {"fuse_launches"}});
}

TEST(KernelKeyTest, SchedulesEqualKernelsOnce) {
  const Program program = planned(R"(
graph pairs(x: f32[64, 256], y: f32[64, 256], z: f32[32, 256]) {
  a = sum x {axes = [1]}
  b = sum y {axes = [1]}
  c = sum z {axes = [1]}
  return a, b, c
})");
  ASSERT_EQ(program.kernels.size(), 3u);
  EXPECT_EQ(program.work.kernels_scheduled, 2);
  EXPECT_EQ(program.kernels[0].candidates, program.kernels[1].candidates);
  EXPECT_EQ(program.kernels[0].schedule, program.kernels[1].schedule);
  EXPECT_EQ(program.kernels[0].parallel, program.kernels[1].parallel);
  EXPECT_EQ(program.kernels[0].seconds, program.kernels[1].seconds);
  EXPECT_NE(program.kernels[0].parallel, program.kernels[2].parallel);
  // Each kernel still reads its own array.
  for (int kernel = 0; kernel < 3; ++kernel)
    EXPECT_EQ(program.kernels[static_cast<std::size_t>(kernel)].reads, std::vector<int>{kernel});
}

TEST(KernelKeyTest, MessagesNameTheValuesOfTheirKernel) {
  // Both pairs are rejected for the same reason, which is computed once.
  const Program program = planned(R"(
graph pairs(x: f32[64, 256], y: f32[64, 256]) {
  first_sum = sum x {axes = [1]}
  first_square = reshape first_sum {shape = [8, 8]}
  first_total = sum first_square {axes = [1]}
  second_sum = sum y {axes = [1]}
  second_square = reshape second_sum {shape = [8, 8]}
  second_total = sum second_square {axes = [1]}
  return first_total, second_total
})");
  const auto says = [&](const std::string& reason) {
    return std::ranges::any_of(program.boundaries, [&](const Boundary& boundary) {
      return boundary.reason.find(reason) != std::string::npos;
    });
  };
  EXPECT_EQ(program.work.kernels_scheduled, 2);
  EXPECT_TRUE(says("first_total has 8 elements, the kernel has 64 rows"));
  EXPECT_TRUE(says("second_total has 8 elements, the kernel has 64 rows"));
}

}  // namespace
}  // namespace sinter::kernel_key_test
