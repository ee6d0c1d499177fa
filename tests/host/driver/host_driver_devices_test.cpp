// Several host devices: contexts, streams, events, kernels and memory belong to one of them each.
#include <gmock/gmock.h>

#include "tests/host/driver/host_driver_fixture.h"

namespace sinter::host_driver_devices_test {
namespace {

using ::testing::HasSubstr;

class HostDriverDevicesTest : public HostDriverTest {
 protected:
  void SetUp() override {
    HostDriverTest::SetUp();
    check(driver, driver.cuCtxGetCurrent(&first_), "cuCtxGetCurrent", "a test");
    check(driver, driver.cuDevicePrimaryCtxRetain(&second_, 1), "cuDevicePrimaryCtxRetain",
          "a test");
  }
  void TearDown() override {
    driver.cuDevicePrimaryCtxRelease(1);
    driver.cuCtxSetCurrent(first_);
    HostDriverTest::TearDown();
  }
  void use(CUcontext context) {
    check(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent", "a test");
  }

  CUcontext first_ = nullptr;
  CUcontext second_ = nullptr;
};

TEST_F(HostDriverDevicesTest, EachHasAContext) {
  int count = 0;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_GE(count, 2);
  CUdevice device = -1;
  EXPECT_EQ(driver.cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_NE(first_, second_);
  use(second_);
  EXPECT_EQ(driver.cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  // To make none current is to pop.
  EXPECT_EQ(driver.cuCtxPushCurrent(first_), CUDA_SUCCESS);
  use(nullptr);
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, second_);
  driver.cuDevicePrimaryCtxRelease(1);
  CUstream stream = nullptr;
  EXPECT_EQ(driver.cuStreamCreate(&stream, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  driver.cuDevicePrimaryCtxRetain(&second_, 1);
  EXPECT_EQ(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
}

TEST_F(HostDriverDevicesTest, MemorySaysWhoseItIs) {
  use(second_);
  const CUdeviceptr pointer = allocate(64);
  const CUstream stream = new_stream();
  use(first_);
  CUdeviceptr later = 0;
  EXPECT_EQ(driver.cuMemAllocAsync(&later, 64, stream), CUDA_SUCCESS);  // the stream's device
  for (const CUdeviceptr one : {pointer, later}) {
    int ordinal = -1;
    CUcontext context = nullptr;
    driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, one);
    driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, one);
    EXPECT_EQ(ordinal, 1);
    EXPECT_EQ(context, second_);
  }
}

TEST_F(HostDriverDevicesTest, StreamsTakeWorkOfTheirDevice) {
  const CUfunction increment = function(increment_kernel());
  const CUevent event = new_event();
  const CUdeviceptr x = upload(std::vector<float>{1, 2, 3});
  const CUstream here = new_stream();
  use(second_);
  const CUstream there = new_stream();
  EXPECT_EQ(launch(increment, {.threads = 3, .stream = there}, x, x, 3), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(host::last_error(),
              HasSubstr("the kernel was loaded on device 0, the stream is of device 1"));
  EXPECT_EQ(driver.cuEventRecord(event, there), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventRecord(event, here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(there, event, 0), CUDA_SUCCESS);  // devices may wait so
  CUcontext context = nullptr;
  EXPECT_EQ(driver.cuStreamGetCtx(here, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, first_);
}

/// The default streams of two devices are two: neither waits for the other's streams.
TEST_F(HostDriverDevicesTest, EachHasALegacyStream) {
  const CUdeviceptr x = allocate(4);
  driver.cuMemsetD32Async(x, 1, 1, nullptr);
  use(second_);
  EXPECT_EQ(driver.cuStreamQuery(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  use(first_);
  EXPECT_EQ(driver.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(nullptr), CUDA_SUCCESS);
}

/// A capture is of streams of one device: waiting for the other spoils nothing.
TEST_F(HostDriverDevicesTest, SynchronizingOneLeavesCapturesOfTheOther) {
  const CUstream stream = new_stream();
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  use(second_);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace sinter::host_driver_devices_test
