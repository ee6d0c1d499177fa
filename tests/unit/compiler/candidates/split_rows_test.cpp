// Rows that are split over blocks: the registers that their schedules reserve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/plan.h"
#include "tests/support/graphs/planned.h"

namespace sinter::split_rows_test {
namespace {

using test::planned;

using ::testing::Each;
using ::testing::Field;

const SharedSchedules& full_argmax_of(const std::string& elements) {
  static Program program;
  program =
      planned("graph g(x: f32[" + elements + "]) {\n  y = argmax x {axis = 0}\n  return y\n}");
  return program.kernels.at(0).candidates;
}

/// 1,024 blocks of 256 threads on 132 SMs run at once if each thread has at most 32 registers.
TEST(SplitRows, ReserveRegistersForOneWave) {
  EXPECT_EQ(full_argmax_of("16777216").front().threads, 256);
  EXPECT_EQ(full_argmax_of("16777216").front().blocks_per_sm, 8);
}

TEST(SplitRows, FewBlocksReserveNothing) {
  EXPECT_THAT(full_argmax_of("1048576").list(), Each(Field(&Schedule::blocks_per_sm, 0)));
}

TEST(SplitRows, NoRowsReserveNothing) {
  const Graph graph =
      parse("graph g(x: f32[rows, 16384]) {\n  y = sum x {axes = [1]}\n  return y\n}");
  const Program program = plan(graph, *find_target("h200"), {.symbols = {0}}, {});
  EXPECT_THAT(program.kernels.at(0).candidates.list(), Each(Field(&Schedule::blocks_per_sm, 0)));
}

}  // namespace
}  // namespace sinter::split_rows_test
