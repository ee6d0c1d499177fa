// Pointwise and row kernels that copy their operands to shared memory. Every candidate gives the
// bits of the unfused graph and moves the predicted bytes.
#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/graphs/copied_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::test::copied_loads_test {
namespace {

class CopiedOnHost : public testing::TestWithParam<CopiedGraph> {};

TEST_P(CopiedOnHost, EveryCandidateGivesTheSameBits) {
  const CopiedGraph& graph = GetParam();
  DeviceState device(host::host_driver(), 0);
  device.target = with_few_sms("sm_90");
  EXPECT_GE(candidates_with(Copies::bulk, graph, device.target), 1);
  EXPECT_EQ(candidates_with(Copies::thread, graph, device.target), 1);
  run_and_check_on(Device(&device), parse(graph.text), graph.sizes, {.misaligned = true});
}

std::string name_of(const testing::TestParamInfo<CopiedGraph>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Pointwise, CopiedOnHost, testing::ValuesIn(copied_graphs()), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, CopiedOnHost, testing::ValuesIn(copied_row_graphs()), name_of);

}  // namespace
}  // namespace sinter::test::copied_loads_test
