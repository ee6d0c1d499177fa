// Arrays, copies, pinned memory, streams and events on the host device.
#include "sinter/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::array_test {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ArrayTest : public ::testing::Test {
 protected:
  Device device = host_device();
  Stream stream = device.stream();
};

TEST_F(ArrayTest, IsRowMajorWithTheBytesOfItsShape) {
  const Array array = device.empty(bf16, {3, 5});
  EXPECT_EQ(array.dtype(), bf16);
  EXPECT_THAT(array.shape(), ElementsAre(3, 5));
  EXPECT_THAT(array.strides(), ElementsAre(5, 1));
  EXPECT_EQ(array.elements(), 15);
  EXPECT_EQ(array.bytes(), 30);
  EXPECT_TRUE(array.is_row_major());
  EXPECT_EQ(array.device(), device);
}

TEST_F(ArrayTest, HasNoMemoryWithoutElements) {
  const Array array = device.empty(f32, {0, 4});
  EXPECT_EQ(array.bytes(), 0);
  EXPECT_EQ(array.pointer(), nullptr);
  device.upload(array, std::vector<float>{}, stream);
  EXPECT_THAT(device.download<float>(array, stream), IsEmpty());
}

TEST_F(ArrayTest, FreesItsMemoryWithTheLastHandle) {
  const std::uint64_t before = host::counters().live_bytes;
  {
    const Array array = device.empty(f32, {1000});
    const Array view = array.view(400, f32, {10});
    EXPECT_EQ(host::counters().live_bytes, before + 4000);
  }
  EXPECT_EQ(host::counters().live_bytes, before);
}

TEST_F(ArrayTest, CopiesToTheDeviceAndBack) {
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), 0.0F);
  const Array a = device.empty(f32, {100});
  const Array b = device.empty(f32, {10, 10});
  device.upload(a, values, stream);
  device.copy(a, b, stream);
  EXPECT_EQ(device.download<float>(b, stream), values);
}

TEST_F(ArrayTest, CopiesFromPinnedMemoryAsynchronously) {
  PinnedArray from = device.pinned(i32, {4});
  PinnedArray to = device.pinned(i32, {4});
  std::ranges::copy(std::vector{1, 2, 3, 4}, from.elements_as<int>().begin());
  const Array array = device.empty(i32, {4});
  const std::uint64_t waits = host::counters().synchronizations;
  device.upload(array, from, stream);
  device.download(array, to, stream);
  EXPECT_EQ(host::counters().synchronizations, waits);
  stream.synchronize();
  EXPECT_THAT(to.elements_as<int>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(ArrayTest, OrdersStreamsByEvents) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    host::configure({.seed = seed});
    const Stream other = device.stream();
    PinnedArray from = device.pinned(i32, {1});
    PinnedArray to = device.pinned(i32, {1});
    from.elements_as<int>()[0] = static_cast<int>(seed) + 7;
    const Array array = device.empty(i32, {1});
    const Event uploaded = device.event();
    device.upload(array, from, stream);
    uploaded.record(stream);
    other.wait(uploaded);
    device.download(array, to, other);
    other.synchronize();
    EXPECT_EQ(to.elements_as<int>()[0], static_cast<int>(seed) + 7);
    EXPECT_TRUE(uploaded.is_done());
  }
  host::configure({});
}

TEST_F(ArrayTest, MeasuresTheTimeBetweenEvents) {
  const Event start = device.event();
  const Event end = device.event();
  start.record(stream);
  end.record(stream);
  end.synchronize();
  EXPECT_THAT(end.elapsed_since(start), Ge(0.0F));
}

TEST_F(ArrayTest, WrapsForeignMemoryAndStreams) {
  const Array owner = device.empty(f32, {4});
  const Array wrapped = Array::wrap(owner.pointer(), f32, {2, 2}, device);
  const Stream wrapped_stream = Stream::wrap(stream.handle(), device);
  device.upload(wrapped, std::vector<float>{1, 2, 3, 4}, wrapped_stream);
  EXPECT_THAT(device.download<float>(owner, stream), ElementsAre(1, 2, 3, 4));
}

TEST_F(ArrayTest, RejectsInvalidShapes) {
  EXPECT_EQ(error_of([&] {
              (void)device.empty(f32, {4, -1});
            }),
            "Device::empty: shape [4, -1] has a negative extent");
  EXPECT_EQ(error_of([&] {
              (void)device.empty(f64, {1LL << 31, 1LL << 31});
            }),
            "Device::empty: f64[2147483648, 2147483648] does not fit in 63 bits of bytes");
}

TEST_F(ArrayTest, RejectsViewsBeyondTheEnd) {
  const Array array = device.empty(f32, {4});
  EXPECT_EQ(error_of([&] { (void)array.view(4, f32, {4}); }),
            "Array::view: f32[4] at byte 4 needs 16 bytes, but the array f32[4] ends after 16");
  EXPECT_EQ(error_of([&] {
              (void)array.view(0, f32, {2, 2}, {4, 1});
            }),
            "Array::view: f32[2, 2] at byte 0 needs 24 bytes, but the array f32[4] ends after 16");
}

TEST_F(ArrayTest, RejectsCopiesOfOtherSizesOrLayouts) {
  const Array array = device.empty(f32, {4});
  EXPECT_EQ(error_of([&] { device.upload(array, std::vector<float>(3), stream); }),
            "copy: f32[4] has 4 elements of 4 bytes but the host range has 3 of 4");
  EXPECT_EQ(error_of([&] { device.upload(array, device.pinned(f32, {5}), stream); }),
            "Device::upload: f32[4] has 16 bytes but the pinned array has 20; they must be equal");
  EXPECT_EQ(error_of([&] { device.copy(array.view(0, f32, {2}, {2}), array, stream); }),
            "Device::copy: f32[2] with strides [2] is not row-major; use a row-major array");
}

TEST_F(ArrayTest, OutOfMemoryErrorsNameTheArray) {
  host::inject_fault("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(error_of<DriverError>([&] { (void)device.empty(f32, {1000}); }),
              StartsWith("cuMemAlloc failed on the host device for f32[1000] (4000 bytes): "
                         "CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST(DeviceTest, ListsTheHostDeviceLast) {
  EXPECT_EQ(devices().back(), host_device());
  EXPECT_TRUE(host_device().is_host());
  EXPECT_EQ(host_device().arch(), "sm_90");
}

TEST(DeviceTest, ReportsWhyThereIsNoGpu) {
  if (!default_device().is_host()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(error_of<DriverError>([] { (void)cuda_device(); }),
              StartsWith("there is no CUDA device: "));
}

}  // namespace
}  // namespace sinter::array_test
