// Stored results that are views of values which other kernels read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run/run.h"

namespace sinter::test::store_views_host_test {
namespace {

/// The second kernel reads the stored result instead of its two operands.
TEST(StoredViews, OtherKernelsReadTheStoredView) {
  const RunResult run = run_and_check(R"(
graph flat(a: f32[301, 205], b: f32[301, 205]) {
  c = add a, b
  v = reshape c {shape = [205, 301]}
  m = max c {axes = [0, 1]}
  y = div c, m
  return v, y
})");
  EXPECT_LT(run.bytes_read, 4 * 301 * 205 * 4);
  EXPECT_LT(run.bytes_written, 3 * 301 * 205 * 4);
}

/// Slices of a view that shuffles an axis, with a broadcast operand.
TEST(StoredViews, ShuffledAxesAreReadInPieces) {
  for (const char* dtype : {"bf16", "f32", "f64", "i32"})
    run_and_check(fmt::format(R"(
graph shuffled(a: {0}[6, 10, 9, 7], b: {0}[10, 1, 1]) {{
  c = add a, b
  split = reshape c {{shape = [6, 5, 2, 9, 7]}}
  swapped = permute split {{axes = [0, 2, 1, 3, 4]}}
  v = reshape swapped {{shape = [6, 10, 9, 7]}}
  half = slice v {{axis = 1, begin = 5, end = 10}}
  m = max half {{axes = [0, 2, 3], keep = true}}
  y = sub half, m
  return v, y
}})",
                              dtype));
}

/// Rows too long for tiles are stored once, in the order in which the next kernel reads them.
TEST(StoredViews, LongRowsAreStoredInTheOrderOfTheReader) {
  const RunResult run = run_and_check(R"(
graph rows(a: bf16[4, 100, 2100], b: bf16[4, 100, 2100], d: bf16[4, 100, 2100]) {
  ab = mul a, b
  x = add ab, d
  p = softmax x {axis = 2}
  v = permute p {axes = [0, 2, 1]}
  c = cast v {to = f32}
  s = sum c {axes = [2]}
  t = max s {axes = [0]}
  return v, t
})",
                                      {}, {.candidates = false, .replay = false});
  EXPECT_LT(run.bytes_written, 4 * 100 * 2100 * 2 * 3 / 2);
}

}  // namespace
}  // namespace sinter::test::store_views_host_test
