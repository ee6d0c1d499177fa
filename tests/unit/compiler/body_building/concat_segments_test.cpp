// Concats whose segments are stored by the kernels that compute them.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graphs/one_kernel.h"

namespace sinter::concat_segments_test {
namespace {

using test::body_of;
using test::count;
using test::planned;
using test::traffic_of;

using testing::SizeIs;

TEST(SegmentsTest, RowKernelStoresPaddedRows) {
  const char* const text = R"(
graph padded(x: f32[2000, 700]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  y = pad d {low = [0, 11], high = [0, 3], value = 0.5}
  s = sum d {axes = [1]}
  return y, s
})";
  EXPECT_THAT(body_of(text).stores, SizeIs(4)) << "the rows, the padding on both sides, the sums";
  const Traffic traffic = traffic_of(text);
  EXPECT_FALSE(traffic.is_bound);
  EXPECT_EQ(evaluate(traffic.bytes_read, {}), 4 * 2000 * 700);
  EXPECT_EQ(evaluate(traffic.bytes_written, {}), 4 * (2000 * 714 + 2000));
}

TEST(SegmentsTest, LongPaddingIsStoredInSeveralStores) {
  const char* const text = R"(
graph padded(x: f32[2000, 700]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  y = pad d {low = [0, 1500], high = [0, 0], value = 0}
  return y
})";
  EXPECT_THAT(body_of(text).stores, SizeIs(4)) << "the rows, and three stores of padding";
  EXPECT_EQ(evaluate(traffic_of(text).bytes_written, {}), 4 * 2000 * 2200);
}

/// Each position would need too many stores, so a separate kernel reads the rows again.
TEST(SegmentsTest, VeryLongPaddingIsASeparateKernel) {
  const Program program = planned(R"(
graph padded(x: f32[20000, 70]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  y = pad d {low = [0, 700], high = [0, 0], value = 0}
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(2));
}

/// Stores of neighbouring threads would not be coalesced. A separate kernel with tiles is faster.
TEST(SegmentsTest, TransposedPaddedRowsAreASeparateKernel) {
  const Program program = planned(R"(
graph transposed(x: f32[2000, 700]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  c = cast d {to = bf16}
  t = permute c {axes = [1, 0]}
  y = pad t {low = [3, 0], high = [0, 0], value = 0}
  s = sum d {axes = [1]}
  return c, y, s
})");
  const auto kernels = program.kernels[0].sections.empty() ? program.kernels.size()
                                                           : program.kernels[0].sections.size();
  EXPECT_EQ(kernels, 2U);
}

TEST(SegmentsTest, ShiftedCopiesReadEachElementOnce) {
  const char* const text = R"(
graph neighbours(table: bf16[3000, 128], rows: i64[64, 128]) {
  e = take table, rows {axis = 0}
  behind = slice e {axis = 1, begin = 1, end = 128}
  a = pad behind {low = [0, 0, 0], high = [0, 1, 0], value = 0}
  before = slice e {axis = 1, begin = 0, end = -1}
  b = pad before {low = [0, 1, 0], high = [0, 0, 0], value = 0}
  c = concat a, e, b {axis = 2}
  y = reshape c {shape = [8192, 384]}
  return y
})";
  const Body body = body_of(text);
  EXPECT_EQ(count(body, Value::Kind::select), 0);
  EXPECT_EQ(count(body, Value::Kind::load), 2) << "an index and the element that it selects";
  EXPECT_EQ(evaluate(body.parallel_size(), {}), 64 * 128 * 128);
  EXPECT_EQ(evaluate(traffic_of(text).bytes_written, {}), 2 * 64 * 128 * 384);
}

constexpr const char* kLevels = R"(
graph levels(a: f32[200, 300, 6]) {
  a0 = select a {axis = 2, index = 0}
  a1 = select a {axis = 2, index = 1}
  b1 = div a1, a0
  s1 = select_scatter a, b1 {axis = 2, index = 1}
  c1 = select s1 {axis = 2, index = 1}
  c2 = select s1 {axis = 2, index = 2}
  b2 = div c2, c1
  s2 = select_scatter s1, b2 {axis = 2, index = 2}
  d2 = select s2 {axis = 2, index = 2}
  d3 = select s2 {axis = 2, index = 3}
  b3 = div d3, d2
  b4 = div b3, d2
  p = concat b1, b2, b3, b4 {axis = 1}
  y = reshape p {shape = [200, 4, 300]}
  return y
})";

TEST(SegmentsTest, LevelsOfARecurrenceAreComputedOnce) {
  const Body body = body_of(kLevels);
  EXPECT_EQ(count(body, Value::Kind::op), 4);
  EXPECT_EQ(evaluate(body.parallel_size(), {}), 200 * 300);
  EXPECT_THAT(body.stores, SizeIs(4));
  for (const BodyStore& store : body.stores) EXPECT_TRUE(store.conditions.empty());
  EXPECT_EQ(evaluate(traffic_of(kLevels).bytes_read, {}), 4 * 200 * 300 * 4);
  EXPECT_EQ(evaluate(traffic_of(kLevels).bytes_written, {}), 4 * 200 * 300 * 4);
}

/// The segments share no loads, so a split of the iteration space saves nothing.
TEST(SegmentsTest, UnrelatedSegmentsKeepOneIterationSpace) {
  const Body body = body_of(R"(
graph joined(a: f32[64, 128], b: f32[64, 128], c: f32[32, 128]) {
  e = exp a
  n = neg b
  s = sqrt c
  y = concat e, n, s {axis = 0}
  return y
})");
  EXPECT_EQ(count(body, Value::Kind::select), 1);
  EXPECT_THAT(body.stores, SizeIs(1));
}

/// If the column kernel also computed rows for the concat, the row kernel could not store its
/// segment.
TEST(SegmentsTest, RowAndColumnKernelsStoreTheirOwnSegments) {
  const Program program = planned(R"(
graph stacked(a: f32[640, 1280], b: f32[640, 1280]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 0}
  y = concat p, q {axis = 0}
  return y
})");
  std::int64_t bytes = 0;
  for (const Kernel& kernel : program.kernels)
    bytes += evaluate(emit(program, kernel, kernel.schedule, "kernel").traffic.bytes_written, {});
  EXPECT_EQ(bytes, 2 * 640 * 1280 * 4);
}

}  // namespace
}  // namespace sinter::concat_segments_test
