// Scratch data for tuning: where it lies, and what it holds before and after a launch.
#include "runtime/tuning/tuning_data.h"
#include "compiler/body/sub_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compiler/plan.h"
#include "ir/shape/extent.h"
#include "runtime/execution/make_variant.h"
#include "sinter/device.h"
#include "sinter/text.h"

namespace sinter::tuning_data_test {
namespace {

/// The first kernel of a graph, which is planned for the first GPU.
class PartsWhileTuning : public ::testing::Test {
 protected:
  void make(std::string_view text, const PlanOptions& options = {}) {
    program = plan(parse(text), *find_target("h200"), {.symbols = symbols}, options);
    emitted = emit_candidates(program, program.kernels.at(0), 1);
  }
  TuningData::Request request(std::int64_t alignment = 16) const {
    return {.program = program,
            .kernel = program.kernels[0],
            .sources = emitted.sources,
            .symbols = symbols,
            .alignment = alignment,
            .workspace_bytes = evaluate(emitted.sources[0].workspace_bytes, symbols),
            .tickets = evaluate(emitted.sources[0].tickets, symbols)};
  }
  /// Where each buffer lies that the kernel takes as a parameter, by number; 0: nowhere.
  std::vector<std::uint64_t> addresses(const TuningData& data, int set) const {
    const Source& source = emitted.sources[0];
    const std::vector<std::uint64_t> values = data.arguments(source, set);
    std::vector<std::uint64_t> places(program.buffers.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (source.arguments[i].kind == Argument::Kind::buffer)
        places[static_cast<std::size_t>(source.arguments[i].index)] = values[i];
    return places;
  }

  const std::vector<std::int64_t> symbols = {48};
  const Device device = host_device();
  const Stream stream = device.stream();
  const CurrentContext current{*device.state()};
  Program program;
  EmittedKernel emitted;
};

constexpr const char* kHeads = R"(
graph heads(a: f32[n, 128], b: f32[n, 61]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 1}
  return y
})";

/// Elements that two pieces have between them are those of the other piece, as in a run.
TEST_F(PartsWhileTuning, LieInTheirWholesAsInARun) {
  make(kHeads);
  for (const std::int64_t alignment : {16, 4}) {
    TuningData data(*device.state(), request(alignment), /*sets=*/2, stream.state()->handle);
    for (const int set : {0, 1}) {
      const std::vector<std::uint64_t> places = addresses(data, set);
      std::vector<std::uint64_t> begins;  // of the whole, as each of its parts has it
      for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] != 0 && program.buffers[i].parent >= 0)
          begins.push_back(places[i] -
                           static_cast<std::uint64_t>(offset_bytes(program.buffers[i], symbols)));
      ASSERT_EQ(begins.size(), 2U);
      EXPECT_EQ(begins[0], begins[1]);
      EXPECT_EQ(begins[0] % 256, alignment == 16 ? 0U : 4U) << "pointers are as aligned as asked";
    }
  }
}

TEST_F(PartsWhileTuning, AreRestoredTogether) {
  make(kHeads);
  TuningData data(*device.state(), request(), /*sets=*/1, stream.state()->handle);
  const std::vector<std::byte> before = data.results(/*set=*/0);
  const std::vector<std::uint64_t> places = addresses(data, /*set=*/0);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] != 0 && program.buffers[i].parent >= 0)
      device.state()->driver.cuMemsetD8Async(
          places[i], 7, static_cast<std::size_t>(bytes_of(program.buffers[i], symbols)),
          stream.state()->handle);
  EXPECT_FALSE(data.equal(before, data.results(/*set=*/0)));
  data.restore(/*set=*/0);
  EXPECT_TRUE(data.equal(before, data.results(/*set=*/0)));
}

/// A kernel that touches one piece has memory for no more than that.
TEST_F(PartsWhileTuning, TakeNoMoreThanWhatIsTouched) {
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
    const std::int64_t taken = TuningData::bytes_per_set(
        {.program = program, .kernel = kernel, .sources = one.sources, .symbols = symbols});
    EXPECT_GE(taken, touched);
    EXPECT_LE(taken, touched + 4 * 1024);
  }
}

TEST_F(PartsWhileTuning, CoverTheirWholeWhereItIsTouched) {
  make(R"(
graph summed(a: f32[n, 32], b: f32[8, 32]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  r = cumsum y {axis = 0}
  return y, r
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  const TuningData data(*device.state(), request(), /*sets=*/1, stream.state()->handle);
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
}  // namespace sinter::tuning_data_test
