// Early starts, removed instructions, and examinations of the driver double.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::examinations_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Each thread adds 1 to its word.
constexpr const char* kPtx = R"(
.version 8.0
.target sm_90
.address_size 64

.visible .entry count(.param .u64 to)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  griddepcontrol.wait;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd2], %r2;
  ret;
}
)";

/// Launches the kernel three times in a row, and returns the code of the wait for them.
CUresult count_three_times(const VirtualDriver& driver) {
  driver.use();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(driver->cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuModuleGetFunction(&function, module, "count"), CUDA_SUCCESS);
  CUdeviceptr to = driver.memory(128);
  const CUstream stream = driver.stream();
  EXPECT_EQ(driver->cuMemsetD32Async(to, 5, 32, stream), CUDA_SUCCESS);
  void* parameters[] = {&to};
  const CUlaunchConfig config = {.gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .sharedMemBytes = 0,
                                 .hStream = stream,
                                 .attrs = nullptr,
                                 .numAttrs = 0};
  for (int i = 0; i < 3; ++i) {
    // The launches before it may have failed already.
    const CUresult launched = driver->cuLaunchKernelEx(&config, function, parameters, nullptr);
    if (launched != CUDA_SUCCESS) return launched;
  }
  const CUresult result = driver->cuStreamSynchronize(stream);
  if (result == CUDA_SUCCESS) {
    EXPECT_THAT(driver.words(to, 32), testing::Each(8));
  }
  return result;
}

TEST(VirtualEarlyStartTest, AKernelThatWaitsIsCorrect) {
  const VirtualDriver driver{{"VIRTUAL_GPU_EARLY_STARTS", "on"}};
  EXPECT_EQ(count_three_times(driver), CUDA_SUCCESS);
}

TEST(VirtualEarlyStartTest, AMissingWaitIsARace) {
  const VirtualDriver driver{{"VIRTUAL_GPU_EARLY_STARTS", "on"}, {"VIRTUAL_GPU_REMOVE", "count:1"}};
  EXPECT_EQ(count_three_times(driver), CUDA_ERROR_LAUNCH_FAILED);
}

TEST(VirtualEarlyStartTest, WithoutEarlyStartsAMissingWaitDoesNotMatter) {
  const VirtualDriver driver{{"VIRTUAL_GPU_REMOVE", "count:1"}};
  EXPECT_EQ(count_three_times(driver), CUDA_SUCCESS);
}

TEST(VirtualEarlyStartTest, AMutationThatTheKernelDoesNotHaveIsAnError) {
  const VirtualDriver driver{{"VIRTUAL_GPU_REMOVE", "count:2"}};
  driver.use();
  CUmodule module = nullptr;
  EXPECT_EQ(driver->cuModuleLoadData(&module, kPtx), CUDA_ERROR_INVALID_PTX);
}

TEST(ExaminationsTest, WritesOneLinePerMutation) {
  const std::string file = std::filesystem::temp_directory_path() / "examinations_test_of_driver";
  std::filesystem::remove(file);
  {
    const VirtualDriver driver{{"VIRTUAL_GPU_EARLY_STARTS", "on"},
                               {"VIRTUAL_GPU_EXAMINE", file.c_str()}};
    EXPECT_EQ(count_three_times(driver), CUDA_SUCCESS);
  }
  std::ifstream lines(file);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  // The first launch follows a fill, so it starts late. The second one shows the missing wait.
  EXPECT_THAT(found, ElementsAre(StartsWith("count\t1\tgrid wait\t13\trace\tfair\tkernel count")));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::examinations_test
