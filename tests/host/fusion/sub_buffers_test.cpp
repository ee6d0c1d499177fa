// Concats whose operands are stored directly into sub-buffers of the result.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graphs/lists.h"
#include "tests/support/run/run.h"

namespace sinter::test::sub_buffers_test {
namespace {

/// Only the result is written, and once.
TEST(SubBuffers, RowsAreWrittenOnce) {
  const RunResult run = run_and_check(R"(
graph rows(a: f32[64, 128], b: f32[32, 128], c: f32[7, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  r = softmax c {axis = 1}
  y = concat p, q, r {axis = 0}
  return y
})");
  EXPECT_EQ(run.launches, 1);
  EXPECT_EQ(run.bytes_written, (64 + 32 + 7) * 128 * 4);
  EXPECT_EQ(run.bytes_read, (64 + 32 + 7) * 128 * 4);
}

TEST(SubBuffers, AlongTheLastAxisWithOddWidths) {
  const RunResult run = run_and_check(R"(
graph heads(a: bf16[40, 61], b: bf16[40, 64]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 1}
  return y
})",
                                      {}, {.misaligned = true});
  EXPECT_EQ(run.bytes_written, 40 * 125 * 2);
}

TEST(SubBuffers, OperandsMayBeReadAndReturned) {
  run_and_check(R"(
graph both(a: f32[61, 128], b: f32[32, 128], w: f32[96, 128]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 0}
  y = concat p, q, p {axis = 0}
  s = sum y {axes = [1]}
  t = cumsum q {axis = 0}
  return y, q, s, t
})");
}

/// The offsets change between runs, in bound arrays and in the arena.
TEST(SubBuffers, SymbolicSizes) {
  for (const std::int64_t n : {1, 5, 48, 0})
    run_and_check(R"(
graph rows(a: f32[n, 24], b: f32[32, 24]) {
  p = softmax a {axis = 1}
  q = softmax b {axis = 1}
  y = concat p, q {axis = 0}
  z = concat q, p {axis = 0}
  c = sum z {axes = [0]}
  return y, c
})",
                  {{"n", n}});
}

}  // namespace
}  // namespace sinter::test::sub_buffers_test
