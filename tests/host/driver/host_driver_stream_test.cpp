// Streams and events of the host device: work runs late and in random order, but never violates a
// specified order.
#include "tests/host/driver/host_driver_fixture.h"

#include <thread>

#include <gmock/gmock.h>

namespace sinter::host_driver_stream_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class HostDriverStreamTest : public HostDriverTest {
 protected:
  CUfunction increment() { return function(increment_kernel()); }
};

TEST_F(HostDriverStreamTest, RunsNothingBeforeASynchronization) {
  const CUstream stream = new_stream();
  const CUdeviceptr x = upload(std::vector{1.0f}, stream);
  float* const result = pinned<float>(1);
  *result = 0.0f;
  ASSERT_EQ(launch(increment(), {.stream = stream}, x, x, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(result, x, 4, stream), CUDA_SUCCESS);
  EXPECT_EQ(host::counters().kernels, 0u);
  EXPECT_EQ(*result, 0.0f);

  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(host::counters().kernels, 1u);
  EXPECT_EQ(*result, 2.0f);
}

TEST_F(HostDriverStreamTest, ReadsPinnedMemoryLateAndPageableMemoryAtOnce) {
  float* const source = pinned<float>(1);
  std::vector<float> pageable = {1.0f};
  *source = 1.0f;
  const CUdeviceptr x = allocate(8);
  ASSERT_EQ(driver.cuMemcpyHtoDAsync(x, source, 4, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyHtoDAsync(x + 4, pageable.data(), 4, nullptr), CUDA_SUCCESS);
  *source = 2.0f;
  pageable[0] = 2.0f;
  EXPECT_THAT(download<float>(x, 2), ::testing::ElementsAre(2.0f, 1.0f));
}

TEST_F(HostDriverStreamTest, CopyToPageableMemoryWaitsForItsStream) {
  const CUstream stream = new_stream();
  const CUdeviceptr x = upload(std::vector{1.0f});
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  host::reset_counters();
  ASSERT_EQ(launch(increment(), {.stream = stream}, x, x, 1), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(x, 1, stream)[0], 2.0f);
  EXPECT_EQ(host::counters().synchronizations, 1u);
}

/// A kernel on one stream reads the result of a copy on another. Without an event, more than 5 of
/// 40 seeds must give a wrong result.
TEST_F(HostDriverStreamTest, AMissingEventFailsUnderSomeSeedsAndAnEventUnderNone) {
  const CUfunction kernel = increment();
  const CUstream copies = new_stream(), compute = new_stream();
  float* const source = pinned<float>(256);
  const CUdeviceptr x = allocate(1024), y = allocate(1024);
  const auto is_right = [&](std::uint64_t seed, bool with_event) {
    use_seed(seed);
    const CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
    std::fill(source, source + 256, static_cast<float>(seed));
    EXPECT_EQ(driver.cuMemsetD8Async(x, 0xff, 1024, copies), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(copies), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(x, source, 1024, copies), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(event, copies), CUDA_SUCCESS);
    if (with_event) {
      EXPECT_EQ(driver.cuStreamWaitEvent(compute, event, 0), CUDA_SUCCESS);
    }
    EXPECT_EQ(launch(kernel, {.threads = 256, .stream = compute}, x, y, 256), CUDA_SUCCESS);
    const std::vector<float> result = download<float>(y, 256, compute);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    return result == std::vector<float>(256, static_cast<float>(seed) + 1.0f);
  };
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    EXPECT_TRUE(is_right(seed, true)) << "seed " << seed;
    wrong += !is_right(seed, false);
  }
  EXPECT_GT(wrong, 5);
}

/// The opposite hazard: a copy overwrites data that a kernel on another stream has yet to read.
TEST_F(HostDriverStreamTest, UnorderedWorkMayRunEarly) {
  const CUfunction kernel = increment();
  const CUstream compute = new_stream(), copies = new_stream();
  int overwritten = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    use_seed(seed);
    const CUdeviceptr x = upload(std::vector{1.0f}), y = allocate(4);
    ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(launch(kernel, {.stream = compute}, x, y, 1), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD8Async(x, 0, 4, copies), CUDA_SUCCESS);
    overwritten += download<float>(y, 1, compute)[0] == 1.0f;
  }
  EXPECT_GT(overwritten, 3);
  EXPECT_LT(overwritten, 37);
}

TEST_F(HostDriverStreamTest, LegacyStreamIsOrderedWithBlockingStreams) {
  const CUfunction kernel = increment();
  CUstream blocking = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  const CUdeviceptr x = allocate(4);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    use_seed(seed);
    ASSERT_EQ(driver.cuMemsetD8Async(x, 0, 4, blocking), CUDA_SUCCESS);
    ASSERT_EQ(launch(kernel, {}, x, x, 1), CUDA_SUCCESS);  // on the legacy stream
    ASSERT_EQ(launch(kernel, {.stream = blocking}, x, x, 1), CUDA_SUCCESS);
    ASSERT_EQ(launch(kernel, {}, x, x, 1), CUDA_SUCCESS);
    ASSERT_EQ(download<float>(x, 1, blocking)[0], 3.0f) << "seed " << seed;
  }
}

TEST_F(HostDriverStreamTest, PollingTerminates) {
  const CUstream stream = new_stream();
  const CUevent event = new_event();
  const CUdeviceptr x = upload(std::vector{1.0f});
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(driver.cuMemsetD8Async(x, 0, 4, stream), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
  int polls = 0;
  while (driver.cuEventQuery(event) == CUDA_ERROR_NOT_READY) ++polls;
  EXPECT_LT(polls, 10);
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
}

TEST_F(HostDriverStreamTest, EventsMeasureBusyTime) {
  const CUfunction slow = function({.entry = "slow", .text = R"(
extern "C" __global__ void slow(float* x, const int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum = opaque_value(sum + 1.0f);
  x[0] = sum;
}
)"});
  const CUevent start = new_event(), middle = new_event(), end = new_event();
  const CUdeviceptr x = allocate(4);
  ASSERT_EQ(driver.cuEventRecord(start, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(launch(slow, {}, x, 3000000), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventRecord(middle, nullptr), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, start, middle), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(driver.cuEventSynchronize(middle), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // idle time does not count
  ASSERT_EQ(driver.cuEventRecord(end, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventSynchronize(end), CUDA_SUCCESS);

  ASSERT_EQ(driver.cuEventElapsedTime(&milliseconds, start, middle), CUDA_SUCCESS);
  EXPECT_GT(milliseconds, 1.0f);
  ASSERT_EQ(driver.cuEventElapsedTime(&milliseconds, middle, end), CUDA_SUCCESS);
  EXPECT_LT(milliseconds, 40.0f);
}

TEST_F(HostDriverStreamTest, UntimedAndUnrecordedEventsHaveNoTime) {
  const CUevent untimed = new_event(CU_EVENT_DISABLE_TIMING), unrecorded = new_event();
  float milliseconds = 0;
  ASSERT_EQ(driver.cuEventRecord(untimed, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, untimed, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, unrecorded, unrecorded),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventQuery(unrecorded), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(unrecorded), CUDA_SUCCESS);
}

TEST_F(HostDriverStreamTest, HostFunctionsRunInOrderAndMayNotCallTheDriver) {
  struct Seen {
    const Driver* driver;
    const float* value;
    float at_call = 0;
    CUresult nested = CUDA_SUCCESS;
  };
  const CUdeviceptr x = upload(std::vector{1.0f});
  float* const result = pinned<float>(1);
  Seen seen{&driver, result};
  ASSERT_EQ(launch(increment(), {}, x, x, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(result, x, 4, nullptr), CUDA_SUCCESS);
  const CUhostFn look = [](void* data) {
    auto& saw = *static_cast<Seen*>(data);
    saw.at_call = *saw.value;
    saw.nested = saw.driver->cuCtxSynchronize();
  };
  ASSERT_EQ(driver.cuLaunchHostFunc(nullptr, look, &seen), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemsetD8Async(x, 0, 4, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(seen.at_call, 2.0f);
  EXPECT_EQ(seen.nested, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(HostDriverStreamTest, WorkOutlivesItsStream) {
  const CUstream stream = new_stream();
  const CUdeviceptr x = upload(std::vector{1.0f});
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(launch(increment(), {.stream = stream}, x, x, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(x, 1)[0], 2.0f);
}

TEST_F(HostDriverStreamTest, RejectsInvalidHandles) {
  int something = 0;
  const auto stream = reinterpret_cast<CUstream>(&something);
  const auto event = reinterpret_cast<CUevent>(&something);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuStreamWaitEvent(nullptr, event, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(increment(), {.stream = stream}, CUdeviceptr{0}, CUdeviceptr{0}, 0),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(HostDriverStreamTest, LongQueuesDrainByThemselves) {
  const CUstream stream = new_stream();
  const CUdeviceptr x = allocate(4);
  for (int i = 0; i < 10000; ++i)
    ASSERT_EQ(driver.cuMemsetD32Async(x, static_cast<unsigned>(i), 1, stream), CUDA_SUCCESS);
  EXPECT_GT(host::counters().memsets, 0u);
  EXPECT_EQ(download<int>(x, 1, stream)[0], 9999);
}

TEST_F(HostDriverStreamTest, ServesSeveralHostThreads) {
  const CUfunction kernel = increment();
  CUcontext context = nullptr;
  ASSERT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
  const auto work = [&](float* result) {
    check(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent", "a test");
    const CUstream stream = new_stream();
    const CUdeviceptr x = allocate(4);
    check(driver, driver.cuMemsetD8Async(x, 0, 4, stream), "cuMemsetD8Async", "a test");
    for (int i = 0; i < 50; ++i)
      check(driver, launch(kernel, {.stream = stream}, x, x, 1), "cuLaunchKernelEx", "a test");
    *result = download<float>(x, 1, stream)[0];
  };
  std::vector<float> results(4);
  {
    std::vector<std::jthread> threads;
    for (float& result : results) threads.emplace_back(work, &result);
  }
  EXPECT_THAT(results, Each(50.0f));
}

TEST_F(HostDriverStreamTest, EveryThreadNeedsAContext) {
  CUresult result = CUDA_SUCCESS;
  std::string words;
  std::thread([&] {
    result = driver.cuStreamSynchronize(nullptr);
    words = host::last_error();
  }).join();
  EXPECT_EQ(result, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(words, HasSubstr("no current context"));
}

}  // namespace
}  // namespace sinter::host_driver_stream_test
