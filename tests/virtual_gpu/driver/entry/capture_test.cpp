// Stream capture.
#include <thread>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::capture_test {
namespace {

using ::testing::Each;

class VirtualCaptureTest : public testing::Test {
 protected:
  VirtualCaptureTest() { driver.use(); }

  void begin(CUstream which, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) const {
    ASSERT_EQ(driver->cuStreamBeginCapture(which, mode), CUDA_SUCCESS);
  }
  CUresult end(CUstream which) {
    graph = nullptr;
    return driver->cuStreamEndCapture(which, &graph);
  }
  CUstreamCaptureStatus status(CUstream which) const {
    CUstreamCaptureStatus value{};
    EXPECT_EQ(driver->cuStreamIsCapturing(which, &value), CUDA_SUCCESS);
    return value;
  }
  std::size_t nodes() const {
    std::size_t count = 0;
    EXPECT_EQ(driver->cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  void launch(CUstream on) const {
    CUgraphExec exec = nullptr;
    ASSERT_EQ(driver->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuGraphLaunch(exec, on), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
  CUresult allocate() const {
    CUdeviceptr pointer = 0;
    return driver->cuMemAlloc(&pointer, 8);
  }

  VirtualDriver driver;
  CUgraph graph = nullptr;
};

TEST_F(VirtualCaptureTest, RecordsWorkInsteadOfRunningIt) {
  const CUstream stream = driver.stream();
  const CUdeviceptr a = driver.memory(64);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 16, stream), CUDA_SUCCESS);
  begin(stream);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 2, 16, stream), CUDA_SUCCESS);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(nodes(), 1);
  EXPECT_THAT(driver.words(a, 16), Each(1));
  launch(stream);
  EXPECT_THAT(driver.words(a, 16), Each(2));
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, ChecksBegin) {
  const CUstream stream = driver.stream();
  EXPECT_EQ(driver->cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver->cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(3)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(end(stream), CUDA_ERROR_ILLEGAL_STATE);
  begin(stream);
  EXPECT_EQ(driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, UnsafeCallsInvalidateACapture) {
  const CUstream stream = driver.stream();
  begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(driver->cuLaunchHostFunc(
                stream, [](void*) {}, nullptr),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, ModesDecideAboutOtherThreads) {
  const CUstream stream = driver.stream();
  const auto allocate_elsewhere = [&](CUstreamCaptureMode thread_mode) {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      driver.use();
      driver->cuThreadExchangeStreamCaptureMode(&thread_mode);
      result = allocate();
    }).join();
    return result;
  };
  begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(allocate_elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(allocate_elsewhere(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(allocate_elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, RelaxedThreadsMayMakeUnsafeCalls) {
  const CUstream stream = driver.stream();
  begin(stream);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_EQ(driver->cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, CapturedStreamsCannotBeAwaited) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver->cuThreadExchangeStreamCaptureMode(&mode);
  const CUstream stream = driver.stream();
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, CapturedEventsCannotBeAwaited) {
  const CUstream stream = driver.stream();
  const CUevent event = driver.event();
  begin(stream);
  EXPECT_EQ(driver->cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver->cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(driver->cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventSynchronize(event), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, EventsLetOtherStreamsTakePart) {
  const CUstream origin = driver.stream();
  const CUstream other = driver.stream();
  const CUevent fork = driver.event();
  const CUevent join = driver.event();
  const CUdeviceptr a = driver.memory(8);
  begin(origin);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 2, origin), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(fork, origin), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 2, 1, other), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuMemsetD32Async(a + 4, 2, 1, origin), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuEventRecord(join, other), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamWaitEvent(origin, join, 0), CUDA_SUCCESS);
  EXPECT_EQ(end(other), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(end(origin), CUDA_SUCCESS);
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(nodes(), 3);
  launch(origin);
  EXPECT_THAT(driver.words(a, 2), Each(2));
}

TEST_F(VirtualCaptureTest, StreamsMustBeJoined) {
  const CUstream origin = driver.stream();
  const CUstream other = driver.stream();
  const CUevent fork = driver.event();
  begin(origin);
  EXPECT_EQ(driver->cuEventRecord(fork, origin), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuLaunchHostFunc(
                other, [](void*) {}, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(end(origin), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(VirtualCaptureTest, CapturesDoNotMix) {
  const CUstream first = driver.stream();
  const CUstream second = driver.stream();
  const CUevent outside = driver.event();
  const CUevent event = driver.event();
  EXPECT_EQ(driver->cuEventRecord(outside, second), CUDA_SUCCESS);
  begin(first);
  EXPECT_EQ(driver->cuStreamWaitEvent(first, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(first), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(first);
  begin(second);
  EXPECT_EQ(driver->cuEventRecord(event, first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamWaitEvent(second, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(end(first), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(second), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(VirtualCaptureTest, OnlyTheFirstThreadEndsIt) {
  const CUstream stream = driver.stream();
  begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUresult elsewhere = CUDA_SUCCESS;
  std::thread([&] {
    driver.use();
    elsewhere = end(stream);
  }).join();
  EXPECT_EQ(elsewhere, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, TheLegacyStreamIsUnusableMeanwhile) {
  const CUstream blocking = driver.stream(CU_STREAM_DEFAULT);
  const CUdeviceptr a = driver.memory(4);
  begin(blocking);
  CUstreamCaptureStatus value{};
  EXPECT_EQ(driver->cuStreamIsCapturing(nullptr, &value), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(end(blocking), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const CUstream stream = driver.stream();
  begin(stream);
  EXPECT_EQ(driver->cuMemsetD32Async(a, 1, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
}

TEST_F(VirtualCaptureTest, NodesCanBeAddedByHand) {
  const CUstream stream = driver.stream();
  CUstreamCaptureStatus value{};
  CUgraph captured = nullptr;
  const CUgraphNode* dependencies = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(driver->cuStreamUpdateCaptureDependencies(stream, nullptr, 0, 0),
            CUDA_ERROR_ILLEGAL_STATE);
  begin(stream);
  EXPECT_EQ(driver->cuLaunchHostFunc(
                stream, [](void*) {}, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(
      driver->cuStreamGetCaptureInfo(stream, &value, nullptr, &captured, &dependencies, &count),
      CUDA_SUCCESS);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(driver->cuGraphDestroy(captured), CUDA_ERROR_INVALID_VALUE);
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&node, captured, dependencies, count), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamUpdateCaptureDependencies(stream, &node, 1,
                                                      CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamGetCaptureInfo(stream, &value, nullptr, nullptr, &dependencies, &count),
            CUDA_SUCCESS);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(dependencies[0], node);
  EXPECT_EQ(driver->cuStreamUpdateCaptureDependencies(stream, &node, 1, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
  EXPECT_EQ(graph, captured);
  EXPECT_EQ(nodes(), 2);
}

TEST_F(VirtualCaptureTest, AllocationsCannotBeInChildGraphs) {
  const CUstream stream = driver.stream();
  CUdeviceptr pointer = 0;
  begin(stream);
  EXPECT_EQ(driver.find<CUresult(CUdeviceptr*, std::size_t, CUstream)>("cuMemAllocAsync")(
                &pointer, 16, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(end(stream), CUDA_SUCCESS);
  CUgraph parent = nullptr;
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver->cuGraphCreate(&parent, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph),
            CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::capture_test
