// Slices of flattened results, computed in the iteration space of the whole result if that reads
// less.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run/run.h"

namespace sinter::test::sliced_whole_test {
namespace {

/// Rows of 61 elements, cut at the ends of rows of 80. The reads of both concat halves are known
/// exactly.
TEST(SlicedWhole, ReadsEachPieceOnce) {
  for (const char* dtype : {"bf16", "f32", "i64"}) {
    const RunResult run = run_and_check(fmt::format(R"(
graph cut(a: {0}[3, 80, 30], b: {0}[3, 80, 31], c: {0}[3, 80, 61]) {{
  whole = concat a, b {{axis = 2}}
  high = slice c {{axis = 1, begin = 40, end = 80}}
  low = slice c {{axis = 1, begin = 0, end = 40}}
  halves = concat high, low {{axis = 1}}
  sum = add whole, halves
  flat = reshape sum {{shape = [3, 61, 80]}}
  v = slice flat {{axis = 1, begin = 0, end = 60}}
  w = reshape v {{shape = [180, 80]}}
  return w
}})",
                                                    dtype));
    const int size = dtype[0] == 'b' ? 2 : dtype[0] == 'f' ? 4 : 8;
    EXPECT_LE(run.bytes_read, 2 * 3 * 80 * 61 * size);
  }
}

/// A reduced row, and a slice of all rows whose ends are within rows.
TEST(SlicedWhole, SlicesOfReducedRows) {
  run_and_check(R"(
graph rows(x: f32[12, 35]) {
  p = softmax x {axis = 1}
  flat = reshape p {shape = [420]}
  v = slice flat {axis = 0, begin = 17, end = 391}
  y = reshape v {shape = [2, 187]}
  return p, y
})");
}

}  // namespace
}  // namespace sinter::test::sliced_whole_test
