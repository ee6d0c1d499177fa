// Start, symbols, devices and contexts.
#include <cstring>
#include <thread>

#include <sys/wait.h>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::device_test {
namespace {

using ::testing::HasSubstr;
using GetProcAddress = CUresult(const char*, void**, int, unsigned long long,
                                CUdriverProcAddressQueryResult*);

using OldGetProcAddress = CUresult(const char*, void**, int, unsigned long long);

constexpr auto kSymbolNotFound = static_cast<CUdriverProcAddressQueryResult>(1);
constexpr auto kVersionNotSufficient = static_cast<CUdriverProcAddressQueryResult>(2);

TEST(VirtualDeviceTest, DescribesItsDevices) {
  const VirtualDriver driver({{"VIRTUAL_GPUS", "sm_90 sms=4, sm_75"}});
  ASSERT_EQ(driver.reason(), "");
  int count = 0;
  EXPECT_EQ(driver->cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  const auto attribute = [&](CUdevice device, CUdevice_attribute which) {
    int value = -1;
    EXPECT_EQ(driver->cuDeviceGetAttribute(&value, which, device), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(attribute(0, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 4);
  EXPECT_EQ(attribute(1, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 40);
  EXPECT_EQ(attribute(1, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 7);
  EXPECT_EQ(attribute(1, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 5);
  EXPECT_EQ(attribute(1, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 1024);
  EXPECT_EQ(attribute(0, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 232448);
  char name[64];
  EXPECT_EQ(driver->cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT_THAT(name, HasSubstr("virtual GPU"));
  EXPECT_EQ(driver->cuDeviceGetName(name, 5, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "virt");
}

TEST(VirtualDeviceTest, ChecksArguments) {
  const VirtualDriver driver;
  int value = 0;
  CUdevice device = 0;
  EXPECT_EQ(driver->cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver->cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(5000), 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, -1),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver->cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

TEST(VirtualDeviceTest, HasNoDeviceIfNoneIsDescribed) {
  const VirtualDriver driver({{"VIRTUAL_GPUS", ""}});
  EXPECT_THAT(driver.reason(), HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

TEST(VirtualDeviceTest, NeedsAStartedDriverAndAContext) {
  const VirtualDriver driver;
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext context = driver.use();
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_SUCCESS);
  CUresult in_other_thread = CUDA_SUCCESS;
  std::thread([&] { in_other_thread = driver->cuMemAlloc(&pointer, 8); }).join();
  EXPECT_EQ(in_other_thread, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver->cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver->cuCtxSetCurrent(reinterpret_cast<CUcontext>(&context)),
            CUDA_ERROR_INVALID_CONTEXT);
}

TEST(VirtualDeviceTest, TellsDestroyedContexts) {
  const VirtualDriver driver;
  const CUcontext context = driver.use();
  auto* const release = driver.find<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease_v2");
  EXPECT_EQ(release(0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), static_cast<CUresult>(709));
  EXPECT_EQ(driver->cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(release(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_NE(driver.use(), context);
}

TEST(VirtualDeviceTest, ChildProcessesCannotUseIt) {
  const VirtualDriver driver;
  driver.use();
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr pointer = 0;
    _exit(static_cast<int>(driver->cuMemAlloc(&pointer, 8)));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), CUDA_ERROR_NOT_INITIALIZED);
}

TEST(VirtualDeviceTest, FailsWhereAFaultIsInjected) {
  const VirtualDriver driver({{"VIRTUAL_GPU_FAULT", "cuMemAlloc:2:2"}});
  driver.use();
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_SUCCESS);
}

TEST(VirtualDeviceTest, NamesErrors) {
  const VirtualDriver driver;
  const char* text = nullptr;
  EXPECT_EQ(driver->cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(driver->cuGetErrorName(static_cast<CUresult>(402), &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_LOSSY_QUERY");
  EXPECT_EQ(driver->cuGetErrorString(static_cast<CUresult>(12345), &text),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST(VirtualSymbolsTest, OlderDriversLackFunctions) {
  const VirtualDriver driver({{"VIRTUAL_GPU_DRIVER", "12030"}});
  ASSERT_EQ(driver.reason(), "");
  EXPECT_EQ(driver->cuFuncGetParamInfo, nullptr);
  EXPECT_NE(driver->cuStreamGetId, nullptr);
  int version = 0;
  EXPECT_EQ(driver->cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 12030);
}

TEST(VirtualSymbolsTest, AnswersByVersion) {
  const VirtualDriver driver({{"VIRTUAL_GPU_DRIVER", "12040"}});
  auto* const get = driver.find<GetProcAddress>("cuGetProcAddress_v2");
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(get("cuStreamBeginCapture", &address, 10000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(address, driver.address("cuStreamBeginCapture"));
  EXPECT_EQ(get("cuStreamBeginCapture", &address, 10010, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(address, driver.address("cuStreamBeginCapture_v2"));
  EXPECT_EQ(get("cuFuncGetParamInfo", &address, 12030, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, kVersionNotSufficient);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(get("cuNoSuchFunction", &address, 12040, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, kSymbolNotFound);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(get("cuMemAlloc_v2", &address, 12040, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, kSymbolNotFound);
  EXPECT_EQ(get("cuEventElapsedTime", &address, 12080, 0, &status), CUDA_ERROR_INVALID_VALUE);
  auto* const old = driver.find<OldGetProcAddress>("cuGetProcAddress");
  EXPECT_EQ(old("cuNoSuchFunction", &address, 12040, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(old("cuInit", &address, 12040, 0), CUDA_SUCCESS);
  EXPECT_EQ(get("cuInit", &address, 12050, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get("cuInit", &address, 12040, 4, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST(VirtualSymbolsTest, ExportsVersionedNames) {
  const VirtualDriver driver;
  for (const char* const name :
       {"cuInit", "cuMemAlloc_v2", "cuStreamDestroy_v2", "cuGetProcAddress",
        "cuGraphAddKernelNode_v2", "virtualGpuLastViolation"})
    EXPECT_NE(driver.address(name), nullptr) << name;
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::device_test
