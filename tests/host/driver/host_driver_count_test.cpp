// The counting build: bytes that are counted once per source line, launch counters, and illegal
// accesses.
#include "sinter/error.h"
#include "tests/host/driver/host_driver_fixture.h"

#include <gmock/gmock.h>

namespace sinter::host_driver_count_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HostDriverCountTest : public HostDriverTest {
 protected:
  /// Launches a counting build of the kernel once and returns its counters.
  template <class... Parameters>
  host::Launch count(const HostKernel& kernel, const Shape& shape, Parameters... parameters) {
    const CUfunction counting = function(kernel, /*count=*/true);
    host::reset_counters();
    check(driver, launch(counting, shape, parameters...), "cuLaunchKernelEx", "a test");
    check(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize", "a test");
    return host::counters().launches.at(0);
  }
};

TEST_F(HostDriverCountTest, CountsBytesReadAndWritten) {
  const CUdeviceptr x = upload(std::vector<float>(1000)), y = allocate(4000);
  const host::Launch launch = count(increment_kernel(), {.blocks = 4, .threads = 256}, x, y, 1000);
  EXPECT_EQ(launch.kernel, "increment");
  EXPECT_EQ(launch.grid[0], 4u);
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.bytes_read, 4000u);
  EXPECT_EQ(launch.bytes_written, 4000u);
  EXPECT_EQ(host::counters().bytes_read, 4000u);
}

TEST_F(HostDriverCountTest, CountsBroadcastsOncePerLine) {
  const HostKernel kernel{.entry = "passes", .text = R"(
extern "C" __global__ void passes(const float* x, const float* bias, float* y) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  const Vector<float, 4> b = load<4>(bias, i % 64);
  Vector<float, 4> sum = load<4>(x, i);
  const Vector<float, 4> again = load_streaming<4>(x, i);
  for (int k = 0; k < 4; ++k) sum[k] += b[k] + again[k];
  store<4>(y, i, sum);
  store<4>(y, i, sum);
}
)"};
  const CUdeviceptr x = upload(std::vector<float>(1024)), bias = upload(std::vector<float>(64));
  const host::Launch launch = count(kernel, {.blocks = 4, .threads = 64}, x, bias, allocate(4096));
  EXPECT_EQ(launch.bytes_read, 4096u + 4096u + 256u);
  EXPECT_EQ(launch.bytes_written, 2 * 4096u);
}

TEST_F(HostDriverCountTest, CountsOverlappingAccessesOfOneLineOnce) {
  const HostKernel kernel{.entry = "window", .text = R"(
extern "C" __global__ void window(const float* x, float* y) {
  float sum = 0.0f;
  for (int k = 0; k < 3; ++k) sum += load(x, threadIdx.x + k);
  store(y, threadIdx.x, sum);
}
)"};
  const CUdeviceptr x = upload(std::vector<float>(66));
  EXPECT_EQ(count(kernel, {.threads = 64}, x, allocate(256)).bytes_read, 66u * 4);
}

TEST_F(HostDriverCountTest, CountsEveryBlockOfALargeGrid) {
  const CUdeviceptr x = upload(std::vector<float>(1 << 20)), y = allocate(4 << 20);
  const Shape shape{.blocks = 4096, .threads = 256};
  const host::Launch launch = count(increment_kernel(), shape, x, y, 1 << 20);
  EXPECT_EQ(launch.bytes_read, 4u << 20);
  EXPECT_EQ(launch.bytes_written, 4u << 20);
}

TEST_F(HostDriverCountTest, AnOrdinaryBuildCountsNoBytes) {
  const CUdeviceptr x = upload(std::vector<float>(16));
  ASSERT_EQ(launch(function(increment_kernel()), {.threads = 16}, x, x, 16), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(host::counters().kernels, 1u);
  EXPECT_EQ(host::counters().bytes_read, 0u);
}

TEST_F(HostDriverCountTest, ReportsKernelLineAndThreadOfIllegalAccesses) {
  const HostKernel kernel{.entry = "outside", .text = R"(
extern "C" __global__ void outside(const float* x, float* y) {
  const float value = load(x, threadIdx.x);
  store(y, threadIdx.x, value);
}
)"};
  const CUdeviceptr x = upload(std::vector<float>(32)), y = allocate(30 * 4);
  use_seed(0);
  ASSERT_EQ(launch(function(kernel, true), {.threads = 32}, x, y), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(
      host::last_error(),
      StartsWith("kernel outside, block (0, 0, 0), thread (30, 0, 0), line 4: stores 4 bytes "
                 "at 0x"));
  EXPECT_THAT(host::last_error(),
              HasSubstr("which is 0 bytes past the end of a 120-byte device allocation"));
}

TEST_F(HostDriverCountTest, ReportsMisalignedVectors) {
  const HostKernel kernel{.entry = "crooked", .text = R"(
extern "C" __global__ void crooked(const float* x, float* y) {
  store(y, 0, load<4>(x, 1)[0]);
}
)"};
  ASSERT_EQ(launch(function(kernel, true), {}, allocate(64), allocate(64)), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("line 3: loads 16 bytes"));
}

TEST_F(HostDriverCountTest, CountsCallsCopiesAndSynchronizations) {
  float* const host_memory = pinned<float>(16);
  const CUdeviceptr x = allocate(64);
  ASSERT_EQ(driver.cuMemcpyHtoDAsync(x, host_memory, 64, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(host_memory, x, 32, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemsetD8Async(x, 0, 64, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  const host::Counters counters = host::counters();
  EXPECT_EQ(counters.copies, 2u);
  EXPECT_EQ(counters.copied_bytes, 96u);
  EXPECT_EQ(counters.memsets, 1u);
  EXPECT_EQ(counters.synchronizations, 1u);
  EXPECT_EQ(host::calls("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(host::calls("cuMemAlloc"), 1u);
}

TEST_F(HostDriverCountTest, InjectsAFaultIntoTheNthCall) {
  host::inject_fault("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr first = 0, second = 0, third = 0;
  EXPECT_EQ(driver.cuMemAlloc(&first, 16), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAlloc(&second, 16), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemAlloc(&third, 16), CUDA_SUCCESS);
  EXPECT_EQ(second, 0u);
  EXPECT_EQ(host::counters().live_allocations, kept_use().allocations + 2);
  EXPECT_THROW(host::inject_fault("cuMemAllocate", 1, CUDA_ERROR_UNKNOWN), InternalError);
}

TEST_F(HostDriverCountTest, ErrorsNameCallCodeContextAndCause) {
  try {
    CUdeviceptr pointer = 0;
    check(driver, driver.cuMemAlloc(&pointer, 0), "cuMemAlloc", "the arena of norm");
    FAIL() << "nothing was thrown";
  } catch (const DriverError& error) {
    EXPECT_STREQ(error.what(),
                 "cuMemAlloc failed on the host device for the arena of norm: "
                 "CUDA_ERROR_INVALID_VALUE (error 1: invalid argument): an allocation of 0 bytes");
    EXPECT_EQ(error.code(), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(HostDriverCountTest, HasTheAttributesOfAnH200) {
  host::configure({.workers = 7});
  const auto attribute = [&](CUdevice_attribute which) {
    int value = -1;
    check(driver, driver.cuDeviceGetAttribute(&value, which, 0), "cuDeviceGetAttribute", "a test");
    return value;
  };
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 232448);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 7);
}

}  // namespace
}  // namespace sinter::host_driver_count_test
