// Views, random numbers and indexed writes that tests/golden/run does not cover.
#include "tests/support/run/run.h"

#include <gtest/gtest.h>

namespace sinter::test::views_test {
namespace {

TEST(Views, ViewsOfViewsWithSymbols) {
  const char* const text = R"(
graph symbols(x: f32[rows, 24]) {
  a = flip x {axes = [0]}
  b = roll a {shift = 5, axis = 1}
  c = tile b {repeats = [2, 1]}
  d = repeat c {times = 3, axis = 1}
  e = unfold x {axis = 1, size = 4, step = 4}
  f = flip e {axes = [2]}
  g = sum f {axes = [0, 2]}
  h = select x {axis = 0, index = -1}
  s, t = max_with_index x {axis = 1}
  return d, g, h, s, t
})";
  run_and_check(text, {{"rows", 7}});
  run_and_check(text, {{"rows", 1}});
  run_and_check(text, {{"rows", 64}});
}

TEST(Views, ReversedReshapesAndRepeats) {
  run_and_check(R"(
graph backwards(x: f32[8, 6], y: f32[n, 6]) {
  a = reshape x {shape = [2, 6, 4]}
  b = flip a {axes = [2]}
  c = reshape b {shape = [6, 8]}
  d = flip c {axes = [0, 1]}
  e = repeat y {times = 3, axis = 1}
  f = cumsum e {axis = 1, reverse = true}
  g = reshape y {shape = [2, n, 3]}
  h = pad_reflect g {low = [0, 0, 1], high = [0, 0, 2]}
  i = flip h {axes = [0, 1, 2]}
  j = flip g {axes = [2]}
  k = concat g, j {axis = 2}
  return b, d, f, i, k
})",
                {{"n", 5}});
}

TEST(Views, SlicesOfRowsAreStoredByTheRowKernel) {
  const RunResult result = run_and_check(R"(
graph sink(x: f32[6, 40, 33], s: f32[6]) {
  sinks = reshape s {shape = [6, 1, 1]}
  column = broadcast_to sinks {shape = [6, 40, 1]}
  all = concat x, column {axis = 2}
  m = max all {axes = [2], keep = true}
  d = sub all, m
  e = exp d
  t = sum e {axes = [2], keep = true}
  p = div e, t
  own = slice p {axis = 2, begin = 0, end = 33}
  y = reshape own {shape = [240, 33]}
  c = cumsum all {axis = 2}
  odd = slice c {axis = 2, begin = 1, end = 32, step = 2}
  z = reshape odd {shape = [240, 16]}
  return y, z
})");
  EXPECT_EQ(result.launches, 1);
}

TEST(Views, PermutedRowsAreStoredByTheRowKernel) {
  const RunResult result = run_and_check(R"(
graph windows(x: bf16[2, 8, 12, 24]) {
  f = cast x {to = f32}
  m = mean f {axes = [3], keep = true}
  d = sub f, m
  rows = iota {extent = 8, start = 0, step = 1, dtype = i64}
  lower = add rows, 3
  low = fmod lower, 8
  columns = iota {extent = 12, start = 0, step = 1, dtype = i64}
  further = add columns, 11
  far = remainder further, 12
  a = index d, low {axes = [1]}
  b = index a, far {axes = [2]}
  v = reshape b {shape = [2, 2, 4, 3, 4, 24]}
  p = permute v {axes = [0, 1, 3, 2, 4, 5]}
  y = reshape p {shape = [192, 24]}
  places = iota {extent = 24, start = 0, step = 1, dtype = i64}
  beyond = add places, 5
  round = fmod beyond, 24
  t = index d, round {axes = [3]}
  return y, t, a
})");
  EXPECT_EQ(result.launches, 1);
}

TEST(Random, NumbersDependOnlyOnSeedOffsetAndElement) {
  const char* const text = R"(
graph random(seed: i64[], offset: i64, x: f32[13, 40], h: bf16[9, 64]) {
  a = random_uniform seed {shape = [13, 40]}
  b = random_uniform seed {shape = [9, 64], dtype = bf16, offset = 3}
  c = random_normal seed {shape = [700]}
  d = random_bits seed {shape = [5, 7], offset = 1}
  e = dropout x, seed {probability = 0.25}
  f = dropout h, seed {probability = 0.5}
  g = random_uniform seed {shape = [33], dtype = f64}
  i = random_bernoulli seed {shape = [100], probability = 0.1}
  s = sum e {axes = [1]}
  return a, b, c, d, e, f, g, i, s
})";
  run_and_check(text, {}, {.seed = 3});
  run_and_check(text, {}, {.seed = 4, .candidates = false});
}

TEST(Scatter, ManyIndicesOfFewRows) {
  run_and_check(R"(
graph many(x: f32[3, 33], i: i32[9000] {range = [0, 2]}, s: f32[9000, 33], j: i64[20, 50] {range = [0, 49]}, z: f32[20, 50]) {
  a = index_put x, s, i {axes = [0], accumulate = true}
  b = scatter_add z, j, z {axis = 1}
  c = index_put z, 1.5, j {axes = [1]}
  return a, b, c
})");
}

TEST(Scatter, UpdatesInPlace) {
  const RunResult result = run_and_check(R"(
graph embedding_step(table: f32[50, 8], i: i64[12] {range = [0, 49]}, g: f32[12, 8]) {
  step = mul g, -0.125
  new = index_put table, step, i {axes = [0], accumulate = true}
  update table, new
})");
  EXPECT_EQ(result.launches, 1);
}

TEST(Scatter, StoresSlicesOfItsRows) {
  const RunResult result = run_and_check(R"(
graph fold(dy: f32[90, 40], places: i64[90] {range = [0, 19]}, x: f32[20, 40]) {
  sums = index_put x, dy, places {axes = [0], accumulate = true}
  inside = slice sums {axis = 0, begin = 4, end = 17}
  y = cast inside {to = bf16}
  left = slice sums {axis = 1, begin = 3, end = 40, step = 3}
  turned = permute left {axes = [1, 0]}
  other = index_put x, dy, places {axes = [0]}
  part = slice other {axis = 1, begin = 8, end = 24}
  return y, turned, part
})");
  EXPECT_EQ(result.launches, 1);
}

/// Rows too long to stay resident. Pointwise ops run before and after their sums.
TEST(Scatter, LongRowsAreSummedInPlace) {
  const RunResult result = run_and_check(R"(
graph long_rows(w: f32[140, 12300], dy: f32[30, 12300], rows: i64[30] {range = [0, 9]}, columns: f32[12300]) {
  base = mul w, columns
  sums = index_put base, dy, rows {axes = [0], accumulate = true}
  y = mul w, sums
  u = index_put w, dy, rows {axes = [0]}
  v = mul u, columns
  return y, v
})");
  EXPECT_EQ(result.launches, 1);
}

}  // namespace
}  // namespace sinter::test::views_test
