// The target that a device plans for: its own, or a named one.
#include "runtime/execution/plan_target.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "runtime/driver/host/host_driver.h"
#include "tests/support/files/errors.h"

namespace sinter::test::plan_target_test {
namespace {

/// A GPU as seen by the planner.
struct Gpu {
  Gpu() {
    state.is_host = false;
    state.name = "NVIDIA H200";
    state.target = target_named("h200");
    state.target.sm_count = 66;  // half of the SMs, as in a MIG partition
  }
  DeviceState state{host::host_driver(), 0};
};

TEST(PlanTargetTest, GpusPlanForThemselves) {
  const Gpu gpu;
  EXPECT_EQ(plan_target(gpu.state, {}).sm_count, 66);
  EXPECT_EQ(error_of([&] { plan_target(gpu.state, {.target = "a100"}); }),
            "options.target is a100, but NVIDIA H200 is planned for as itself; leave it empty");
}

TEST(PlanTargetTest, TheHostDevicePlansForAnyTarget) {
  const DeviceState host(host::host_driver(), 0);
  EXPECT_EQ(plan_target(host, {}).name, host.target.name);
  EXPECT_EQ(plan_target(host, {.target = "a100"}).arch, "sm_80");
  const std::string error = error_of([&] { plan_target(host, {.target = "z80"}); });
  EXPECT_EQ(error.find("options.target: there is no GPU z80; known are "), 0U) << error;
  EXPECT_NE(error.find("a100"), error.npos) << error;
}

/// A device as it is for users, who set no variable.
TEST(PlanTargetTest, TheHostDevicePlansForTheCpuByDefault) {
  const std::string of_tests = std::getenv("SINTER_HOST_TARGET");
  unsetenv("SINTER_HOST_TARGET");
  const DeviceState host(host::host_driver(), 0);
  setenv("SINTER_HOST_TARGET", of_tests.c_str(), 1);
  EXPECT_EQ(plan_target(host, {}).name, "cpu");
  EXPECT_EQ(plan_target(host, {.target = "h200"}).name, "h200");
  EXPECT_EQ(plan_target(host, {.also_nvrtc = true}).name, "h200") << "NVRTC compiles for GPUs";
}

TEST(PlanTargetTest, TestsPlanForAGpu) {
  EXPECT_EQ(DeviceState(host::host_driver(), 0).target.name, std::getenv("SINTER_HOST_TARGET"));
}

}  // namespace
}  // namespace sinter::test::plan_target_test
