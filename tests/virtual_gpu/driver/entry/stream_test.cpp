// Streams, events and host functions.
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::stream_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A host function that blocks its stream until the test opens it.
struct Gate {
  std::atomic<bool> is_open = false;
  std::atomic<int> calls = 0;
  static void wait(void* data) {
    auto& gate = *static_cast<Gate*>(data);
    while (!gate.is_open) std::this_thread::yield();
    ++gate.calls;
  }
};

void count_call(void* data) { ++*static_cast<std::atomic<int>*>(data); }

class VirtualStreamTest : public testing::TestWithParam<const char*> {
 protected:
  VirtualStreamTest() { driver.use(); }
  VirtualDriver driver{{"VIRTUAL_GPU_SCHEDULE", GetParam()}, {"VIRTUAL_GPU_SEED", "1"}};
};

TEST_P(VirtualStreamTest, RunsWorkOfAStreamInOrder) {
  const CUstream stream = driver.stream();
  const CUdeviceptr a = driver.memory(400);
  const CUdeviceptr b = driver.memory(400);
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_EQ(driver->cuMemsetD32Async(a, i, 100, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuMemcpyDtoDAsync(b, a, 400, stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(b, 100), Each(49));
}

TEST_P(VirtualStreamTest, EventsOrderStreams) {
  const CUstream first = driver.stream();
  const CUstream second = driver.stream();
  const CUevent event = driver.event(CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr a = driver.memory(4);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(driver->cuMemsetD32Async(a, i, 1, first), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuEventRecord(event, first), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuMemsetD32Async(a, 1000 + i, 1, second), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuEventRecord(event, second), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuStreamWaitEvent(first, event, 0), CUDA_SUCCESS);
  }
  EXPECT_THAT(driver.words(a, 1), ElementsAre(1019));
}

TEST_P(VirtualStreamTest, TheLegacyStreamWaitsForBlockingStreams) {
  const CUstream blocking = driver.stream(CU_STREAM_DEFAULT);
  const CUdeviceptr a = driver.memory(4);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_EQ(driver->cuMemsetD32Async(a, i, 1, blocking), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuMemsetD32Async(a, 100 + i, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuMemsetD32Async(a, 200 + i, 1, per_thread_stream()), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuMemsetD32Async(a, 300 + i, 1, legacy_stream()), CUDA_SUCCESS);
  }
  EXPECT_THAT(driver.words(a, 1), ElementsAre(309));
}

TEST_P(VirtualStreamTest, QueriesSeeTheEndOfWork) {
  const CUstream stream = driver.stream();
  const CUevent event = driver.event();
  EXPECT_EQ(driver->cuEventQuery(event), CUDA_SUCCESS);
  Gate gate;
  EXPECT_EQ(driver->cuLaunchHostFunc(stream, &Gate::wait, &gate), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(event, stream), CUDA_SUCCESS);
  auto* const query = driver.find<CUresult(CUstream)>("cuStreamQuery");
  EXPECT_EQ(driver->cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(query(stream), CUDA_ERROR_NOT_READY);
  gate.is_open = true;
  while (driver->cuEventQuery(event) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  EXPECT_EQ(gate.calls, 1);
  EXPECT_EQ(driver->cuEventSynchronize(event), CUDA_SUCCESS);
}

TEST(VirtualStreamOnDemandTest, WorkRunsWhenItIsAwaitedOrQueriedAgain) {
  VirtualDriver driver({{"VIRTUAL_GPU_ON_DEMAND", "on"}});
  driver.use();
  const CUstream stream = driver.stream();
  const CUevent event = driver.event();
  std::atomic<int> calls = 0;
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(driver->cuLaunchHostFunc(stream, &count_call, &calls), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuEventRecord(event, stream), CUDA_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(calls, 2 * i - 2);
    EXPECT_EQ(driver->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(calls, 2 * i - 2);
    EXPECT_EQ(driver->cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(calls, 2 * i - 1);
    EXPECT_EQ(driver->cuLaunchHostFunc(stream, &count_call, &calls), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(calls, 2 * i);
  }
}

TEST_P(VirtualStreamTest, WorkWithoutAWaiterRunsInTheEnd) {
  const CUstream stream = driver.stream();
  std::atomic<int> calls = 0;
  EXPECT_EQ(driver->cuLaunchHostFunc(stream, &count_call, &calls), CUDA_SUCCESS);
  while (calls == 0) std::this_thread::yield();
  EXPECT_EQ(calls, 1);
}

TEST_P(VirtualStreamTest, DestroyedStreamsAndEventsFinishTheirWork) {
  const CUstream stream = driver.stream();
  const CUevent event = driver.event();
  std::atomic<int> calls = 0;
  EXPECT_EQ(driver->cuLaunchHostFunc(stream, &count_call, &calls), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
}

TEST_P(VirtualStreamTest, ReportsRacesOfCopies) {
  const CUdeviceptr a = driver.memory(64);
  const CUstream first = driver.stream();
  const CUstream second = driver.stream();
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 16, first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD32Async(a + 32, 2, 1, second), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(driver.find<const char*()>("virtualGpuLastViolation")(), HasSubstr("race"));
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_P(VirtualStreamTest, WaitingByTheHostOrdersStreams) {
  const CUdeviceptr a = driver.memory(64);
  const CUstream first = driver.stream();
  const CUstream second = driver.stream();
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 16, first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 2, 16, second), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 16), Each(2));
}

TEST_P(VirtualStreamTest, HostFunctionsSeeTheEndOfEarlierWork) {
  const CUdeviceptr a = driver.memory(64);
  const CUstream first = driver.stream();
  const CUstream second = driver.stream();
  std::atomic<int> calls = 0;
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 16, first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuLaunchHostFunc(first, &count_call, &calls), CUDA_SUCCESS);
  while (calls == 0) std::this_thread::yield();
  EXPECT_EQ(driver->cuMemsetD32Async(a, 2, 16, second), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 16), Each(2));
}

INSTANTIATE_TEST_SUITE_P(Schedules, VirtualStreamTest, testing::ValuesIn(kSchedules),
                         [](const auto& test) { return std::string(test.param); });

class VirtualHandleTest : public testing::Test {
 protected:
  VirtualHandleTest() { driver.use(); }
  VirtualDriver driver;
};

TEST_F(VirtualHandleTest, TellsWrongHandles) {
  const CUstream stream = driver.stream();
  const CUevent event = driver.event();
  EXPECT_EQ(driver->cuStreamSynchronize(reinterpret_cast<CUstream>(event)),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuEventRecord(reinterpret_cast<CUevent>(stream), stream),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuStreamWaitEvent(stream, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(VirtualHandleTest, ChecksFlags) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(driver->cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuEventCreate(&event, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuEventCreate(&event, 4), CUDA_ERROR_INVALID_VALUE);
  event = driver.event();
  EXPECT_EQ(driver->cuStreamWaitEvent(nullptr, event, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuLaunchHostFunc(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualHandleTest, StreamsHaveDifferentIds) {
  unsigned long long first = 0;
  unsigned long long second = 0;
  EXPECT_EQ(driver->cuStreamGetId(driver.stream(), &first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamGetId(nullptr, &second), CUDA_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_EQ(driver->cuStreamGetId(legacy_stream(), &first), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
}

TEST_F(VirtualHandleTest, MeasuresTimeBetweenEvents) {
  const CUevent start = driver.event();
  const CUevent end = driver.event();
  const CUevent silent = driver.event(CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr memory = driver.memory(1 << 20);
  float milliseconds = -1;
  EXPECT_EQ(driver->cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuEventRecord(start, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD8Async(memory, 0, 1 << 20, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(end, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(silent, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventSynchronize(silent), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
  EXPECT_GT(milliseconds, 0);
  EXPECT_LT(milliseconds, 1);
  EXPECT_EQ(driver->cuEventElapsedTime(&milliseconds, start, silent), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(VirtualHandleTest, UnfinishedEventsHaveNoTime) {
  const CUevent start = driver.event();
  const CUevent end = driver.event();
  Gate gate;
  EXPECT_EQ(driver->cuEventRecord(start, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuLaunchHostFunc(nullptr, &Gate::wait, &gate), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(end, nullptr), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(driver->cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
  gate.is_open = true;
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(VirtualHandleTest, HostFunctionsMustNotCallTheDriver) {
  struct Caller {
    const Driver* driver;
    CUresult result;
  } caller{driver.operator->(), CUDA_SUCCESS};
  EXPECT_EQ(driver->cuLaunchHostFunc(
                nullptr,
                [](void* data) {
                  auto& one = *static_cast<Caller*>(data);
                  CUdeviceptr pointer = 0;
                  one.result = one.driver->cuMemAlloc(&pointer, 8);
                },
                &caller),
            CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(caller.result, CUDA_ERROR_NOT_PERMITTED);
}

TEST(VirtualDevicesTest, EventsAndStreamsOfTwoContextsDoNotMix) {
  const VirtualDriver driver({{"VIRTUAL_GPUS", "sm_90, sm_80"}});
  driver.use(0);
  const CUevent event = driver.event();
  driver.use(1);
  const CUstream stream = driver.stream();
  EXPECT_EQ(driver->cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::stream_test
