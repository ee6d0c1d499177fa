// Reductions over an axis whose symbolic extent is 0.
#include "tests/support/run/run.h"

#include <gtest/gtest.h>

namespace sinter::test::empty_symbol_test {
namespace {

TEST(EmptySymbol, GivesTheIdentityOfTheRecordedDtype) {
  run_and_check(R"(
graph nothing(x: i8[rows, 3], m: bool[rows, 3], u: u16[rows], f: f32[rows, 3]) {
  a = max x {axes = [0]}
  b = min x {axes = [0]}
  c = any m {axes = [0]}
  d = all m {axes = [0, 1]}
  e = max u {axes = [0]}
  g = prod f {axes = [0]}
  h = max f {axes = [0]}
  return a, b, c, d, e, g, h
})",
                {{"rows", 0}});
}

}  // namespace
}  // namespace sinter::test::empty_symbol_test
