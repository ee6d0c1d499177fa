#include "tests/virtual_gpu/driver/module_image.h"

#include <optional>

#include <gtest/gtest.h>

namespace sinter::virtual_gpu::driver::module_image_test {
namespace {

/// The code with which an image is refused; success if it is accepted.
CUresult code_of(const char* image, int driver_version = 13000, int capability = 90) {
  try {
    static_cast<void>(checked_ptx(image, driver_version, capability));
  } catch (const Refusal& refusal) {
    return refusal.code;
  }
  return CUDA_SUCCESS;
}

TEST(ModuleImageTest, AcceptsPtxText) {
  EXPECT_EQ(code_of("//\n// Comment\n\n.version 9.0\n.target sm_90\n"), CUDA_SUCCESS);
  EXPECT_EQ(code_of(".version 8.0\n.target sm_75, debug\n"), CUDA_SUCCESS);
}

TEST(ModuleImageTest, RefusesBinaries) {
  EXPECT_EQ(code_of("\177ELF\2\1\1"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(code_of("\x50\xED\x55\xBA"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(ModuleImageTest, RefusesOtherBytes) {
  EXPECT_EQ(code_of(""), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(code_of("P"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(code_of("__global__ void f() {}"), CUDA_ERROR_INVALID_IMAGE);
}

TEST(ModuleImageTest, RefusesPtxThatIsNewerThanTheDriver) {
  const char* const ptx84 = ".version 8.4\n.target sm_90\n";
  EXPECT_EQ(code_of(ptx84, 12040), CUDA_SUCCESS);
  EXPECT_EQ(code_of(ptx84, 12030), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(code_of(".version 9.0\n.target sm_90\n", 12090), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

TEST(ModuleImageTest, KnowsThePtxOfDrivers) {
  EXPECT_EQ(newest_ptx_version(12000), 80);
  EXPECT_EQ(newest_ptx_version(12060), 85);
  EXPECT_EQ(newest_ptx_version(12080), 87);
  EXPECT_EQ(newest_ptx_version(13000), 90);
}

TEST(ModuleImageTest, RefusesCodeForLaterDevices) {
  EXPECT_EQ(code_of(".version 8.0\n.target sm_90\n", 13000, 80), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(code_of(".version 8.0\n.target sm_80\n", 13000, 90), CUDA_SUCCESS);
}

TEST(ModuleImageTest, SpecificTargetsRunOnTheirDevicesOnly) {
  EXPECT_TRUE(can_run("sm_90a", 90));
  EXPECT_FALSE(can_run("sm_90a", 100));
  EXPECT_TRUE(can_run("sm_100f", 103));
  EXPECT_FALSE(can_run("sm_100f", 110));
  EXPECT_FALSE(can_run("sm_103f", 100));
  EXPECT_TRUE(can_run("sm_75", 120));
  EXPECT_FALSE(can_run("compute_75", 120));
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::module_image_test
