// Consumers with smaller results are fused into the producer's kernel, which stores only their
// results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run/run.h"

namespace sinter::test::sink_into_producer_host_test {
namespace {

/// The kernel of y computes c itself, and does not store it. The concat, which the product needs
/// before y, must not move into that kernel.
TEST(SinkIntoProducer, ConcatsStayOutOfGroupsThatDependOnThem) {
  run_and_check(R"(
graph padded_product(s: i32[49, 1], b: i8[4, 4]) {
  c = cast s {to = i8}
  w = full {shape = [], value = 0, dtype = i8}
  z = broadcast_to w {shape = [49, 3]}
  d = concat c, z {axis = 1}
  m = matmul d, b {transpose_b = true, result = i32}
  e = slice m {axis = 1, begin = 0, end = 1, step = 1}
  f = cast c {to = i32}
  h = neg f
  y = sub e, h
  return y
})");
}

/// A slice of a scatter is rounded, returned and reduced. The scatter does not store its sums.
TEST(SinkIntoProducer, ScatterStoresOnlyTheSlice) {
  for (const char* dtype : {"f32", "f64"}) {
    const RunResult run = run_and_check(fmt::format(R"(
graph pieces(base: {0}[52, 96], at: i64[300], x: {0}[300, 96]) {{
  z = scatter base, at, x {{accumulate = true}}
  p = slice z {{axis = 0, begin = 3, end = 48}}
  y = cast p {{to = bf16}}
  w = cast y {{to = f32}}
  s = sum w {{axes = [0]}}
  return y, s
}})",
                                                    dtype));
    EXPECT_LT(run.bytes_written, 52 * 96 * 4);
  }
}

}  // namespace
}  // namespace sinter::test::sink_into_producer_host_test
