// Copies between device and pageable memory through pinned buffers: they keep all bytes, and
// uploads do not wait for earlier work of the stream.
#include "runtime/device/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/files/errors.h"

namespace sinter::staging_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StagingTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBufferBytes = 4096;
  static constexpr std::size_t kBuffers = 3;

  void SetUp() override {
    staging().set_limits({.buffer_bytes = kBufferBytes, .buffers = kBuffers, .least_bytes = 1000});
    host::reset_counters();
  }
  void TearDown() override {
    host::clear_faults();
    device.synchronize();
    staging().set_limits({.least_bytes = Staging::kNever});
    host::configure({});
  }

  Staging& staging() const { return *device.state()->staging; }
  static std::vector<float> numbers(std::size_t count, float first = 0) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  Array array(std::size_t count) const {
    return device.empty(f32, {static_cast<std::int64_t>(count)});
  }

  Device device = host_device();
  Stream stream = device.stream();
};

TEST_F(StagingTest, CopiesToTheDeviceAndBack) {
  for (const std::size_t count : {1UL, 249UL, 250UL, 1024UL, 1025UL, 2048UL, 10000UL}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      host::configure({.seed = seed});
      const Array there = array(count);
      const std::vector<float> values = numbers(count);
      device.upload(there, values, stream);
      EXPECT_EQ(device.download<float>(there, stream), values) << count << " seed " << seed;
    }
  }
}

/// The upload returns before any work runs, and the host memory may change at once.
TEST_F(StagingTest, UploadsWithoutWaiting) {
  const Array there = array(kBuffers * kBufferBytes / 4);
  std::vector<float> values = numbers(kBuffers * kBufferBytes / 4);
  const std::vector<float> expected = values;
  device.upload(there, values, stream);
  EXPECT_EQ(host::calls("cuEventSynchronize"), 0u);
  EXPECT_EQ(host::counters().synchronizations, 0u);
  EXPECT_EQ(host::calls("cuMemHostAlloc"), kBuffers);
  values.assign(values.size(), -1);
  EXPECT_EQ(device.download<float>(there, stream), expected);
}

TEST_F(StagingTest, AllocatesNoMoreBuffersThanAllowed) {
  const std::vector<float> values = numbers(10 * kBufferBytes / 4);
  const Array there = array(values.size());
  device.upload(there, values, stream);
  EXPECT_EQ(host::calls("cuMemHostAlloc"), kBuffers);
  EXPECT_EQ(host::calls("cuMemcpyHtoDAsync"), 10u);
  EXPECT_EQ(device.download<float>(there, stream), values);
  EXPECT_EQ(host::calls("cuMemHostAlloc"), kBuffers);
}

/// Work on another stream may never end. The upload then uses a plain driver copy.
TEST_F(StagingTest, DoesNotWaitForOtherStreams) {
  const Stream other = device.stream();
  const std::vector<float> values = numbers(kBuffers * kBufferBytes / 4), more = numbers(3000, 5);
  const Array there = array(values.size()), here = array(more.size());
  device.upload(there, values, stream);
  host::reset_counters();
  device.upload(here, more, other);
  EXPECT_EQ(host::calls("cuEventSynchronize"), 0u);
  EXPECT_EQ(device.download<float>(here, other), more);
  EXPECT_EQ(device.download<float>(there, stream), values);
}

TEST_F(StagingTest, PassesPinnedMemoryToTheDriver) {
  const Array there = array(1000);
  const PinnedArray pinned = device.pinned(f32, {1000});
  std::ranges::fill(pinned.elements_as<float>(), 3.0F);
  host::reset_counters();
  device.upload(there, pinned, stream);
  PinnedArray back = device.pinned(f32, {1000});
  device.download(there, back, stream);
  stream.synchronize();
  EXPECT_EQ(back.elements_as<float>()[999], 3.0F);
  EXPECT_EQ(host::calls("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(host::calls("cuEventRecord"), 0u);
}

TEST_F(StagingTest, PassesCapturedCopiesToTheDriver) {
  std::vector<float> values = numbers(1000);
  const Array there = array(1000);
  const test::UserGraph graph(stream, CU_STREAM_CAPTURE_MODE_GLOBAL,
                              [&] { device.upload(there, values, stream); });
  EXPECT_EQ(graph.nodes(), 1U);
  std::iota(values.begin(), values.end(), 7.0F);
  graph.launch(stream);
  EXPECT_EQ(device.download<float>(there, stream), values);
}

TEST_F(StagingTest, FallsBackIfNothingCanBePinned) {
  host::inject_fault("cuMemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  const std::vector<float> values = numbers(2000);
  const Array there = array(2000);
  device.upload(there, values, stream);
  EXPECT_EQ(device.download<float>(there, stream), values);
  EXPECT_EQ(host::calls("cuMemHostAlloc"), 1u);
  // After a failure, pinning is tried again only after many copies.
  for (int i = 0; i < 110; ++i) device.upload(there, values, stream);
  EXPECT_EQ(host::calls("cuMemHostAlloc"), 1u + kBuffers);
  EXPECT_EQ(device.download<float>(there, stream), values);
}

/// Each failing call gives an error that names it, or the same bytes. The next copy is correct.
TEST_F(StagingTest, SurvivesEveryFailedCall) {
  const std::vector<float> values = numbers(6 * kBufferBytes / 4);
  const auto copy_there_and_back = [&] {
    const Array there = array(values.size());
    device.upload(there, values, stream);
    EXPECT_EQ(device.download<float>(there, stream), values);
  };
  for (const char* call :
       {"cuMemHostAlloc", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventQuery",
        "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuPointerGetAttributes"}) {
    SCOPED_TRACE(call);
    for (int nth = 1; nth <= 12; ++nth) {
      staging().set_limits(
          {.buffer_bytes = kBufferBytes, .buffers = kBuffers, .least_bytes = 1000});
      host::inject_fault(call, nth, CUDA_ERROR_UNKNOWN);
      try {
        copy_there_and_back();
      } catch (const DriverError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(std::string(call) + " failed on the host device"),
                                        HasSubstr("f32[6144]")));
      }
      host::clear_faults();
      copy_there_and_back();
    }
  }
  const auto before = host::counters().live_allocations;
  staging().set_limits({.least_bytes = Staging::kNever});
  EXPECT_LT(host::counters().live_allocations, before);
}

/// The end of a copy is unknown if its event could not be recorded.
TEST_F(StagingTest, DoesNotReuseBuffersOfCopiesWithUnknownEnd) {
  const Stream other = device.stream(), third = device.stream();
  const std::vector<float> values = numbers(1000), more = numbers(1000, 7);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    host::configure({.seed = seed});
    staging().set_limits({.buffer_bytes = kBufferBytes, .buffers = kBuffers, .least_bytes = 1000});
    const Array there = array(1000), here = array(1000);
    host::inject_fault("cuEventRecord", 1, CUDA_ERROR_UNKNOWN);
    EXPECT_THROW(device.upload(there, values, stream), DriverError);
    for (std::size_t i = 1; i < kBuffers; ++i) device.upload(here, more, other);
    device.upload(array(1000), more, third);
    EXPECT_EQ(device.download<float>(there, stream), values) << "seed " << seed;
  }
}

TEST_F(StagingTest, SupportsConcurrentThreads) {
  std::vector<std::jthread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([this, number] {
      const Stream stream_of_thread = device.stream();
      for (int i = 0; i < 20; ++i) {
        const std::vector<float> values = numbers(5000, static_cast<float>(1000 * number + i));
        const Array there = array(values.size());
        device.upload(there, values, stream_of_thread);
        EXPECT_EQ(device.download<float>(there, stream_of_thread), values);
      }
    });
}

}  // namespace
}  // namespace sinter::staging_test
