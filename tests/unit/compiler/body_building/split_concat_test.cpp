// Concat segments that one position computes, and rearranged results that are stored from the
// positions that read their operands. Shared operands are read once.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graphs/one_kernel.h"

namespace sinter::split_concat_test {
namespace {

using test::body_of;
using test::count;
using test::planned;
using test::traffic_of;

using testing::SizeIs;

constexpr const char* kRotary = R"(
graph rotary(x: bf16[64, 8, 128], c: bf16[64, 1, 128], s: bf16[64, 1, 128]) {
  high = slice x {axis = 2, begin = 64, end = 128}
  minus = neg high
  low = slice x {axis = 2, begin = 0, end = 64}
  turned = concat minus, low {axis = 2}
  xc = mul x, c
  ts = mul turned, s
  y = add xc, ts
  return y
})";

TEST(SplitConcatTest, OnePositionRotatesBothHalvesOfARow) {
  const Body body = body_of(kRotary);
  EXPECT_EQ(count(body, Value::Kind::select), 0);
  EXPECT_EQ(count(body, Value::Kind::load), 6) << "both halves of x, c and s";
  EXPECT_THAT(body.stores, SizeIs(2));
  EXPECT_EQ(evaluate(body.parallel_size(), {}), 64 * 8 * 64);
}

TEST(SplitConcatTest, SegmentsWithoutOtherOperandsSharePositions) {
  const Body body = body_of(R"(
graph joined(a: bf16[64, 30, 49], b: bf16[64, 30, 49]) {
  r = relu b
  y = concat a, r {axis = 1}
  return y
})");
  EXPECT_EQ(count(body, Value::Kind::select), 0);
  EXPECT_THAT(body.stores, SizeIs(2));
  EXPECT_EQ(evaluate(body.parallel_size(), {}), 64 * 30 * 49);
}

TEST(SplitConcatTest, AnOperandOfTheWholeConcatKeepsOneIterationSpace) {
  const Body body = body_of(R"(
graph joined(a: bf16[64, 30, 49], b: bf16[64, 30, 49], c: bf16[64, 60, 49]) {
  r = relu b
  d = concat a, r {axis = 1}
  y = add d, c
  return y
})");
  EXPECT_EQ(count(body, Value::Kind::select), 1);
  EXPECT_THAT(body.stores, SizeIs(1));
}

TEST(SplitConcatTest, HalvesAreReadAndWrittenOnce) {
  const Traffic traffic = traffic_of(kRotary);
  EXPECT_FALSE(traffic.is_bound);
  EXPECT_EQ(evaluate(traffic.bytes_read, {}), 2 * (64 * 8 * 128 + 2 * 64 * 128));
  EXPECT_EQ(evaluate(traffic.bytes_written, {}), 2 * 64 * 8 * 128);
}

TEST(SplitConcatTest, ResultsOfOtherShapesAreStoredBySegment) {
  const Traffic traffic = traffic_of(R"(
graph heads(q: bf16[64, 8, 128], k: bf16[64, 2, 128]) {
  high = slice k {axis = 2, begin = 64, end = 128}
  low = slice k {axis = 2, begin = 0, end = 64}
  difference = sub low, high
  sum = add low, high
  turned = concat difference, sum {axis = 2}
  grouped = reshape turned {shape = [64, 2, 1, 128]}
  wide = broadcast_to grouped {shape = [64, 2, 4, 128]}
  all = reshape wide {shape = [64, 8, 128]}
  y = mul q, all
  return y, turned
})");
  EXPECT_EQ(evaluate(traffic.bytes_read, {}), 2 * (64 * 8 * 128 + 64 * 2 * 128));
  EXPECT_EQ(evaluate(traffic.bytes_written, {}), 2 * (64 * 8 * 128 + 64 * 2 * 128));
}

TEST(SplitConcatTest, OnePositionReducesBothHalvesOfChannels) {
  const char* const text = R"(
graph gated_backward(g: f32[4, 64, 96], x: f32[4, 128, 96]) {
  value = slice x {axis = 1, begin = 0, end = 64}
  gate = slice x {axis = 1, begin = 64, end = 128}
  by_value = mul g, gate
  by_gate = mul g, value
  dx = concat by_value, by_gate {axis = 1}
  db = sum dx {axes = [0, 2]}
  return dx, db
})";
  const Body body = body_of(text);
  EXPECT_EQ(count(body, Value::Kind::select), 0);
  EXPECT_THAT(body.reductions, SizeIs(2));
  EXPECT_EQ(evaluate(body.parallel_size(), {}), 64);
  EXPECT_EQ(evaluate(traffic_of(text).bytes_read, {}), 4 * 3 * 4 * 64 * 96);
}

TEST(SplitConcatTest, UnrelatedSegmentsKeepOneIterationSpace) {
  const Body body = body_of(R"(
graph joined(a: f32[64, 128], b: f32[64, 128]) {
  e = exp a
  n = neg b
  y = concat e, n {axis = 1}
  return y
})");
  EXPECT_EQ(count(body, Value::Kind::select), 1);
  EXPECT_THAT(body.stores, SizeIs(1));
}

TEST(SplitConcatTest, UnequalSegmentsUseTheSpaceOfTheLarger) {
  const Body body = body_of(R"(
graph uneven(x: f32[64, 128]) {
  n = neg x
  part = slice x {axis = 1, begin = 0, end = 64}
  y = concat n, part {axis = 1}
  return y
})");
  EXPECT_EQ(count(body, Value::Kind::select), 0);
  EXPECT_EQ(count(body, Value::Kind::load), 1);
  EXPECT_THAT(body.stores, SizeIs(2));
}

TEST(SplitConcatTest, SegmentsTooShortForVectorsKeepOneIterationSpace) {
  const Body body = body_of(R"(
graph pairs(x: f32[4096, 1]) {
  n = neg x
  y = concat x, n {axis = 1}
  return y
})");
  EXPECT_EQ(count(body, Value::Kind::select), 1);
}

TEST(SplitConcatTest, UpdateNeedsNoCopy) {
  const Program program = planned(R"(
graph turn(x: f32[64, 128]) {
  low = slice x {axis = 1, begin = 0, end = 64}
  high = slice x {axis = 1, begin = 64, end = 128}
  minus = neg high
  turned = concat minus, low {axis = 1}
  y = add x, turned
  update x, y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(0))
      << "each position writes only elements that it reads itself";
}

TEST(MovedStoresTest, ReductionKernelStoresItsOperand) {
  const Body body = body_of(R"(
graph heads(x: bf16[192, 128, 64]) {
  v = reshape x {shape = [16, 12, 128, 64]}
  p = permute v {axes = [0, 2, 1, 3]}
  y = reshape p {shape = [2048, 768]}
  f = cast y {to = f32}
  s = sum f {axes = [0]}
  return y, s
})");
  EXPECT_EQ(count(body, Value::Kind::load), 1);
}

TEST(MovedStoresTest, TwoPermutedResultsReadTheirOperandOnce) {
  const Body body = body_of(R"(
graph biased(x: bf16[512, 16, 64], a: bf16[16, 64], b: bf16[16, 64]) {
  xa = add x, a
  u = permute xa {axes = [1, 0, 2]}
  xb = add x, b
  v = permute xb {axes = [1, 0, 2]}
  return u, v
})");
  EXPECT_EQ(count(body, Value::Kind::load), 3);
}

TEST(MovedStoresTest, RowKernelStoresPermutedRows) {
  const Body body = body_of(R"(
graph query_norm(x: f32[1000, 16, 128]) {
  q = mul x, x
  m = mean q {axes = [2], keep = true}
  r = rsqrt m
  n = mul x, r
  p = permute n {axes = [1, 0, 2]}
  y = cast p {to = bf16}
  return y, m
})");
  EXPECT_EQ(count(body, Value::Kind::load), 1);
  EXPECT_THAT(body.stores, SizeIs(2));
}

/// The row also contains an attention sink, which is not part of the result.
TEST(MovedStoresTest, RowKernelStoresASliceOfItsRows) {
  const Body body = body_of(R"(
graph sink(x: f32[64, 40, 96], s: f32[64]) {
  sinks = reshape s {shape = [64, 1, 1]}
  column = broadcast_to sinks {shape = [64, 40, 1]}
  all = concat x, column {axis = 2}
  m = max all {axes = [2], keep = true}
  d = sub all, m
  e = exp d
  t = sum e {axes = [2], keep = true}
  p = div e, t
  own = slice p {axis = 2, begin = 0, end = 96}
  y = reshape own {shape = [2560, 96]}
  return y
})");
  EXPECT_EQ(body.reductions.size(), 2U);
  ASSERT_THAT(body.stores, SizeIs(1));
  EXPECT_TRUE(body.stores[0].varies);
  EXPECT_THAT(body.stores[0].conditions, SizeIs(1));
}

/// Each element would touch a separate sector, so the kernel stores tiles of neighbouring rows.
TEST(MovedStoresTest, TransposedResultUsesTilesOfRows) {
  const Program program = planned(R"(
graph channel_norm(x: bf16[128, 320, 14, 14] {strides = [62720, 1, 4480, 320]}) {
  p = permute x {axes = [0, 2, 3, 1]}
  f = cast p {to = f32}
  m = mean f {axes = [3], keep = true}
  d = sub f, m
  e = exp d
  q = permute e {axes = [0, 3, 1, 2]}
  y = cast q {to = bf16}
  return y, m
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_EQ(program.kernels[0].kind, KernelKind::row_reduce);
  EXPECT_EQ(program.kernels[0].schedule.tile, 16);
}

}  // namespace
}  // namespace sinter::split_concat_test
