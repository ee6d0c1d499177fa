// Memory, copies and questions about pointers.
#include <cstring>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::memory_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class VirtualMemoryTest : public testing::Test {
 protected:
  VirtualMemoryTest() { driver.use(); }
  VirtualDriver driver{{"VIRTUAL_GPUS", "sm_90 sms=4 memory=1m"}};
};

TEST_F(VirtualMemoryTest, ChecksAllocations) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemAlloc(nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemAlloc(&pointer, (1 << 20) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 1 << 20), CUDA_SUCCESS);
  EXPECT_EQ(pointer % 256, 0);
  CUdeviceptr second = 0;
  EXPECT_EQ(driver->cuMemAlloc(&second, 1), CUDA_ERROR_OUT_OF_MEMORY);
  std::size_t free = 1;
  std::size_t total = 0;
  EXPECT_EQ(driver->cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, 0);
  EXPECT_EQ(total, 1 << 20);
  EXPECT_EQ(driver->cuMemFree(pointer + 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemFree(pointer), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemFree(0), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, ChecksPinnedMemory) {
  void* pointer = nullptr;
  EXPECT_EQ(driver->cuMemHostAlloc(&pointer, 8, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemHostAlloc(&pointer, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemHostAlloc(&pointer, 64, kMemHostAllocPortable), CUDA_SUCCESS);
  std::memset(pointer, 1, 64);
  EXPECT_EQ(driver->cuMemFree(reinterpret_cast<CUdeviceptr>(pointer)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemFreeHost(static_cast<char*>(pointer) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemFreeHost(pointer), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemFreeHost(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemFreeHost(nullptr), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, CopiesAndFills) {
  const CUdeviceptr a = driver.memory(32);
  const CUdeviceptr b = driver.memory(32);
  const CUstream stream = driver.stream();
  const std::vector<unsigned> values = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a, values.data(), 32, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD32Async(a + 8, 0xdeadbeef, 2, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD8Async(a + 17, 0xff, 2, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemcpyDtoDAsync(b, a, 32, stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(b, 8), ElementsAre(1, 2, 0xdeadbeef, 0xdeadbeef, 0x00ffff05, 6, 7, 8));
}

TEST_F(VirtualMemoryTest, ChecksRangesOfCopies) {
  const CUdeviceptr a = driver.memory(32);
  char host[64] = {};
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a, host, 33, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a + 31, host, 2, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a, nullptr, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a, host, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemcpyDtoHAsync(host, reinterpret_cast<CUdeviceptr>(host + 32), 4, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemcpyDtoHAsync(reinterpret_cast<void*>(a), a, 4, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemsetD32Async(a + 2, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 0, SIZE_MAX / 2, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuMemFree(a), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a, host, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemoryTest, DescribesPointers) {
  const CUdeviceptr a = driver.memory(100);
  CUmemorytype type{};
  int ordinal = -1;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&type, &ordinal, &start, &bytes};
  EXPECT_EQ(driver->cuPointerGetAttributes(4, attributes, values, a + 40), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(start, a);
  EXPECT_EQ(bytes, 100);
  EXPECT_EQ(
      driver->cuPointerGetAttributes(4, attributes, values, reinterpret_cast<CUdeviceptr>(&type)),
      CUDA_SUCCESS);
  EXPECT_EQ(type, CUmemorytype{});
  EXPECT_EQ(ordinal, -2);
  EXPECT_EQ(bytes, 0);
  void* pinned = nullptr;
  EXPECT_EQ(driver->cuMemHostAlloc(&pinned, 64, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuPointerGetAttributes(1, attributes, values,
                                           reinterpret_cast<CUdeviceptr>(pinned) + 63),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
}

TEST_F(VirtualMemoryTest, ReadsPageableMemoryDuringTheCall) {
  const CUdeviceptr a = driver.memory(4);
  unsigned value = 1;
  const CUstream stream = driver.stream();
  EXPECT_EQ(driver->cuMemcpyHtoDAsync(a, &value, 4, stream), CUDA_SUCCESS);
  value = 2;
  EXPECT_THAT(driver.words(a, 1), ElementsAre(1));
}

TEST(VirtualPoolTest, OrdersAllocationsInStreams) {
  const VirtualDriver driver({{"VIRTUAL_GPU_SCHEDULE", "adversarial"}});
  driver.use();
  const CUstream stream = driver.stream();
  auto* const allocate =
      driver.find<CUresult(CUdeviceptr*, std::size_t, CUstream)>("cuMemAllocAsync");
  auto* const release = driver.find<CUresult(CUdeviceptr, CUstream)>("cuMemFreeAsync");
  CUdeviceptr pointer = 0;
  EXPECT_EQ(allocate(&pointer, 16, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD32Async(pointer, 7, 4, stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(pointer, 4), Each(7));
  EXPECT_EQ(release(pointer, stream), CUDA_SUCCESS);
  EXPECT_EQ(release(pointer, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
}

TEST(VirtualPoolTest, ReportsUsesBeforeTheAllocation) {
  const VirtualDriver driver;
  driver.use();
  const CUstream stream = driver.stream();
  const CUstream other = driver.stream();
  auto* const allocate =
      driver.find<CUresult(CUdeviceptr*, std::size_t, CUstream)>("cuMemAllocAsync");
  auto* const last_violation = driver.find<const char*()>("virtualGpuLastViolation");
  CUdeviceptr pointer = 0;
  EXPECT_EQ(allocate(&pointer, 16, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD32Async(pointer, 7, 4, other), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(last_violation(), testing::HasSubstr("race"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::memory_test
