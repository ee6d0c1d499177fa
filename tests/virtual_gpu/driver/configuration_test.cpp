#include "tests/virtual_gpu/driver/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::virtual_gpu::driver::configuration_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Configuration read(const char* variable, const char* value) {
  return read_configuration(
      [&](const char* name) { return std::string_view(name) == variable ? value : nullptr; });
}

TEST(ConfigurationTest, HasOneDeviceWithoutVariables) {
  const Configuration configuration = read("", nullptr);
  EXPECT_THAT(configuration.devices,
              ElementsAre(DeviceDescription{.capability = 90, .sm_count = 4}));
  EXPECT_EQ(configuration.driver_version, 13000);
  EXPECT_EQ(configuration.schedule, Schedule::fair);
  EXPECT_FALSE(configuration.approximations_have_errors);
  EXPECT_THAT(configuration.problem, IsEmpty());
}

TEST(ConfigurationTest, ReadsDevices) {
  EXPECT_THAT(read("VIRTUAL_GPUS", "sm_90 sms=4, sm_75 sms=2 memory=3m l2=64k coherent").devices,
              ElementsAre(DeviceDescription{.capability = 90, .sm_count = 4},
                          DeviceDescription{.capability = 75,
                                            .sm_count = 2,
                                            .memory_bytes = 3 << 20,
                                            .l2_bytes = 64 << 10,
                                            .is_coherent = true}));
  EXPECT_THAT(
      read("VIRTUAL_GPUS", "sm_120 no_clusters").devices,
      ElementsAre(DeviceDescription{.capability = 120, .sm_count = 0, .lacks_clusters = true}));
  EXPECT_THAT(read("VIRTUAL_GPUS", "").devices, IsEmpty());
}

TEST(ConfigurationTest, ReadsFaults) {
  EXPECT_THAT(read("VIRTUAL_GPU_FAULT", "cuMemAlloc:2:2,cuLaunchKernelEx:1:719").faults,
              ElementsAre(Fault{.function = "cuMemAlloc", .call = 2, .code = 2},
                          Fault{.function = "cuLaunchKernelEx", .call = 1, .code = 719}));
}

TEST(ConfigurationTest, ReadsSchedules) {
  EXPECT_EQ(read("VIRTUAL_GPU_SCHEDULE", "adversarial").schedule, Schedule::adversarial);
  EXPECT_EQ(read("VIRTUAL_GPU_SEED", "18446744073709551615").seed, UINT64_MAX);
  EXPECT_TRUE(read("VIRTUAL_GPU_APPROXIMATIONS", "seeded").approximations_have_errors);
  EXPECT_TRUE(read("VIRTUAL_GPU_PTX", "any").accepts_newer_ptx);
}

TEST(ConfigurationTest, ReadsMutations) {
  EXPECT_EQ(read("VIRTUAL_GPU_REMOVE", "sum_1f:3").removed,
            (MutationName{.kernel = "sum_1f", .number = 3}));
  EXPECT_FALSE(read("", nullptr).removed.has_value());
  EXPECT_TRUE(read("VIRTUAL_GPU_EARLY_STARTS", "on").starts_early);
  EXPECT_FALSE(read("", nullptr).starts_early);
  EXPECT_TRUE(read("VIRTUAL_GPU_ON_DEMAND", "on").runs_on_demand);
  EXPECT_FALSE(read("VIRTUAL_GPU_EARLY_STARTS", "on").runs_on_demand);
  EXPECT_EQ(read("VIRTUAL_GPU_EXAMINE", "/a b").examinations_file, "/a b");
}

TEST(ConfigurationTest, ReportsProblems) {
  EXPECT_THAT(read("VIRTUAL_GPUS", "sm_12").problem, HasSubstr("VIRTUAL_GPUS=sm_12"));
  EXPECT_THAT(read("VIRTUAL_GPUS", "sm_90 sms=x").problem, HasSubstr("sms=x"));
  EXPECT_THAT(read("VIRTUAL_GPU_DRIVER", "11080").problem, HasSubstr("11080"));
  EXPECT_THAT(read("VIRTUAL_GPU_SCHEDULE", "slow").problem, HasSubstr("slow"));
  EXPECT_THAT(read("VIRTUAL_GPU_FAULT", "cuMemAlloc:0:2").problem, HasSubstr("cuMemAlloc:0:2"));
  EXPECT_THAT(read("VIRTUAL_GPU_FAULT", "cuMemAlloc:2").problem, HasSubstr("cuMemAlloc:2"));
  EXPECT_THAT(read("VIRTUAL_GPU_REMOVE", "sum_1f").problem, HasSubstr("REMOVE=sum_1f"));
  EXPECT_THAT(read("VIRTUAL_GPU_REMOVE", "sum_1f:0").problem, HasSubstr("sum_1f:0"));
  EXPECT_THAT(read("VIRTUAL_GPU_EARLY_STARTS", "yes").problem, HasSubstr("EARLY_STARTS=yes"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::configuration_test
