// Pointwise and row kernels with asynchronous copies, executed with all checks. Every candidate
// gives the bits of the default one in any order of warps and copies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "tests/support/graphs/copied_graphs.h"
#include "tests/support/run/run.h"
#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::copied_loads_test {
namespace {

/// A virtual GPU with one SM, so that small arrays fill it.
struct Gpu {
  const char* arch;
  const char* schedule;
  const char* seed;
};

void run(const test::CopiedGraph& graph, const Gpu& gpu) {
  SCOPED_TRACE(
      fmt::format("{} on {}, {} order, seed {}", graph.name, gpu.arch, gpu.schedule, gpu.seed));
  const std::string gpus = fmt::format("{} sms=1", gpu.arch);
  const driver::VirtualDriver driver({{"VIRTUAL_GPUS", gpus.c_str()},
                                      {"VIRTUAL_GPU_SCHEDULE", gpu.schedule},
                                      {"VIRTUAL_GPU_EARLY_STARTS", "on"},
                                      {"VIRTUAL_GPU_SEED", gpu.seed}});
  DeviceState device(*driver.operator->(), 0);
  const bool has_bulk = device.target.compute_capability >= 90;
  EXPECT_EQ(test::candidates_with(Copies::bulk, graph, device.target) > 0, has_bulk);
  EXPECT_GE(test::candidates_with(Copies::thread, graph, device.target), 1);
  test::run_and_check_on(
      Device(&device), parse(graph.text), graph.sizes,
      {.replay = false, .unfused = false, .misaligned = true, .options = {.ptx = true}});
}

class CopiedLoads : public testing::TestWithParam<test::CopiedGraph> {};

TEST_P(CopiedLoads, GivesTheSameBitsInEveryOrder) {
  run(GetParam(), {"sm_90", "adversarial", "1"});
  run(GetParam(), {"sm_90", "random", "2"});
  run(GetParam(), {"sm_80", "adversarial", "3"});
  run(GetParam(), {"sm_100", "random", "4"});
}

std::string name_of(const testing::TestParamInfo<test::CopiedGraph>& graph) {
  return graph.param.name;
}

INSTANTIATE_TEST_SUITE_P(Pointwise, CopiedLoads, testing::ValuesIn(test::copied_graphs()), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, CopiedLoads, testing::ValuesIn(test::copied_row_graphs()), name_of);

}  // namespace
}  // namespace sinter::virtual_gpu::copied_loads_test
