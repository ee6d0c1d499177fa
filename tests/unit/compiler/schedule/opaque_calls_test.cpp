// Opaque calls between kernels: separate launches whose operands and results are whole arrays.
#include "compiler/program/print_program.h"
#include "ir/shape/strides.h"
#include "tests/support/graphs/planned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::opaque_calls_test {
namespace {

using test::planned;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<KernelKind> kinds(const Program& program) {
  std::vector<KernelKind> kinds;
  for (const Kernel& kernel : program.kernels) kinds.push_back(kernel.kind);
  return kinds;
}

const Buffer& buffer(const Program& program, int number) {
  return program.buffers[static_cast<std::size_t>(number)];
}

/// Expects that all arrays that opaque calls of `program` read are row-major.
void expect_row_major_reads(const Program& program) {
  for (const Kernel& kernel : program.kernels)
    if (kernel.kind == KernelKind::opaque)
      for (const int read : kernel.reads) {
        const Buffer& memory = buffer(program, read);
        EXPECT_EQ(memory.strides, row_major_strides(memory.node->shape));
      }
}

TEST(OpaquePlan, CallsSeparateFusedKernels) {
  const Program program = planned(R"(
graph mlp(x: bf16[64, 512], bias: bf16[512], w: bf16[512, 1024], scale: bf16[1024]) {
  h = add x, bias
  g = gelu h
  y = opaque gemm g, w : bf16[64, 1024]
  f = cast y {to = f32}
  n = rms_norm f {axes = [-1], eps = 1e-6}
  o = mul n, scale
  return o
})");
  ASSERT_THAT(kinds(program), SizeIs(3));
  EXPECT_EQ(program.kernels[1].kind, KernelKind::opaque);
  EXPECT_THAT(program.kernels[1].depends_on, ElementsAre(0));
  EXPECT_THAT(program.kernels[2].depends_on, ElementsAre(1));
  // Both operands once, and the result.
  EXPECT_EQ(program.kernels[1].bytes, 2 * (64 * 512 + 512 * 1024 + 64 * 1024));
  EXPECT_GT(program.kernels[1].seconds, 0);
  EXPECT_TRUE(program.kernels[1].candidates.empty());
  ASSERT_THAT(program.boundaries, SizeIs(2));
  for (const Boundary& boundary : program.boundaries)
    EXPECT_EQ(boundary.reason,
              "gemm is an opaque call: its operands and results are whole arrays in memory; "
              "nothing shares a launch with an opaque call");
  const std::string text = print(program);
  EXPECT_THAT(text, HasSubstr("kernel mlp_1: opaque\n"
                              "  y = opaque gemm g, w : bf16[64, 1024]\n"
                              "  store y in temporary y\n"
                              "  after mlp_0\n"));
}

TEST(OpaquePlan, IsASeparateKernelWithoutFusion) {
  const Graph graph = parse(
      "graph g(x: f32[8]) {\n  a = exp x\n  y, i = opaque f a : f32[8], i32[8]\n"
      "  b = neg y\n  return b, i\n}\n");
  const Program program = plan(graph, *find_target("h200"), {}, {.fuse = false});
  EXPECT_THAT(kinds(program),
              ElementsAre(KernelKind::pointwise, KernelKind::opaque, KernelKind::pointwise));
}

TEST(OpaquePlan, CallsStoreTheirResults) {
  const Program program = planned(R"(
graph g(x: f32[8, 64]) {
  a, b, _ = opaque parts x : f32[8], i64[8], f32[8, 64]
  c = neg a
  return c, b
})");
  ASSERT_EQ(program.kernels[0].kind, KernelKind::opaque);
  ASSERT_THAT(program.kernels, SizeIs(2));
  ASSERT_THAT(program.kernels[0].stores, SizeIs(2));
  EXPECT_EQ(buffer(program, program.kernels[0].stores[0].buffer).kind, Buffer::Kind::temporary);
  EXPECT_EQ(buffer(program, program.kernels[0].stores[1].buffer).kind, Buffer::Kind::output);
  // The call also writes its unused result.
  EXPECT_EQ(program.kernels[0].bytes, 4 * 8 * 64 + 4 * 8 + 8 * 8 + 4 * 8 * 64);
}

TEST(OpaquePlan, ReadsInputsWithoutCopies) {
  const Program program =
      planned("graph g(x: f32[8, 64], s: f32) {\n  y = opaque f x, s, x : f32[8]\n  return y\n}\n");
  ASSERT_THAT(kinds(program), ElementsAre(KernelKind::opaque));
  EXPECT_THAT(program.kernels[0].reads, ElementsAre(0));
  EXPECT_EQ(program.kernels[0].bytes, 4 * 8 * 64 + 4 * 8);
}

TEST(OpaquePlan, ViewsAndConstantsAreStoredForACall) {
  for (const char* const operand :
       {"permute x {axes = [1, 0]}", "slice x {axis = 1, begin = 1, end = 5, step = 1}",
        "broadcast_to row {shape = [3, 8]}", "full {shape = [3, 8], value = 2.0, dtype = f32}",
        "iota {extent = 8}", "reshape padded {shape = [64]}", "flip x {axes = [0]}",
        "concat x, padded {axis = 0}"}) {
    SCOPED_TRACE(operand);
    const Program program = planned(std::string(R"(
graph g(x: f32[8, 8], row: f32[8], padded: f32[8, 8] {strides = [16, 1]}) {
  v = )") + operand + R"(
  y = opaque f v, padded : f32[8]
  z = neg x
  return y, z
})");
    expect_row_major_reads(program);
    int calls = 0;
    for (const Kernel& kernel : program.kernels)
      if (kernel.kind == KernelKind::opaque) {
        ++calls;
        ASSERT_THAT(kernel.reads, SizeIs(2));
        for (const int read : kernel.reads)
          EXPECT_EQ(buffer(program, read).kind, Buffer::Kind::temporary);
      }
    EXPECT_EQ(calls, 1);
  }
}

/// An in-place update has the strides of its input, so the call needs a copy.
TEST(OpaquePlan, UpdatesOfStridedInputsAreCopiedForACall) {
  expect_row_major_reads(planned(R"(
graph g(p: f32[4, 4] {strides = [8, 1]}, x: f32[4, 4]) {
  v = add p, x
  update p, v
  y = opaque f v : f32[4, 4]
  return y
})"));
}

TEST(OpaquePlan, OutputsWithOtherStridesAreCopies) {
  const Program program = planned(R"(
graph g(x: f32[8, 8], p: f32[8, 8]) {
  a = exp x
  y = opaque f a : f32[8, 8]
  update p, y
  return turned = a {strides = [1, 8]}, y, padded = y {strides = [16, 1]}, again = y
})");
  expect_row_major_reads(program);
  int calls = 0;
  for (const Kernel& kernel : program.kernels) {
    if (kernel.kind != KernelKind::opaque) continue;
    ++calls;
    ASSERT_THAT(kernel.stores, SizeIs(1));
    EXPECT_EQ(buffer(program, kernel.stores[0].buffer).name, "y");
  }
  EXPECT_EQ(calls, 1);
  std::size_t stored = 0;
  for (const Kernel& kernel : program.kernels) stored += kernel.stores.size();
  EXPECT_GE(stored, 6U);  // y three times, a twice, p
}

TEST(OpaquePlan, ConcatSegmentsAreRowMajorForACall) {
  const Program program = planned(R"(
graph g(x: f32[64, 128]) {
  s = softmax x
  y = opaque f s : f32[64, 128]
  both = concat s, y {axis = 1}
  return both
})");
  expect_row_major_reads(program);
  for (const Kernel& kernel : program.kernels) {
    if (kernel.kind != KernelKind::opaque) continue;
    for (const Store& store : kernel.stores)
      EXPECT_EQ(buffer(program, store.buffer).strides, row_major_strides(store.node->shape));
  }
}

TEST(OpaquePlan, NothingSharesALaunchWithACall) {
  std::string text = "graph g(x: f32[1024]) {\n  v0 = neg x\n";
  for (int i = 0; i < 12; ++i)
    text += "  a" + std::to_string(i) + " = opaque f v0 {i = " + std::to_string(i) +
            "} : f32[1024]\n  b" + std::to_string(i) + " = exp a" + std::to_string(i) + "\n";
  text += "  return b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11\n}\n";
  const Program program = planned(text);
  int calls = 0;
  for (const Kernel& kernel : program.kernels) {
    calls += kernel.kind == KernelKind::opaque ? 1 : 0;
    EXPECT_EQ(kernel.kind == KernelKind::opaque && kernel.foreach_list >= 0, false);
    for (const Kernel& section : kernel.sections) EXPECT_NE(section.kind, KernelKind::opaque);
  }
  EXPECT_EQ(calls, 12);
}

TEST(OpaquePlan, OperandsAndResultsOfACallDoNotOverlap) {
  const Program program = planned(R"(
graph g(x: f32[1024]) {
  a = exp x
  b = opaque f a : f32[1024]
  c = opaque f b : f32[1024]
  d = neg c
  return d
})");
  const MemoryPlan memory = plan_memory(program, {});
  // c reuses the memory of a, which the first call has already read.
  EXPECT_EQ(memory.arena_bytes, 2 * 4096);
}

TEST(OpaquePlan, MemoryOfADelayedUpdateIsNotReused) {
  const Program program = planned(R"(
graph g(x: f32[64, 64]) {
  f = flip x {axes = [0]}
  m = max x {axes = [0]}
  y = opaque same m : f32[64]
  z = opaque same y : f32[64]
  v = opaque same z : f32[64]
  update x, f
  w = neg v
  return w
})");
  const MemoryPlan memory = plan_memory(program, {});
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& flipped = program.buffers[i];
    if (flipped.kind != Buffer::Kind::temporary || flipped.node->op != Op::flip) continue;
    ASSERT_GE(memory.offsets[i], 0);
    for (std::size_t j = 0; j < program.buffers.size(); ++j) {
      const std::int64_t begin = memory.offsets[j];
      if (j == i || begin < 0) continue;
      EXPECT_TRUE(begin >= memory.offsets[i] + 64 * 64 * 4 || begin + 64 * 4 <= memory.offsets[i])
          << print(program);
    }
    return;
  }
  FAIL() << "nothing is copied back\n" << print(program);
}

TEST(OpaquePlan, RemovesUnusedCalls) {
  const Program program =
      planned("graph g(x: f32[8]) {\n  y = opaque f x : f32[8]\n  z = neg x\n  return z\n}\n");
  EXPECT_THAT(kinds(program), ElementsAre(KernelKind::pointwise));
}

TEST(OpaquePlan, UpdatesWaitForCallsThatReadTheInput) {
  const Program program = planned(R"(
graph g(p: f32[64], x: f32[64]) {
  y = opaque f p : f32[64]
  q = add p, x
  update p, q
  return y
})");
  for (const Kernel& kernel : program.kernels)
    EXPECT_THAT(kernel.depends_on, SizeIs(kernel.kind == KernelKind::opaque ? 0 : 1))
        << print(program);
}

}  // namespace
}  // namespace sinter::opaque_calls_test
