// Stream capture on the host device: what is put on streams becomes a graph, and nothing else does.
#include <gmock/gmock.h>

#include "tests/host/host_driver_fixture.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HostDriverCaptureTest : public HostDriverTest {
 protected:
  void SetUp() override {
    HostDriverTest::SetUp();
    stream_ = new_stream();
    other_ = new_stream();
    x_ = allocate(16);
    y_ = allocate(16);
    driver.cuMemsetD32Async(x_, 0, 4, stream_);
    driver.cuMemsetD32Async(y_, 0, 4, stream_);
    driver.cuStreamSynchronize(stream_);
  }

  CUresult begin(CUstream stream) {
    return driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  CUgraph end(CUstream stream, CUresult expected = CUDA_SUCCESS) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), expected);
    EXPECT_EQ(graph != nullptr, expected == CUDA_SUCCESS);
    return graph;
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    check(driver, driver.cuGraphInstantiateWithFlags(&exec, graph, 0),
          "cuGraphInstantiateWithFlags", "a test");
    return exec;
  }
  std::size_t nodes(CUgraph graph) {
    std::size_t count = 0;
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus result{};
    EXPECT_EQ(driver.cuStreamIsCapturing(stream, &result), CUDA_SUCCESS);
    return result;
  }
  /// x or y has `value` in all its words, when `stream` gets there.
  CUresult fill(CUdeviceptr at, unsigned value, CUstream stream) {
    return driver.cuMemsetD32Async(at, value, 4, stream);
  }
  CUresult copy(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
    return driver.cuMemcpyDtoDAsync(to, from, 16, stream);
  }
  std::vector<unsigned> words(CUdeviceptr at) { return download<unsigned>(at, 4, stream_); }

  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
  CUdeviceptr x_ = 0;
  CUdeviceptr y_ = 0;
};

TEST_F(HostDriverCaptureTest, RecordsAndDoesNotRun) {
  EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_EQ(begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(begin(stream_), CUDA_ERROR_ILLEGAL_STATE);
  fill(x_, 3, stream_);
  copy(y_, x_, stream_);
  fill(x_, 5, stream_);
  const CUgraph graph = end(stream_);
  EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(nodes(graph), 3U);
  EXPECT_THAT(words(x_), Each(0));
  const CUgraphExec exec = instantiate(graph);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    use_seed(seed);
    ASSERT_EQ(driver.cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
    EXPECT_THAT(words(x_), Each(5));
    EXPECT_THAT(words(y_), Each(3));  // in the order of the stream
  }
}

TEST_F(HostDriverCaptureTest, RecordsKernelsWithTheirArguments) {
  const CUfunction increment = function(increment_kernel());
  const CUdeviceptr in = upload(std::vector<float>{1, 2, 3}, stream_);
  const CUdeviceptr out = allocate(12);
  ASSERT_EQ(begin(stream_), CUDA_SUCCESS);
  ASSERT_EQ(launch(increment, {.threads = 3, .stream = stream_}, in, out, 3), CUDA_SUCCESS);
  ASSERT_EQ(launch(increment, {.threads = 3, .stream = stream_}, out, out, 3), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(end(stream_));
  driver.cuGraphLaunch(exec, stream_);
  EXPECT_THAT(download<float>(out, 3, stream_), ElementsAre(3, 4, 5));
}

TEST_F(HostDriverCaptureTest, RecordsHostFunctions) {
  int calls = 0;
  ASSERT_EQ(begin(stream_), CUDA_SUCCESS);
  driver.cuLaunchHostFunc(
      stream_, [](void* count) { ++*static_cast<int*>(count); }, &calls);
  const CUgraphExec exec = instantiate(end(stream_));
  EXPECT_EQ(calls, 0);
  driver.cuGraphLaunch(exec, stream_);
  driver.cuGraphLaunch(exec, stream_);
  driver.cuStreamSynchronize(stream_);
  EXPECT_EQ(calls, 2);
}

TEST_F(HostDriverCaptureTest, FollowsEventsToOtherStreamsAndBack) {
  const CUevent fork = new_event();
  const CUevent join = new_event();
  ASSERT_EQ(begin(stream_), CUDA_SUCCESS);
  fill(x_, 7, stream_);
  ASSERT_EQ(driver.cuEventRecord(fork, stream_), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamWaitEvent(other_, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  copy(y_, x_, other_);
  driver.cuEventRecord(join, other_);
  EXPECT_EQ(driver.cuEventSynchronize(join), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(driver.cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
  driver.cuStreamWaitEvent(stream_, join, 0);
  fill(x_, 9, stream_);
  const CUgraphExec exec = instantiate(end(stream_));
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    use_seed(seed);
    driver.cuGraphLaunch(exec, stream_);
    EXPECT_THAT(words(y_), Each(7));
    EXPECT_THAT(words(x_), Each(9));
  }
  // The events may be used as ever again.
  ASSERT_EQ(driver.cuEventRecord(join, other_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(join), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptureTest, WorkThatIsNotJoinedIsAnError) {
  const CUevent fork = new_event();
  begin(stream_);
  fill(x_, 7, stream_);
  driver.cuEventRecord(fork, stream_);
  driver.cuStreamWaitEvent(other_, fork, 0);
  copy(y_, x_, other_);
  end(stream_, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(HostDriverCaptureTest, WaitingInvalidatesIt) {
  const auto expect_invalid = [&](auto call) {
    begin(stream_);
    fill(x_, 7, stream_);
    EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(fill(x_, 8, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_THAT(host::last_error(), HasSubstr("was called while a stream was captured"));
    EXPECT_THAT(words(x_), Each(0));
  };
  expect_invalid([&] { return driver.cuStreamSynchronize(stream_); });
  expect_invalid([&] { return driver.cuStreamQuery(stream_); });
  expect_invalid([&] { return driver.cuCtxSynchronize(); });
  expect_invalid([&] {
    CUdeviceptr pointer = 0;
    return driver.cuMemAllocAsync(&pointer, 16, stream_);
  });
  // Other streams go on meanwhile.
  begin(stream_);
  fill(y_, 4, other_);
  EXPECT_EQ(driver.cuStreamSynchronize(other_), CUDA_SUCCESS);
  end(stream_);
  EXPECT_THAT(words(y_), Each(4));
}

TEST_F(HostDriverCaptureTest, BelongsToTheStreamWhereItBegan) {
  const CUevent outside = new_event();
  driver.cuEventRecord(outside, other_);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(begin(nullptr), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_NOT_SUPPORTED);
  begin(stream_);
  EXPECT_EQ(driver.cuStreamWaitEvent(stream_, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  const CUevent fork = new_event();
  driver.cuEventRecord(fork, stream_);
  begin(other_);
  EXPECT_EQ(driver.cuStreamWaitEvent(other_, fork, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  end(other_);
  driver.cuStreamWaitEvent(other_, fork, 0);
  EXPECT_EQ(driver.cuStreamEndCapture(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  end(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptureTest, GraphsAreNodesOfOthers) {
  const auto captured = [&](unsigned value) {
    begin(stream_);
    fill(x_, value, stream_);
    copy(y_, x_, stream_);
    return end(stream_);
  };
  const CUgraph inner = captured(6);
  CUgraph outer = nullptr;
  driver.cuGraphCreate(&outer, 0);
  CUgraphNode child = nullptr;
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), CUDA_SUCCESS);
  driver.cuGraphDestroy(inner);  // a node has a copy of its own
  const CUgraphExec exec = instantiate(outer);
  driver.cuGraphLaunch(exec, stream_);
  EXPECT_THAT(words(y_), Each(6));

  const CUgraph changed = captured(8);
  ASSERT_EQ(driver.cuGraphExecChildGraphNodeSetParams(exec, child, changed), CUDA_SUCCESS);
  driver.cuGraphLaunch(exec, stream_);
  EXPECT_THAT(words(y_), Each(8));

  begin(stream_);
  fill(x_, 1, stream_);
  EXPECT_EQ(driver.cuGraphExecChildGraphNodeSetParams(exec, child, end(stream_)),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(driver.cuGraphAddChildGraphNode(&child, outer, nullptr, 0, outer),
            CUDA_ERROR_INVALID_VALUE);

  // A launch that is captured is a node too.
  begin(stream_);
  fill(y_, 2, stream_);
  driver.cuGraphLaunch(exec, stream_);
  const CUgraph both = end(stream_);
  EXPECT_EQ(nodes(both), 2U);
  driver.cuGraphLaunch(instantiate(both), stream_);
  EXPECT_THAT(words(y_), Each(8));
}

}  // namespace
}  // namespace sinter
