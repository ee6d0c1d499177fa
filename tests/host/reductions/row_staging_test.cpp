// Rows whose halves are swapped after a norm: read once, and stored in any order or several times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run/run.h"

namespace sinter::test::row_staging_test {
namespace {

/// A norm over the last axis, whose result is rotated: halves are swapped, and one is negated.
std::string rotated(const char* dtype, int rows, const std::string& extent,
                    const std::string& half) {
  return fmt::format(R"(
graph rotated(x: {0}[{1}, {2}], c: {0}[{1}, {2}]) {{
  f = cast x {{to = f32}}
  s = mul f, f
  m = mean s {{axes = [1], keep = true}}
  e = add m, 1.0
  r = rsqrt e
  n = mul f, r
  y = cast n {{to = {0}}}
  high = slice y {{axis = 1, begin = {3}, end = {2}}}
  low = slice y {{axis = 1, begin = 0, end = {3}}}
  other = neg high
  t = concat other, low {{axis = 1}}
  z = mul t, c
  w = add y, z
  return w
}})",
                     dtype, rows, extent, half);
}

std::string rotated(const char* dtype, int rows, int extent) {
  return rotated(dtype, rows, std::to_string(extent), std::to_string(extent / 2));
}

TEST(StagedRows, AreReadOnce) {
  for (const char* dtype : {"bf16", "f32"}) {
    const RunResult run = run_and_check(rotated(dtype, 37, 256));
    const int size = dtype[0] == 'b' ? 2 : 4;
    EXPECT_EQ(run.bytes_read, 2 * 37 * 256 * size);
  }
}

TEST(StagedRows, OddLengths) {
  for (const int extent : {24, 130, 1022})
    run_and_check(rotated("bf16", 19, extent), {}, {.misaligned = true});
}

/// A size class has space for its longest row.
TEST(StagedRows, SymbolicLengths) {
  for (const std::int64_t half : {65, 100, 128}) {
    const RunResult run =
        run_and_check(rotated("bf16", 37, "half * 2", "half"), {{"half", half}}, {.replay = false});
    EXPECT_EQ(run.launches, 1);
    EXPECT_EQ(run.bytes_read, 2 * 37 * 2 * half * 2) << half;
  }
}

/// The pieces have different sizes, but each element still has its own position.
TEST(StagedRows, UnequalPieces) {
  run_and_check(R"(
graph turned(x: f16[33, 96]) {
  p = softmax x {axis = 1}
  high = slice p {axis = 1, begin = 40, end = 96}
  low = slice p {axis = 1, begin = 0, end = 40}
  y = concat high, low {axis = 1}
  return y, p
})");
}

/// Rows are normalised in input order and stored in the order of the permuted result.
TEST(StagedRows, AreStoredInPermutedOrder) {
  const RunResult run = run_and_check(R"(
graph turned(x: bf16[50, 6, 128], c: bf16[50, 128]) {
  f = cast x {to = f32}
  q = mul f, f
  m = mean q {axes = [2], keep = true}
  e = add m, 1.0
  r = rsqrt e
  n = mul f, r
  p = permute n {axes = [1, 0, 2]}
  y = cast p {to = bf16}
  z = mul y, c
  return z
})");
  EXPECT_EQ(run.launches, 1);
  EXPECT_EQ(run.bytes_read, (50 * 6 * 128 + 50 * 128) * 2);
}

/// Each head's result is also the result of its queries.
TEST(Copies, CopiesOfARowAreStoredByItsKernel) {
  for (const char* dtype : {"bf16", "f32", "f64"}) {
    const RunResult run = run_and_check(fmt::format(R"(
graph heads(x: {0}[5, 3, 64]) {{
  turned = permute x {{axes = [1, 0, 2]}}
  p = softmax turned {{axis = 2}}
  q = reshape p {{shape = [3, 1, 5, 64]}}
  r = broadcast_to q {{shape = [3, 2, 5, 64]}}
  y = reshape r {{shape = [6, 5, 64]}}
  return p, y
}})",
                                                    dtype));
    const int size = dtype[0] == 'b' ? 2 : dtype[1] == '3' ? 4 : 8;
    EXPECT_EQ(run.launches, 1);
    EXPECT_EQ(run.bytes_read, 5 * 3 * 64 * size);
    EXPECT_EQ(run.bytes_written, 3 * 5 * 3 * 64 * size);
  }
}

}  // namespace
}  // namespace sinter::test::row_staging_test
