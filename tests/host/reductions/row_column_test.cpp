// Row and column reductions of the same data in one pass: every candidate gives the same bits and
// moves the predicted bytes. Some graphs need two kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/run/run.h"

namespace sinter::test::row_column_test {
namespace {

using testing::HasSubstr;

void expect_one_kernel(const RunResult& run) {
  ASSERT_EQ(run.report.kernels.size(), 1u);
  EXPECT_THAT(run.report.kernels[0].source, HasSubstr("ColumnStates<"));
}

/// Numbers of rows that leave accumulators and parts empty, partial or full.
class RowsAndColumns : public testing::TestWithParam<int> {};

TEST_P(RowsAndColumns, SymbolicRows) {
  expect_one_kernel(run_and_check(R"(
graph softmax_backward(y: f32[rows, 33], g: f32[rows, 33]) {
  p = mul y, g
  s = sum p {axes = [1], keep = true}
  d = sub g, s
  dx = mul y, d
  bias = sum dx {axes = [0]}
  return dx, bias
})",
                                  {{"rows", GetParam()}}, {.misaligned = true}));
}

TEST_P(RowsAndColumns, ConstantRows) {
  const RunResult run = run_and_check(fmt::format(R"(
graph statistics(x: bf16[{}, 72]) {{
  h = cast x {{to = f32}}
  r = max h {{axes = [1]}}
  c = mean h {{axes = [0]}}
  d = cast c {{to = bf16}}
  return r, d
}})",
                                                  GetParam()));
  if (GetParam() > 1) expect_one_kernel(run);  // over one row there is no reduction
}

INSTANTIATE_TEST_SUITE_P(Rows, RowsAndColumns, testing::Values(1, 2, 3, 4, 5, 17, 64, 127, 1000));

TEST(RowColumn, ManyRowsHaveSeveralParts) {
  for (const int rows : {4097, 9000, 16384})
    expect_one_kernel(run_and_check(fmt::format(R"(
graph parts(x: f32[{0}, 12]) {{
  r = sum x {{axes = [1]}}
  c = sum x {{axes = [0]}}
  return r, c
}})",
                                                rows)));
}

/// Gradients of a layer norm: a sum over two leading axes, and one over the rows of the reshaped
/// array.
TEST(RowColumn, LeadingAxesMatchReshapedRows) {
  const RunResult run = run_and_check(R"(
graph leading(x: f32[37, 513, 8]) {
  r = sum x {axes = [2], keep = true}
  y = mul x, r
  a = sum y {axes = [0, 1]}
  rows = reshape y {shape = [18981, 8]}
  b = sum rows {axes = [0]}
  return r, a, b
})");
  expect_one_kernel(run);
  EXPECT_TRUE(std::ranges::equal(run.results.at("a").bytes(), run.results.at("b").bytes()));
}

TEST(RowColumn, LongRowsHaveSeveralParts) {
  for (const int columns : {1023, 4099, 8200})
    expect_one_kernel(run_and_check(fmt::format(R"(
graph long_rows(x: f16[131, {0}], w: f16[{0}]) {{
  h = cast x {{to = f32}}
  wf = cast w {{to = f32}}
  y = mul h, wf
  s = sum y {{axes = [1], keep = true}}
  z = mul y, s
  o = cast z {{to = f16}}
  c = sum z {{axes = [0]}}
  return o, c
}})",
                                                columns)));
}

TEST(RowColumn, EveryKindOfReduction) {
  run_and_check(R"(
graph kinds(x: f64[77, 40], i: i32[rows, 24] {range = [-50, 50]}, h: f16[33, 36]) {
  xs = sum x {axes = [1], keep = true}
  y = sub x, xs
  a = sum y {axes = [0]}
  b = logsumexp x {axes = [0]}
  im = min i {axes = [1]}
  ix = max i {axes = [0]}
  ia = argmin i {axis = 0}
  is = sum i {axes = [0]}
  hm = argmax h {axis = 1}
  hs = sum h {axes = [0]}
  return a, b, im, ix, ia, is, hm, hs
})",
                {{"rows", 29}});
}

TEST(RowColumn, ColumnResultsAreComputedAtTheEnd) {
  expect_one_kernel(run_and_check(R"(
graph step(x: f32[50, 6, 5], g: f32[50, 6, 5], w: f32[6, 5], lr: f32) {
  s = sum x {axes = [1, 2], keep = true}
  n = mul x, s
  p = mul n, g
  dw = sum p {axes = [0]}
  d = mul dw, lr
  v = sub w, d
  t = permute v {axes = [1, 0]}
  f = reshape dw {shape = [30]}
  return s, v, t, f
})"));
}

TEST(RowColumn, UpdatesAParameterByItsGradient) {
  run_and_check(R"(
graph train(x: f32[rows, 20], g: f32[rows, 20], w: f32[20]) {
  p = mul x, w
  s = sum p {axes = [1], keep = true}
  q = mul g, s
  dw = sum q {axes = [0]}
  d = mul dw, 0.1
  v = sub w, d
  update w, v
  return s
})",
                {{"rows", 70}});
}

TEST(RowColumn, ReadsThroughIndices) {
  run_and_check(R"(
graph embedding(table: f32[11, 28], at: i32[60]) {
  x = take table, at {axis = 0}
  s = sum x {axes = [1], keep = true}
  y = mul x, s
  c = sum y {axes = [0]}
  return y, c
})");
}

TEST(RowColumn, ElementsThatNeedColumnsAreInAnotherKernel) {
  const RunResult run = run_and_check(R"(
graph batch_norm(x: f32[64, 48]) {
  r = sum x {axes = [1]}
  m = mean x {axes = [0], keep = true}
  y = sub x, m
  return r, y
})");
  ASSERT_FALSE(run.report.boundaries.empty());
  EXPECT_THAT(run.report.boundaries[0].reason, HasSubstr("needs a result of all rows"));
}

TEST(RowColumn, RowsOfSymbolicLengthAreReadOnce) {
  const RunResult run = run_and_check(R"(
graph unknown(x: f32[64, columns]) {
  r = sum x {axes = [1]}
  c = sum x {axes = [0]}
  return r, c
})",
                                      {{"columns", 47}});
  EXPECT_TRUE(run.report.boundaries.empty());
  EXPECT_EQ(run.launches, 1);
}

}  // namespace
}  // namespace sinter::test::row_column_test
