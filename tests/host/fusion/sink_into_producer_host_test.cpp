// Consumers with smaller results are fused into the producer's kernel, which stores only their
// results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run/run.h"

namespace sinter::test::sink_into_producer_host_test {
namespace {

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
