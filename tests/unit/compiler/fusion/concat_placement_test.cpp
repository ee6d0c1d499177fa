// Sub-buffers: concats that no kernel computes, because producers store into the concat's buffer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::concat_placement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Program planned(const std::string& text, std::vector<std::int64_t> symbols = {}) {
  return plan(parse(text), *find_target("h200"), {.symbols = std::move(symbols)}, {});
}

/// The sub-buffers of `program` with their offsets, in elements.
std::vector<std::string> offsets(const Program& program) {
  std::vector<std::string> result;
  for (const Buffer& buffer : program.buffers)
    if (buffer.parent >= 0)
      result.push_back(buffer.name + " at " + to_string(buffer.offset) + " of " +
                       program.buffers[static_cast<std::size_t>(buffer.parent)].name);
  return result;
}

std::int64_t bytes_written(const Program& program) {
  std::int64_t bytes = 0;
  for (const Kernel& kernel : program.kernels)
    bytes +=
        evaluate(emit(program, kernel, kernel.schedule, kernel.name).traffic.bytes_written, {});
  return bytes;
}

TEST(ConcatPlacementTest, ProducersStoreIntoTheConcat) {
  const Program program = planned(R"(
graph rows(a: f32[64, 128], b: f32[32, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  return y
})");
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 8192 of y"));
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(2));
  EXPECT_EQ(bytes_written(program), 96 * 128 * 4);
}

TEST(ConcatPlacementTest, SegmentsHaveTheStridesOfTheConcat) {
  const Program program = planned(R"(
graph heads(a: f32[64, 128], b: f32[64, 64]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 1}
  return y
})");
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 128 of y"));
  EXPECT_EQ(program.buffers.back().strides, (std::vector<Extent>{192, 1}));
  EXPECT_EQ(bytes_written(program), 64 * 192 * 4);
}

/// The inner concat has no buffer: its segments are segments of the outer concat.
TEST(ConcatPlacementTest, NestedConcatsAreFlattened) {
  const Program program = planned(R"(
graph nested(a: f32[64, 128], b: f32[32, 128], c: f32[16, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  r = softmax c {axis = 1}
  inner = concat q, r {axis = 0}
  y = concat p, inner {axis = 0}
  return y
})");
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 8192 of y", "r at 12288 of y"));
  EXPECT_EQ(bytes_written(program), 112 * 128 * 4);
}

/// An image of 2 x 2 is a run of 16 bytes, but the images of all channels are contiguous.
TEST(ConcatPlacementTest, RunsMayExtendOverSeveralAxes) {
  const Program program = planned(R"(
graph images(a: f32[32, 40, 2, 2], b: f32[32, 24, 2, 2]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 1}
  return y
})");
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 160 of y"));
}

/// Interleaved single elements would need a partial sector store each.
TEST(ConcatPlacementTest, InterleavedColumnsAreCopied) {
  const Program program = planned(R"(
graph columns(a: f32[64, 128], b: f32[64, 96]) {
  p = sum a {axes = [1], keep = true}
  q = sum b {axes = [1], keep = true}
  y = concat p, q {axis = 1}
  return y
})");
  EXPECT_THAT(offsets(program), IsEmpty());
}

TEST(ConcatPlacementTest, ReshapesMayAddAxesOfExtentOne) {
  const Program program = planned(R"(
graph stacked(a: f32[64, 128], b: f32[64, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 0}
  pp = reshape p {shape = [64, 1, 128]}
  qq = reshape q {shape = [64, 1, 128]}
  y = concat pp, qq {axis = 1}
  return y
})");
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 128 of y"));
  EXPECT_EQ(program.buffers.back().strides, (std::vector<Extent>{256, 1}));
}

TEST(ConcatPlacementTest, ASegmentThatIsAlsoAResultIsStoredTwice) {
  const Program program = planned(R"(
graph both(a: f32[64, 128], b: f32[32, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q, p {axis = 0}
  return y, q
})");
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 8192 of y", "p at 12288 of y"));
  EXPECT_EQ(bytes_written(program), (160 + 32) * 128 * 4);
}

/// A segment that is an input needs a kernel that copies it.
TEST(ConcatPlacementTest, AConcatOfAnInputIsAKernel) {
  const Program program = planned(R"(
graph mixed(a: f32[64, 128], b: f32[32, 128]) {
  p = softmax a {axis = 1}
  y = concat p, b {axis = 0}
  return y
})");
  EXPECT_THAT(offsets(program), IsEmpty());
}

/// The producers would have to wait for all readers of the old contents.
TEST(ConcatPlacementTest, UpdatesHaveNoSubBuffers) {
  const Program program = planned(R"(
graph updated(a: f32[64, 128], b: f32[32, 128], state: f32[96, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  update state, y
})");
  EXPECT_THAT(offsets(program), IsEmpty());
}

TEST(ConcatPlacementTest, AlignmentOfTheSubBufferLimitsVectors) {
  const auto source = [](int first) {
    const Program program =
        planned(fmt::format("graph aligned(a: f32[{}, 128], b: f32[32, 124]) {{\n"
                            "  p = sum a {{axes = [1]}}\n  q = softmax b {{axis = 1}}\n"
                            "  f = reshape q {{shape = [3968]}}\n"
                            "  y = concat p, f {{axis = 0}}\n  return y\n}}\n",
                            first));
    EXPECT_THAT(offsets(program), SizeIs(2));
    const Kernel& kernel = program.kernels.front();
    return emit(program, kernel, kernel.schedule, "k").text;
  };
  EXPECT_THAT(source(64), HasSubstr("store<4>("));
  EXPECT_THAT(source(61), Not(HasSubstr("store<4>(")));
}

TEST(ConcatPlacementTest, ReadersOfTheConcatWaitForAllProducers) {
  const Program program = planned(R"(
graph norm(a: f32[5000, 96], b: f32[3000, 96]) {
  p = sum a
  q = sum b
  pp = reshape p {shape = [1]}
  qq = reshape q {shape = [1]}
  n = concat pp, qq {axis = 0}
  m = softmax n {axis = 0}
  return m
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_GT(phases(program.kernels[0]), 1);
  const std::string text = emit(program, program.kernels[0], program.kernels[0].schedule, "k").text;
  EXPECT_THAT(text, Not(HasSubstr("float* __restrict__ n_in")));
}

/// Fusing a producer with the reader would save a store and a load of its segment, not of the
/// concat.
TEST(ConcatPlacementTest, BoundariesCountTheBytesOfTheSegment) {
  const Program program = plan(parse(R"(
graph rows(a: f32[640, 128], b: f32[320, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  s = cumsum y {axis = 0}
  return y, s
})"),
                               *find_target("h200"), {}, {.skip = {"fuse_launches"}});
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at 81920 of y"));
  ASSERT_THAT(program.kernels, SizeIs(3));
  std::vector<double> bytes;
  for (const Boundary& boundary : program.boundaries) {
    EXPECT_THAT(boundary.reason, HasSubstr("y is available only after all kernels have stored"));
    EXPECT_EQ(boundary.consumer, program.kernels[2].name);
    bytes.push_back(boundary.bytes);
  }
  EXPECT_THAT(bytes, UnorderedElementsAre(2.0 * 640 * 128 * 4, 2.0 * 320 * 128 * 4));
}

TEST(ConcatPlacementTest, OffsetsMayBeSymbols) {
  const Program program = planned(R"(
graph rows(a: f32[n, 128], b: f32[32, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  return y
})",
                                  {48});
  EXPECT_THAT(offsets(program), ElementsAre("p at 0 of y", "q at n * 128 of y"));
}

/// The producer stores the value once, into the padded result. Other kernels read it there.
TEST(ConcatPlacementTest, ConsumersReadASegmentInTheResult) {
  const Program program = planned(R"(
graph padded(x: f32[16, 128, 2005], z: f32[16, 128, 2005]) {
  s = sum x {axes = [-1], keep = true}
  e = exp z
  m = mul e, s
  d = sub x, m
  c = cast d {to = bf16}
  v = reshape c {shape = [2048, 2005]}
  p = pad v {low = [0, 0], high = [0, 3], value = 0}
  q = cummax v {axis = 0}
  return p, q
})");
  EXPECT_THAT(offsets(program), ElementsAre("c at 0 of p"));
  EXPECT_EQ(program.buffers.back().strides, (std::vector<Extent>{128 * 2008, 2008, 1}));
  EXPECT_EQ(bytes_written(program), 2 * 2048 * (2008 + 2005));
}

}  // namespace
}  // namespace sinter::concat_placement_test
