// Memory planning: live ranges and reuse of arena memory.
#include "compiler/body/sub_buffer.h"
#include "compiler/plan.h"
#include "sinter/ops.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

namespace sinter::plan_memory_test {
namespace {

/// A program that the test builds kernel by kernel. Each kernel adds the values that it reads.
class TestProgram {
 public:
  TestProgram() {
    program.graph = std::make_shared<Graph>("by_hand");
    x_ = program.graph->input("x", f32, {1});
    add_buffer(x_, Buffer::Kind::input, 1);
  }

  /// A kernel that writes `elements` f32 and reads the results of `reads`, after them and `after`.
  int kernel(Extent elements, std::vector<int> reads, std::vector<int> after = {},
             Buffer::Kind kind = Buffer::Kind::temporary) {
    Tensor value = x_;
    for (const int read : reads) value = value + values_[static_cast<std::size_t>(read)];
    // Different factors make the values distinct nodes.
    value = value * static_cast<double>(values_.size() + 2);
    Kernel kernel;
    for (const Node* node = value.node(); node->op != Op::input; node = node->operand(0))
      if (!program.buffer_of.contains(node)) kernel.nodes.push_back(node);
    std::ranges::reverse(kernel.nodes);
    kernel.stores.push_back({.node = value.node(), .buffer = add_buffer(value, kind, elements)});
    for (const int read : reads)
      kernel.reads.push_back(program.kernels[static_cast<std::size_t>(read)].stores[0].buffer);
    kernel.depends_on = std::move(reads);
    kernel.depends_on.insert(kernel.depends_on.end(), after.begin(), after.end());
    values_.push_back(value);
    program.kernels.push_back(std::move(kernel));
    return static_cast<int>(program.kernels.size()) - 1;
  }

  MemoryPlan plan(std::vector<std::int64_t> symbols = {}) { return plan_memory(program, symbols); }
  std::int64_t offset(int kernel) {
    const int buffer = program.kernels[static_cast<std::size_t>(kernel)].stores[0].buffer;
    return plan().offsets[static_cast<std::size_t>(buffer)];
  }

  /// Makes the results of `kernels` consecutive sub-buffers of a new buffer. Returns that buffer.
  int combine(std::vector<int> kernels) {
    Extent elements = 0;
    const auto whole = static_cast<int>(program.buffers.size());
    for (const int kernel : kernels) {
      Buffer& part = buffer_of(kernel);
      part.parent = whole;
      part.offset = elements;
      elements = elements + part.elements;
    }
    program.buffers.push_back({.dtype = f32, .elements = elements});
    return whole;
  }
  Buffer& buffer_of(int kernel) {
    return program.buffers[static_cast<std::size_t>(
        program.kernels[static_cast<std::size_t>(kernel)].stores[0].buffer)];
  }

  Program program;

 private:
  int add_buffer(Tensor value, Buffer::Kind kind, Extent elements) {
    program.buffers.push_back(
        {.kind = kind, .node = value.node(), .dtype = f32, .elements = elements});
    const int buffer = static_cast<int>(program.buffers.size()) - 1;
    program.buffer_of[value.node()] = buffer;
    return buffer;
  }

  Tensor x_;
  std::vector<Tensor> values_;
};

TEST(PlanMemoryTest, BoundBuffersHaveNoOffset) {
  TestProgram p;
  p.kernel(64, {}, {}, Buffer::Kind::output);
  EXPECT_EQ(p.plan().offsets, (std::vector<std::int64_t>{-1, -1}));
  EXPECT_EQ(p.plan().arena_bytes, 0);
}

TEST(PlanMemoryTest, OffsetsAreAligned) {
  TestProgram p;
  const int a = p.kernel(3, {});
  const int b = p.kernel(5, {a});
  p.kernel(1, {a, b}, {}, Buffer::Kind::output);
  EXPECT_EQ(p.offset(a), 0);
  EXPECT_EQ(p.offset(b), 256);
  EXPECT_EQ(p.plan().arena_bytes, 512);
}

TEST(PlanMemoryTest, ChainNeedsTwoBuffers) {
  TestProgram p;
  int last = p.kernel(64, {});
  for (int i = 0; i < 10; ++i) last = p.kernel(64, {last});
  EXPECT_EQ(p.plan().arena_bytes, 512);
}

TEST(PlanMemoryTest, KernelsDoNotOverwriteTheirOperands) {
  TestProgram p;
  const int a = p.kernel(64, {});
  const int b = p.kernel(64, {a});
  EXPECT_NE(p.offset(a), p.offset(b));
}

TEST(PlanMemoryTest, ParallelBranchesShareNothing) {
  TestProgram p;
  const int a = p.kernel(64, {});
  const int b = p.kernel(64, {a});  // a is dead after b
  const int c = p.kernel(64, {});   // c may run before b
  EXPECT_NE(p.offset(c), p.offset(a));
  EXPECT_NE(p.offset(c), p.offset(b));
  EXPECT_EQ(p.plan().arena_bytes, 3 * 256);
}

TEST(PlanMemoryTest, DependencyWithoutReadAllowsReuse) {
  TestProgram p;
  const int a = p.kernel(64, {});
  const int b = p.kernel(64, {a}, {}, Buffer::Kind::output);
  const int c = p.kernel(64, {}, {b});
  EXPECT_EQ(p.offset(c), p.offset(a));
}

TEST(PlanMemoryTest, SubBuffersAreInTheirParent) {
  TestProgram p;
  const int a = p.kernel(3, {});
  const int b = p.kernel(100, {});
  const int c = p.kernel(64, {});
  p.combine({b, a});
  EXPECT_EQ(p.offset(a), p.offset(b) + 400);
  EXPECT_NE(p.offset(c), p.offset(b));
  EXPECT_EQ(p.plan().arena_bytes, 512 + 256);
}

TEST(PlanMemoryTest, AllWritersOfSubBuffersMustWait) {
  for (const bool both : {true, false}) {
    TestProgram p;
    const int old = p.kernel(64, {});
    const int reader = p.kernel(64, {old}, {}, Buffer::Kind::output);
    const int a = p.kernel(32, {}, {reader});
    const int b = p.kernel(32, {}, both ? std::vector<int>{reader} : std::vector<int>{});
    p.combine({a, b});
    EXPECT_EQ(p.offset(a) == p.offset(old), both);
  }
}

/// A reader of a sub-buffer extends the live range of the parent.
TEST(PlanMemoryTest, ParentIsLiveAsLongAsItsSubBuffers) {
  TestProgram p;
  const int a = p.kernel(32, {});
  const int b = p.kernel(32, {});
  p.combine({a, b});
  const int last = p.kernel(64, {b}, {a});
  EXPECT_NE(p.offset(last), p.offset(a));
  const int next = p.kernel(64, {}, {last});
  EXPECT_EQ(p.offset(next), p.offset(a));
}

TEST(PlanMemoryTest, ReuseWaitsForAllReaders) {
  TestProgram p;
  const int a = p.kernel(64, {});
  const int b = p.kernel(64, {a}, {}, Buffer::Kind::output);
  p.kernel(64, {a}, {}, Buffer::Kind::output);  // may still read a when d writes
  const int d = p.kernel(64, {}, {b});
  EXPECT_NE(p.offset(d), p.offset(a));
}

TEST(PlanMemoryTest, TakesTheSmallestGapThatFits) {
  TestProgram p;
  const int large = p.kernel(64 * 8, {});
  const int keep_1 = p.kernel(64, {large});
  const int small = p.kernel(64 * 2, {keep_1});
  const int keep_2 = p.kernel(64, {small, keep_1, large});
  const int next = p.kernel(64 * 2, {keep_1, keep_2});
  EXPECT_EQ(p.offset(next), p.offset(small));
  EXPECT_NE(p.offset(small), p.offset(large));
}

TEST(PlanMemoryTest, MergesNeighbouringGaps) {
  TestProgram p;
  const int a = p.kernel(64, {});
  const int b = p.kernel(64, {a});
  const int c = p.kernel(64, {a, b});
  const int d = p.kernel(128, {c});
  EXPECT_EQ(p.offset(d), 0);
  EXPECT_EQ(p.plan().arena_bytes, 3 * 256);
}

TEST(PlanMemoryTest, SizesDependOnSymbols) {
  TestProgram p;
  const Extent rows = p.program.graph->extent("rows");
  const int a = p.kernel(rows * 64, {});
  p.kernel(rows, {a});
  EXPECT_EQ(p.plan({3}).arena_bytes, 3 * 256 + 256);
  EXPECT_EQ(p.plan({0}).arena_bytes, 0);
}

TEST(PlanMemoryTest, UnwrittenBuffersTakeNoMemory) {
  TestProgram p;
  p.program.buffers.push_back({.kind = Buffer::Kind::temporary, .dtype = f32, .elements = 1000});
  EXPECT_EQ(p.plan().arena_bytes, 0);
}

/// True if the dependencies order `earlier` before `later`.
bool reaches(const Program& program, int earlier, int later) {
  std::vector<bool> seen(program.kernels.size());
  std::vector<int> open = {later};
  while (!open.empty()) {
    const int kernel = open.back();
    open.pop_back();
    for (const int before : program.kernels[static_cast<std::size_t>(kernel)].depends_on) {
      if (before == earlier) return true;
      if (!seen[static_cast<std::size_t>(before)]) open.push_back(before);
      seen[static_cast<std::size_t>(before)] = true;
    }
  }
  return false;
}

/// Describes two buffers that overlap although their kernels may run concurrently, or "".
std::string first_clash(TestProgram& p, const std::vector<std::vector<int>>& readers) {
  const MemoryPlan plan = p.plan();
  const auto range = [&](int kernel) {
    const int buffer = p.program.kernels[static_cast<std::size_t>(kernel)].stores[0].buffer;
    const std::int64_t begin = plan.offsets[static_cast<std::size_t>(buffer)];
    return std::array{
        begin, begin + 4 * p.program.buffers[static_cast<std::size_t>(buffer)].elements.number()};
  };
  for (int a = 0; a < static_cast<int>(readers.size()); ++a)
    for (int b = a + 1; b < static_cast<int>(readers.size()); ++b) {
      if (range(a)[1] <= range(b)[0] || range(b)[1] <= range(a)[0]) continue;
      std::vector<int> touches = readers[static_cast<std::size_t>(a)];
      touches.push_back(a);
      for (const int touch : touches)
        if (!reaches(p.program, touch, b))
          return std::to_string(a) + " and " + std::to_string(b) + " because of " +
                 std::to_string(touch);
    }
  return "";
}

TEST(PlanMemoryTest, ConcurrentKernelsOfRandomProgramsShareNoMemory) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    TestProgram p;
    std::vector<std::vector<int>> readers;
    for (int i = 0; i < 60; ++i) {
      std::vector<int> reads;
      for (int k = 0; i > 0 && k < static_cast<int>(random() % 3); ++k) {
        const int back = 1 + static_cast<int>(random() % 8);
        const int read = std::max(0, i - back);
        if (std::ranges::find(reads, read) == reads.end()) reads.push_back(read);
      }
      for (const int read : reads) readers[static_cast<std::size_t>(read)].push_back(i);
      readers.emplace_back();
      p.kernel(static_cast<std::int64_t>(1 + random() % 1000), reads);
    }
    ASSERT_EQ(first_clash(p, readers), "") << "round " << round;
  }
}

TEST(PlanMemoryTest, LongProgramsReuseBeyondTheWindow) {
  TestProgram p;
  int last = p.kernel(64, {});
  for (int i = 0; i < 5000; ++i) last = p.kernel(64, {last});
  EXPECT_EQ(p.plan().arena_bytes, 512);
}

}  // namespace
}  // namespace sinter::plan_memory_test
