// Graphs through the whole runtime: compiled, run, replayed, in every form the same bits.
#include "sinter/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/host_driver/host_driver.h"
#include "tests/support/run.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::Each;

TEST(Executable, RunsPointwise) {
  test::run_and_check(R"(
graph bias_relu(x: f32[rows, columns], bias: f32[columns]) {
  sum = add x, bias
  y   = maximum sum, 0.0
  return y
})", {{"rows", 37}, {"columns", 20}}, {.misaligned = true});
}

}  // namespace
}  // namespace sinter
