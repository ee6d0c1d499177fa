// Drivers from CUDA 12.0 on: the product runs without the functions that they lack. If a driver
// does not accept the code of a newer compiler, the error says what to do.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/product/lifecycle.h"

namespace sinter::virtual_gpu::driver_versions_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kGpus = "sm_90 sms=4 l2=64k, sm_90 sms=4 l2=64k";

std::vector<float> run(const Lifecycle& lifecycle, const char* version) {
  const TestDriver driver(
      {{"VIRTUAL_GPUS", kGpus}, {"VIRTUAL_GPU_DRIVER", version}, {"VIRTUAL_GPU_PTX", "any"}});
  EXPECT_EQ(driver.table().version, std::stoi(version));
  const TwoGpus gpus(driver);
  return lifecycle.run(gpus);
}

TEST(DriverVersions, GiveTheSameResults) {
  const test::ScratchFolder folder;
  const Lifecycle lifecycle(folder.path());
  const std::vector<float> newest = run(lifecycle, "13000");
  for (const char* const version : {"12000", "12010", "12020", "12030", "12040", "12050", "12060",
                                    "12080", "12090", "13010", "13020"})
    EXPECT_EQ(run(lifecycle, version), newest) << version;
}

TEST(DriverVersions, LackOnlyOptionalFunctions) {
  for (const char* const version : {"12000", "12030", "12040"}) {
    const TestDriver driver({{"VIRTUAL_GPU_DRIVER", version}});
    EXPECT_EQ(driver.reason(), "");
    EXPECT_EQ(driver.table().cuFuncGetParamInfo != nullptr, std::stoi(version) >= 12040);
  }
}

/// The compiler of the tests may be older than the driver: then the code is accepted.
TEST(DriverVersions, RefusedCodeIsExplained) {
  const test::ScratchFolder folder;
  const Lifecycle lifecycle(folder.path());
  const TestDriver driver({{"VIRTUAL_GPUS", kGpus}, {"VIRTUAL_GPU_DRIVER", "12000"}});
  const TwoGpus gpus(driver);
  try {
    (void)lifecycle.run(gpus);
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code(), 222);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("cuModuleLoadData failed on the cuda device for "),
                      HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (error 222: "),
                      HasSubstr("update the NVIDIA driver, or set SINTER_NVRTC to a library that "
                                "is not newer than the driver")));
  }
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver_versions_test
