// The op table on a GPU: every op, reduction, scan and cast, of every dtype. Special values too.
#include <gtest/gtest.h>

#include "tests/support/graphs/every_op.h"
#include "tests/support/run/compare_with_host.h"

namespace sinter::test::op_table_parity_test {
namespace {

class OpParity : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_P(OpParity, EveryOpGivesTheResultsOfTheHostDevice) {
  run_and_compare_with_host(default_device(), every_op(GetParam(), 300), {},
                            {.candidates = false,
                             .replay = false,
                             .unfused = false,
                             .options = {.skip = {"fuse_launches"}}});
}

TEST_P(OpParity, SpecialValuesGiveTheResultsOfTheHostDevice) {
  const GraphWithInputs special = every_op_on_special_values(GetParam());
  const Device gpu = default_device();
  // Compiling all ops of a narrow dtype as one kernel for a real GPU takes more than a minute.
  const RunRequest separate = {.options = {.tune = Tune::off, .fuse = false}};
  const RunResult ours = run_graph(special.graph, gpu, special.inputs, separate);
  expect_special_values_within_bounds(special, ours.results);
  const RunResult theirs = run_graph(special.graph, host_device(), special.inputs, {});
  expect_host_bits(gpu.name(), exact_results(special.graph), ours.results, theirs.results);
}

INSTANTIATE_TEST_SUITE_P(DTypes, OpParity, testing::ValuesIn(computing_dtypes()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace sinter::test::op_table_parity_test
