// Memory of the host device: poisoned contents, guard pages, and reports of invalid uses.
#include "tests/host/driver/host_driver_fixture.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace sinter::host_driver_memory_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;

class HostDriverMemoryTest : public HostDriverTest {
 protected:
  /// Stores 1.0f at the given index of memory at `pointer` and waits.
  CUresult poke(CUdeviceptr pointer, long long index) {
    const CUfunction kernel = function({.entry = "poke", .text = R"(
extern "C" __global__ void poke(float* x, const long long index) { x[index] = 1.0f; }
)"});
    EXPECT_EQ(launch(kernel, {}, pointer, index), CUDA_SUCCESS);
    return driver.cuCtxSynchronize();
  }
};

TEST_F(HostDriverMemoryTest, HoldsNanOfEveryTypeUntilWritten) {
  const CUdeviceptr pointer = allocate(64);
  EXPECT_THAT(download<float>(pointer, 16), Each(IsNan()));
  EXPECT_THAT(download<double>(pointer, 8), Each(IsNan()));
  EXPECT_THAT(download<std::uint16_t>(pointer, 32), Each(0xfff5));  // NaN as f16 and bf16
}

TEST_F(HostDriverMemoryTest, AllocationsAreAlignedTo256Bytes) {
  for (std::size_t bytes : {1, 100, 4096, 5000}) EXPECT_EQ(allocate(bytes) % 256, 0u);
}

TEST_F(HostDriverMemoryTest, RejectsDoubleFrees) {
  const CUdeviceptr pointer = allocate(100);
  EXPECT_EQ(driver.cuMemFree(pointer), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(host::last_error(),
              HasSubstr("byte 0 of a 100-byte device allocation that was freed"));
}

TEST_F(HostDriverMemoryTest, RejectsFreesOfOtherPointers) {
  const CUdeviceptr pointer = allocate(100);
  float* const host_pointer = pinned<float>(4);
  EXPECT_EQ(driver.cuMemFree(pointer + 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFreeHost(reinterpret_cast<void*>(pointer)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFree(reinterpret_cast<CUdeviceptr>(host_pointer)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverMemoryTest, ReportsWritesPastTheEnd) {
  EXPECT_EQ(poke(allocate(1024), 2000), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(),
              AllOf(HasSubstr("kernel poke, block (0, 0, 0), thread (0, 0, 0): touches"),
                    HasSubstr("6976 bytes past the end of a 1024-byte device allocation")));
}

TEST_F(HostDriverMemoryTest, ReportsReadsBeforeTheStart) {
  EXPECT_EQ(poke(allocate(4096), -300), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("1200 bytes before a 4096-byte device allocation"));
}

TEST_F(HostDriverMemoryTest, ReportsUsesOfFreedMemory) {
  const CUdeviceptr pointer = allocate(1 << 20);
  ASSERT_EQ(driver.cuMemFree(pointer), CUDA_SUCCESS);
  EXPECT_EQ(poke(pointer, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(),
              HasSubstr("byte 12 of a 1048576-byte device allocation that was freed"));
}

TEST_F(HostDriverMemoryTest, ReportsNullPointers) {
  EXPECT_EQ(poke(0, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("which is in no allocation"));
}

TEST_F(HostDriverMemoryTest, ReportsSmallOverrunsAtTheFree) {
  const CUdeviceptr pointer = allocate(1000);
  EXPECT_EQ(poke(pointer, 250), CUDA_SUCCESS);  // within the padding to 256 bytes
  EXPECT_EQ(driver.cuMemFree(pointer), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("something wrote just outside the 1000 bytes at"));
}

TEST_F(HostDriverMemoryTest, RejectsWorkAfterAFaultUntilItIsCleared) {
  const CUdeviceptr pointer = allocate(1024);
  ASSERT_EQ(poke(pointer, 1 << 20), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr other = 0;
  EXPECT_EQ(driver.cuMemAlloc(&other, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(driver.cuMemFree(pointer), CUDA_SUCCESS);  // memory can still be freed

  host::clear_error();
  EXPECT_EQ(driver.cuMemAlloc(&other, 16), CUDA_SUCCESS);
  EXPECT_EQ(poke(other, 1), CUDA_SUCCESS);
}

TEST_F(HostDriverMemoryTest, GuardsTheEndOfSharedMemory) {
  const CUfunction kernel = function({.entry = "shared", .text = R"(
extern "C" __global__ void shared(const int index) {
  reinterpret_cast<float*>(shared_memory())[index] = 1.0f;
}
)"});
  ASSERT_EQ(launch(kernel, {.shared_bytes = 1024}, 255), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(launch(kernel, {.shared_bytes = 1024}, 256), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(HostDriverMemoryTest, PoisonsSharedMemoryForEveryBlock) {
  const CUfunction kernel = function({.entry = "stale", .text = R"(
extern "C" __global__ void stale(float* out) {
  float* shared = reinterpret_cast<float*>(shared_memory());
  out[blockIdx.x] = shared[3];
  shared[3] = 1.0f;
}
)"});
  const CUdeviceptr out = allocate(40);
  ASSERT_EQ(launch(kernel, {.blocks = 10, .shared_bytes = 64}, out), CUDA_SUCCESS);
  EXPECT_THAT(download<float>(out, 10), Each(IsNan()));
}

TEST_F(HostDriverMemoryTest, RejectsAllocationsBeyondItsMemory) {
  host::configure({.memory_bytes = kept_use().live_bytes + (1 << 20)});
  CUdeviceptr pointer = 0;
  ASSERT_EQ(driver.cuMemAlloc(&pointer, 1000000), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAlloc(&pointer, 1000000), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(host::last_error(), fmt::format("1000000 bytes asked for, 48576 of {} free",
                                            kept_use().live_bytes + (1 << 20)));
  std::size_t free = 0, total = 0;
  ASSERT_EQ(driver.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, 48576u);
}

TEST_F(HostDriverMemoryTest, RejectsCopiesAndFillsBeyondAnAllocation) {
  const CUdeviceptr pointer = allocate(100);
  std::vector<std::byte> bytes(200);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(pointer, bytes.data(), 101, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(bytes.data(), pointer + 50, 51, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(bytes.data()), bytes.data(), 10,
                                     nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemsetD32Async(pointer, 0, 26, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemsetD32Async(pointer + 2, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  constexpr std::size_t kWraps = (std::size_t{1} << 62) + 1;  // the byte count overflows
  EXPECT_EQ(driver.cuMemsetD32Async(pointer, 0, kWraps, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverMemoryTest, ReportsPointerAttributes) {
  const CUdeviceptr pointer = allocate(1000);
  CUmemorytype type{};
  std::size_t bytes = 0;
  CUdeviceptr start = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* values[] = {&type, &bytes, &start};
  ASSERT_EQ(driver.cuPointerGetAttributes(3, attributes, values, pointer + 9), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(bytes, 1000u);
  EXPECT_EQ(start, pointer);

  int pageable = 0;
  EXPECT_EQ(driver.cuPointerGetAttributes(3, attributes, values,
                                          reinterpret_cast<CUdeviceptr>(&pageable)),
            CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(start, 0u);
}

TEST_F(HostDriverMemoryTest, CountsMemoryInUse) {
  const CUdeviceptr pointer = allocate(1000);
  allocate(500);
  pinned<float>(4);
  ASSERT_EQ(driver.cuMemFree(pointer), CUDA_SUCCESS);
  const host::Counters counters = host::counters();
  EXPECT_EQ(counters.live_bytes, kept_use().live_bytes + 500);
  EXPECT_EQ(counters.peak_bytes, kept_use().live_bytes + 1500);
  EXPECT_EQ(counters.live_allocations, kept_use().allocations + 2);
}

}  // namespace
}  // namespace sinter::host_driver_memory_test
