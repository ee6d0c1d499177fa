// Kernels without reductions: vectors, tails, broadcasts, views, gathers, concats and updates.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ir/ops/op.h"
#include "ir/record/record.h"
#include "tests/support/run/run.h"

namespace sinter::test::pointwise_test {
namespace {

class Extents : public testing::TestWithParam<int> {};

TEST_P(Extents, ChainsOverEveryDtype) {
  run_and_check(fmt::format(R"(
graph chain(a: f32[{0}], b: f32[{0}], h: bf16[{0}], f: f16[{0}], i: i32[{0}], l: i64[{0}]) {{
  c = add a, b
  d = mul c, 0.1
  e = maximum d, a
  g = mul h, 0.1
  k = add g, h
  m = exp f
  n = mul i, i
  o = sub l, 7
  p = gt a, b
  q = where p, a, 0.5
  return e, k, m, n, o, p, q
}})",
                            GetParam()),
                {}, {.misaligned = true});
}

INSTANTIATE_TEST_SUITE_P(Sizes, Extents, testing::Values(1, 3, 8, 1000, 4099, 70000));

TEST(Pointwise, BroadcastsRowsColumnsAndTheMiddle) {
  run_and_check(R"(
graph broadcasts(x: f32[12, 7, 20], row: f32[20], column: f32[12, 1, 1], middle: f32[7, 1], odd: f32[12, 7, 1]) {
  a = add x, row
  b = mul a, column
  c = sub b, middle
  d = add c, odd
  return d
})");
}

/// Vectors that extend past row ends, read by pairs, by fours and element by element. The last
/// vector is partial.
class RowsThatVectorsDoNotDivide : public testing::TestWithParam<std::string> {};

TEST_P(RowsThatVectorsDoNotDivide, AreProcessedAsOneRow) {
  const std::string text = fmt::format(R"(
graph rows(x: bf16[{0}], bias: bf16[{1}], scale: f32[{2}], whole: i32[{1}] {{range = [1, 9]}}) {{
  b = add x, bias
  f = cast b {{to = f32}}
  y = mul f, scale
  i = cast x {{to = i32}}
  q = floordiv i, whole
  r = add b, x
  return y, q, r
}})",
                                       "37, " + GetParam(), GetParam(), "37, 1");
  run_and_check(text, {}, {.misaligned = true, .options = {.skip = {"fuse_launches"}}});
  run_and_check(text);
}

INSTANTIATE_TEST_SUITE_P(Columns, RowsThatVectorsDoNotDivide,
                         testing::Values("33", "34", "36", "38"));

TEST(Pointwise, SymbolicRowsAndColumns) {
  for (const std::int64_t columns : {16, 21})
    run_and_check(R"(
graph bias(x: bf16[rows, columns], bias: bf16[columns]) {
  y = add x, bias
  z = relu y
  return z
})",
                  {{"rows", 13}, {"columns", columns}}, {.misaligned = true});
}

TEST(Pointwise, ViewsAreReadInPlace) {
  run_and_check(R"(
graph views(x: f32[6, 8, 10]) {
  p = permute x {axes = [2, 0, 1]}
  a = add p, 1.0
  r = reshape x {shape = [48, 10]}
  s = slice r {axis = 1, begin = 2, end = -1, step = 3}
  b = mul s, 2.0
  t = reshape p {shape = [20, 24]}
  c = neg t
  u = slice x {axis = 0, begin = 1, end = 5}
  return a, b, c, u
})");
}

TEST(Pointwise, OutputsMayBeViewsOrInputs) {
  run_and_check(R"(
graph outputs(x: f32[6, 8]) {
  y = exp x
  t = permute y {axes = [1, 0]}
  r = reshape y {shape = [2, 24]}
  f = full {shape = [3, 3], value = 2.5, dtype = bf16}
  i = iota {extent = 9, start = 3, step = -2}
  return y, t, r, f, i, x
})");
}

TEST(Pointwise, ConcatReadsTheSegmentOfTheElement) {
  run_and_check(R"(
graph joins(x: f32[5, 8], y: f32[5, 3], z: f32[2, 8]) {
  a = concat x, y, x {axis = 1}
  e = exp x
  b = concat e, z {axis = 0}
  c = mul b, 2.0
  s = sum a {axes = [1]}
  return a, c, s
})");
}

TEST(Pointwise, TakeWrapsAndClamps) {
  run_and_check(R"(
graph gathers(table: bf16[50, 24], ids: i64[4, 5] {range = [-60, 60]}, x: f32[6, 9], at: i32[6, 3] {range = [-12, 12]}) {
  e = take table, ids {axis = 0}
  c = take x, at {axis = 1}
  t = take_along_axis x, at {axis = 1}
  u = mul t, 2.0
  return e, c, u
})");
}

TEST(Pointwise, SpecialConstants) {
  run_and_check(R"(
graph specials(x: f32[100]) {
  a = add x, inf
  b = mul x, nan
  c = where true, x, -inf
  d = maximum x, -0.0
  e = minimum a, b
  f = pow x, 2
  g = div 1.0, x
  return a, b, c, d, e, f, g
})");
}

TEST(Pointwise, EmptyArraysLaunchNothing) {
  const RunResult run = run_and_check(R"(
graph nothing(x: f32[rows, 8]) {
  y = exp x
  s = sum y {axes = [1]}
  return y, s
})",
                                      {{"rows", 0}});
  EXPECT_EQ(run.launches, 0);
}

TEST(Pointwise, ScalarsAreParameters) {
  run_and_check(R"(
graph sgd(weight: f32[10, 64], gradient: f32[10, 64], lr: f32, half: bf16) {
  step = mul gradient, lr
  new = sub weight, step
  h = cast new {to = bf16}
  s = mul h, half
  update weight, new
  return s
})");
}

TEST(Pointwise, UpdatesReadTheOldContents) {
  run_and_check(R"(
graph swap(a: f32[64], b: f32[64], t: f32[8, 8], c: f32[64]) {
  u = permute t {axes = [1, 0]}
  d = add a, b
  m = max c {axes = [0], keep = true}
  n = sub c, m
  update a, b
  update b, a
  update t, u
  update c, n
  return d
})");
}

TEST(Casts, BetweenAllDTypes) {
  Graph graph("casts");
  for (const DTypeInfo& row : kDTypes) {
    const DType from = row.dtype;
    const Tensor x = graph.input("x_" + std::string(name(from)), from, {29});
    for (const DTypeInfo& other : kDTypes)
      if (other.dtype != from)
        graph.output(fmt::format("{}_to_{}", row.name, other.name), cast(x, other.dtype));
  }
  run_and_check(graph, {}, {.candidates = false});
}

/// Integers with more than 53 bits near the midpoint of two halves. A conversion through double
/// would round them twice.
TEST(Casts, WideIntegersToHalvesRoundOnce) {
  run_and_check(R"(
graph wide(zero: i64[1] {range = [0, 0]}) {
  i = iota {extent = 4096, start = 1157425104234215424}
  s = iota {extent = 64, start = 65500}
  x = add i, zero
  m = neg x
  t = add s, zero
  a = cast x {to = bf16}
  b = cast m {to = bf16}
  c = cast t {to = f16}
  d = cast t {to = bf16}
  return a, b, c, d
})");
}

TEST(Pointwise, GathersInBothHalvesOfAConcat) {
  run_and_check(R"(
graph gathers(x: f32[3, 17], at: i32[5], p: f32[2, 4], q: i32[2, 4] {range = [0, 1]}) {
  t = take x, at {axis = 1}
  c = concat t, t {axis = 0}
  g = take_along_axis p, q {axis = 0}
  d = concat g, p, g {axis = 1}
  n = take d, at {axis = 0}
  e = concat n, n {axis = 1}
  return c, d, e
})");
}

TEST(Pointwise, IntegersHaveNoNegativeZero) {
  const RunResult result = run_and_check(R"(
graph whole(x: f32[64] {range = [-3, 3]}, d: f64[64] {range = [-3, 3]}) {
  i = cast x {to = i32}
  y = cast i {to = f32}
  r = div 1.0, y
  j = cast d {to = i64}
  z = cast j {to = f64}
  s = div 1.0, z
  return r, s
})");
  for (const char* name : {"r", "s"})
    for (std::int64_t at = 0; at < 64; ++at)
      EXPECT_NE(result.results.at(name).real(std::array{at}),
                -std::numeric_limits<double>::infinity());
}

/// Positions fit the index type, but values computed from them may not.
TEST(Pointwise, ValuesFromPositionsAndSizesHave64Bits) {
  run_and_check(R"(
graph iotastep(x: i64[100000]) {
  i = iota {extent = 100000, step = 100000, dtype = i64}
  y = add i, x
  return y
}
)");
  run_and_check(R"(
graph sizes(x: i64[n], y: f32[m], z: f32[8]) {
  c = size {extent = n * m * 1000000, dtype = i64}
  d = add x, c
  e = iota {extent = 8, start = 2147483644, dtype = i64}
  f = cast e {to = f32}
  g = mul f, z
  return d, g, h = y
})",
                {{"n", 65}, {"m", 77}});
}

}  // namespace
}  // namespace sinter::test::pointwise_test
