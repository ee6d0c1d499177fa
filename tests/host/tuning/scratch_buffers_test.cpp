// Scratch buffers of tuning: their addresses, and their contents before and after a launch.
#include "compiler/body/sub_buffer.h"
#include "runtime/tuning/kept_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compiler/plan.h"
#include "ir/shape/extent.h"
#include "runtime/execution/make_variant.h"
#include "sinter/device.h"
#include "sinter/text.h"
#include "tests/support/graphs/lists.h"

namespace sinter::scratch_buffers_test {
namespace {

/// The first kernel of a graph that is planned for the H200.
class ScratchBuffersTest : public ::testing::Test {
 protected:
  void make(std::string_view text, const PlanOptions& options = {}) {
    program = plan(parse(text), *find_target("h200"), {.symbols = symbols}, options);
    emitted = emit_candidates(program, program.kernels.at(0), 1);
  }
  TuneRequest request(std::int64_t alignment = 16) const {
    return {.program = program,
            .kernel = program.kernels[0],
            .sources = emitted.sources,
            .schedules = emitted.schedules,
            .unit = unit,
            .symbols = symbols,
            .alignment = alignment};
  }
  /// The address of each buffer that the kernel takes as a parameter, by buffer index; 0 for
  /// others.
  std::vector<std::uint64_t> addresses(const ScratchBuffers& data, int set) const {
    const Source& source = emitted.sources[0];
    const std::vector<std::uint64_t> values = data.arguments(source, set);
    std::vector<std::uint64_t> pointers(program.buffers.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (source.arguments[i].kind == Argument::Kind::buffer)
        pointers[static_cast<std::size_t>(source.arguments[i].index)] = values[i];
    return pointers;
  }

  const std::vector<std::int64_t> symbols = {48};
  const Device device = host_device();
  const Stream stream = device.stream();
  const CurrentContext current{*device.state()};
  Program program;
  EmittedKernel emitted;
  const CompiledUnit unit = {};  // scratch buffers need no code
};

constexpr const char* kHeads = R"(
graph heads(a: f32[n, 128], b: f32[n, 61]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 1}
  return y
})";

/// Sub-buffers have the same relative offsets as in a run.
TEST_F(ScratchBuffersTest, HaveTheOffsetsOfARun) {
  make(kHeads);
  for (const std::int64_t alignment : {16, 4}) {
    ScratchBuffers data(*device.state(), request(alignment), /*sets=*/2, stream.state()->handle);
    for (const int set : {0, 1}) {
      const std::vector<std::uint64_t> pointers = addresses(data, set);
      std::vector<std::uint64_t> begins;  // of the parent, derived from each sub-buffer
      for (std::size_t i = 0; i < pointers.size(); ++i)
        if (pointers[i] != 0 && program.buffers[i].parent >= 0)
          begins.push_back(pointers[i] -
                           static_cast<std::uint64_t>(offset_bytes(program.buffers[i], symbols)));
      ASSERT_EQ(begins.size(), 2U);
      EXPECT_EQ(begins[0], begins[1]);
      EXPECT_EQ(begins[0] % 256, alignment == 16 ? 0U : 4U) << "pointers are as aligned as asked";
    }
  }
}

TEST_F(ScratchBuffersTest, AreRestoredTogether) {
  make(kHeads);
  ScratchBuffers data(*device.state(), request(), /*sets=*/1, stream.state()->handle);
  const KeptResults before(*device.state(), data, stream.state()->handle);
  const std::vector<std::uint64_t> pointers = addresses(data, /*set=*/0);
  for (std::size_t i = 0; i < pointers.size(); ++i)
    if (pointers[i] != 0 && program.buffers[i].parent >= 0)
      device.state()->driver.cuMemsetD8Async(
          pointers[i], 7, static_cast<std::size_t>(bytes_of(program.buffers[i], symbols)),
          stream.state()->handle);
  EXPECT_FALSE(before.equal_current());
  data.restore();
  EXPECT_TRUE(before.equal_current());
}

/// The values of a table follow those of the parameters, even if the table is a parameter.
TEST_F(ScratchBuffersTest, GiveTheValuesOfATable) {
  for (const std::size_t arrays : {12, 180}) {
    make("graph lists(" + test::repeated("x#: f32[n]", arrays, ", ") + ") {\n" +
         test::repeated("  y# = tanh x#", arrays, "\n") + "\n  return " +
         test::repeated("y#", arrays, ", ") + "\n}\n");
    const Source& source = emitted.sources[0];
    ScratchBuffers data(*device.state(), request(), /*sets=*/2, stream.state()->handle);
    const std::vector<std::uint64_t> first = data.arguments(source, 0);
    const std::vector<std::uint64_t> second = data.arguments(source, 1);
    const std::size_t count = source.arguments.size();
    ASSERT_EQ(first.size(), count + source.table.size());
    EXPECT_EQ(table_values_in_memory(source), arrays == 12 ? 0 : source.table.size());
    for (std::size_t i = 0; i < source.table.size(); ++i) {
      const bool is_array = source.table[i].kind == Argument::Kind::buffer;
      EXPECT_EQ(first[count + i] != second[count + i], is_array) << i;
    }
  }
}

/// A kernel that uses one sub-buffer gets memory for that one only.
TEST_F(ScratchBuffersTest, UseMemoryOnlyForTouchedBuffers) {
  make(R"(
graph rows(a: f32[16, 64], b: f32[n * 1000, 64]) {
  p = softmax a {axis = 1}
  q = cumsum b {axis = 0}
  y = concat q, p {axis = 0}
  return y
})",
       {.skip = {"fuse_launches"}});
  ASSERT_GT(program.kernels.size(), 1U);
  for (const Kernel& kernel : program.kernels) {
    const EmittedKernel one = emit_candidates(program, kernel, 1);
    std::int64_t touched = 0;
    for (const int buffer : buffers_of(one.sources[0]))
      touched += bytes_of(program.buffers[static_cast<std::size_t>(buffer)], symbols);
    const std::int64_t taken = ScratchBuffers::bytes_per_set({.program = program,
                                                              .kernel = kernel,
                                                              .sources = one.sources,
                                                              .schedules = one.schedules,
                                                              .unit = unit,
                                                              .symbols = symbols});
    EXPECT_GE(taken, touched);
    EXPECT_LE(taken, touched + evaluate(one.sources[0].workspace_bytes, symbols) + 4 * 1024);
  }
}

TEST_F(ScratchBuffersTest, CoverTheirParentIfItIsTouched) {
  make(R"(
graph summed(a: f32[n, 32], b: f32[8, 32]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  r = cumsum y {axis = 0}
  return y, r
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  const ScratchBuffers data(*device.state(), request(), /*sets=*/1, stream.state()->handle);
  int parts = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    const auto number = static_cast<int>(i);
    if (buffer.parent < 0) continue;
    EXPECT_TRUE(data.is_touched(number));
    EXPECT_TRUE(data.contains(buffer.parent));
    EXPECT_TRUE(data.writes_to_array_of(buffer.parent)) << "by its pieces";
    EXPECT_FALSE(data.writes_to_array_of(number)) << "its neighbours lie beside it";
    ++parts;
  }
  EXPECT_EQ(parts, 2);
}

}  // namespace
}  // namespace sinter::scratch_buffers_test
