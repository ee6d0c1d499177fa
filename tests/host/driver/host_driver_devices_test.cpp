// Several host devices: each context, stream, event, kernel and allocation belongs to one of them.
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
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, second_);
  CUstream stream = nullptr;
  EXPECT_EQ(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  use(nullptr);
  EXPECT_EQ(driver.cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuCtxSetCurrent(reinterpret_cast<CUcontext>(&current)),
            CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(HostDriverDevicesTest, PointersKnowTheirDevice) {
  use(second_);
  const CUdeviceptr pointer = allocate(64);
  use(first_);
  int ordinal = -1;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&ordinal};
  EXPECT_EQ(driver.cuPointerGetAttributes(1, attributes, values, pointer), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 1);
}

TEST_F(HostDriverDevicesTest, StreamsRejectWorkOfOtherDevices) {
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
  EXPECT_EQ(driver.cuStreamWaitEvent(there, event, 0), CUDA_SUCCESS);  // valid across devices
}

/// Two devices have separate default streams: neither waits for streams of the other.
TEST_F(HostDriverDevicesTest, EachHasALegacyStream) {
  const CUdeviceptr x = allocate(4);
  driver.cuMemsetD32Async(x, 1, 1, nullptr);
  use(second_);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(host::counters().memsets, 0u);
  use(first_);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(host::counters().memsets, 1u);
}

/// A capture belongs to one device. Waiting for another device does not invalidate it.
TEST_F(HostDriverDevicesTest, SynchronizingADeviceKeepsCapturesOfOthers) {
  const CUstream stream = new_stream();
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  use(second_);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace sinter::host_driver_devices_test
