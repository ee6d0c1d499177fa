// Stream capture on the host device: queued work becomes graph nodes, and forbidden calls fail.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <thread>

#include "tests/host/driver/host_driver_fixture.h"

namespace sinter::host_driver_capture_test {
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
  /// Fills x or y with `value`, in stream order.
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

TEST_F(HostDriverCaptureTest, RecordsWithoutRunning) {
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
    EXPECT_THAT(words(y_), Each(3));  // nodes run in stream order
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

TEST_F(HostDriverCaptureTest, FollowsEventsToOtherStreams) {
  const CUevent fork = new_event();
  const CUevent join = new_event();
  ASSERT_EQ(begin(stream_), CUDA_SUCCESS);
  fill(x_, 7, stream_);
  ASSERT_EQ(driver.cuEventRecord(fork, stream_), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamWaitEvent(other_, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  copy(y_, x_, other_);
  driver.cuEventRecord(join, other_);
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
  // The events are usable again.
  ASSERT_EQ(driver.cuEventRecord(join, other_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(join), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptureTest, RejectsUnjoinedStreams) {
  const CUevent fork = new_event();
  begin(stream_);
  fill(x_, 7, stream_);
  driver.cuEventRecord(fork, stream_);
  driver.cuStreamWaitEvent(other_, fork, 0);
  copy(y_, x_, other_);
  end(stream_, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(HostDriverCaptureTest, WaitingInvalidatesTheCapture) {
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
  expect_invalid([&] { return driver.cuCtxSynchronize(); });
  for (const auto ask : {driver.cuEventSynchronize, driver.cuEventQuery}) {
    const CUevent event = new_event();
    begin(stream_);
    driver.cuEventRecord(event, stream_);
    EXPECT_EQ(ask(event), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    end(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(ask(event), CUDA_ERROR_CAPTURED_EVENT);
  }
  // Other streams continue to work.
  begin(stream_);
  fill(y_, 4, other_);
  EXPECT_EQ(driver.cuStreamSynchronize(other_), CUDA_SUCCESS);
  end(stream_);
  EXPECT_THAT(words(y_), Each(4));
}

TEST_F(HostDriverCaptureTest, IsBoundToItsStream) {
  const CUevent outside = new_event();
  driver.cuEventRecord(outside, other_);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(begin(nullptr), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
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

TEST_F(HostDriverCaptureTest, SupportsChildGraphs) {
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
  driver.cuGraphDestroy(inner);  // the child node has a copy
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

  // A captured graph launch is also a node.
  begin(stream_);
  fill(y_, 2, stream_);
  driver.cuGraphLaunch(exec, stream_);
  const CUgraph both = end(stream_);
  EXPECT_EQ(nodes(both), 2U);
  driver.cuGraphLaunch(instantiate(both), stream_);
  EXPECT_THAT(words(y_), Each(8));
}

/// The calls that a capture forbids, by the capture's mode, the mode of the calling thread, and
/// whether that thread is capturing.
TEST_F(HostDriverCaptureTest, ModesRestrictCalls) {
  constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
  constexpr auto kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  struct Case {
    CUstreamCaptureMode capture, thread;
    bool forbidden_here, forbidden_elsewhere;
  };
  const Case cases[] = {
      {kGlobal, kGlobal, true, true},     {kGlobal, kLocal, true, false},
      {kGlobal, kRelaxed, false, false},  {kLocal, kGlobal, true, false},
      {kLocal, kLocal, true, false},      {kLocal, kRelaxed, false, false},
      {kRelaxed, kGlobal, false, false},  {kRelaxed, kLocal, false, false},
      {kRelaxed, kRelaxed, false, false},
  };
  const CUevent event = new_event();
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  const std::function<CUresult()> calls[] = {
      [&] {
        CUdeviceptr pointer = 0;
        return driver.cuMemAlloc(&pointer, 16);
      },
      [&] { return driver.cuEventQuery(event); },
      [&] { return driver.cuStreamSynchronize(other_); },
      [&] {
        CUstream stream = nullptr;
        return driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      },
      [&] {
        unsigned word = 0;
        return driver.cuMemcpyDtoHAsync(&word, x_, 4, other_);
      },
  };
  for (const Case& one : cases)
    for (const bool is_elsewhere : {false, true})
      for (const auto& call : calls) {
        SCOPED_TRACE(fmt::format("capture {}, thread {}, elsewhere {}, call {}",
                                 static_cast<int>(one.capture), static_cast<int>(one.thread),
                                 is_elsewhere, &call - calls));
        ASSERT_EQ(driver.cuStreamBeginCapture(stream_, one.capture), CUDA_SUCCESS);
        CUresult result{};
        const auto make = [&] {
          driver.cuCtxSetCurrent(context);
          CUstreamCaptureMode mode = one.thread;
          EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
          EXPECT_EQ(mode, kGlobal);
          result = call();
          EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
          EXPECT_EQ(mode, one.thread);
        };
        if (is_elsewhere)
          std::thread(make).join();
        else
          make();
        const bool is_forbidden = is_elsewhere ? one.forbidden_elsewhere : one.forbidden_here;
        EXPECT_EQ(result, is_forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
        end(stream_, is_forbidden ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
      }
}

TEST_F(HostDriverCaptureTest, EndsOnItsOwnThreadUnlessRelaxed) {
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  const auto end_elsewhere = [&] {
    CUresult result{};
    std::thread([&] {
      driver.cuCtxSetCurrent(context);
      CUgraph graph = nullptr;
      result = driver.cuStreamEndCapture(stream_, &graph);
    }).join();
    return result;
  };
  driver.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(end_elsewhere(), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  end(stream_);
  begin(stream_);
  EXPECT_EQ(end_elsewhere(), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptureTest, AcceptsExplicitNodes) {
  begin(stream_);
  fill(y_, 4, stream_);
  const CUgraph set_y = end(stream_);
  begin(stream_);
  fill(x_, 3, stream_);
  CUstreamCaptureStatus state{};
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* before = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(driver.cuStreamGetCaptureInfo(stream_, &state, &id, &graph, &before, &count),
            CUDA_SUCCESS);
  EXPECT_EQ(state, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_GT(id, 0U);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_ERROR_ILLEGAL_STATE);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_ILLEGAL_STATE);

  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&node, graph, before, count, set_y), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamUpdateCaptureDependencies(stream_, &node, 1,
                                                     CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            CUDA_SUCCESS);
  copy(x_, y_, stream_);
  EXPECT_EQ(end(stream_), graph);
  EXPECT_EQ(nodes(graph), 3U);
  const CUgraphExec whole = instantiate(graph);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    use_seed(seed);
    driver.cuGraphLaunch(whole, stream_);
    EXPECT_THAT(words(x_), Each(4));
  }
  EXPECT_EQ(driver.cuStreamUpdateCaptureDependencies(stream_, &node, 1, 0),
            CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(HostDriverCaptureTest, RejectsTheLegacyStream) {
  const CUevent fork = new_event();
  begin(stream_);
  driver.cuEventRecord(fork, stream_);
  EXPECT_EQ(driver.cuStreamWaitEvent(nullptr, fork, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  end(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptureTest, EndsWithItsStream) {
  int destroyed = 0;
  CUuserObject object = nullptr;
  driver.cuUserObjectCreate(
      &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  const CUstream stream = new_stream();
  begin(stream);
  CUstreamCaptureStatus state{};
  CUgraph graph = nullptr;
  driver.cuStreamGetCaptureInfo(stream, &state, nullptr, &graph, nullptr, nullptr);
  driver.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  driver.cuStreamDestroy(stream);
  new_stream();  // drops destroyed streams
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptureTest, CapturedEventsHaveNoTime) {
  const CUevent start = new_event(), middle = new_event();
  driver.cuEventRecord(start, stream_);
  driver.cuEventRecord(middle, stream_);
  driver.cuStreamSynchronize(stream_);
  float time = 0;
  EXPECT_EQ(driver.cuEventElapsedTime(&time, start, middle), CUDA_SUCCESS);
  begin(stream_);
  driver.cuEventRecord(middle, stream_);
  end(stream_);
  EXPECT_EQ(driver.cuEventElapsedTime(&time, start, middle), CUDA_ERROR_CAPTURED_EVENT);
}

TEST_F(HostDriverCaptureTest, LegacyStreamIsUnusableDuringACaptureOfABlockingStream) {
  CUstream blocking = nullptr;
  driver.cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
  begin(blocking);
  CUstreamCaptureStatus result{};
  EXPECT_EQ(driver.cuStreamIsCapturing(nullptr, &result), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  end(blocking);
  EXPECT_EQ(driver.cuStreamIsCapturing(nullptr, &result), CUDA_SUCCESS);
}

/// User objects live until no graph can be launched and no launch is pending.
TEST_F(HostDriverCaptureTest, GraphsKeepUserObjects) {
  int destroyed = 0;
  const auto make = [&](unsigned references) {
    CUuserObject object = nullptr;
    EXPECT_EQ(driver.cuUserObjectCreate(
                  &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, references,
                  CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
              CUDA_SUCCESS);
    return object;
  };
  CUuserObject object = make(2);
  EXPECT_EQ(driver.cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(driver.cuUserObjectRelease(object, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(driver.cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);

  object = make(1);
  CUgraph inner = nullptr;
  driver.cuGraphCreate(&inner, 0);
  ASSERT_EQ(driver.cuGraphRetainUserObject(inner, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphRetainUserObject(inner, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
            CUDA_ERROR_INVALID_VALUE);  // the graph took the caller's reference
  CUgraph outer = nullptr;
  driver.cuGraphCreate(&outer, 0);
  // The handle is invalid once the caller's references are released, although the object still
  // exists.
  EXPECT_EQ(driver.cuGraphRetainUserObject(outer, object, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(host::last_error(), HasSubstr("that user object does not exist (any more)"));
  EXPECT_EQ(driver.cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroyed, 1);
  CUgraphNode child = nullptr;
  driver.cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner);
  driver.cuGraphDestroy(inner);
  const CUgraphExec exec = instantiate(outer);
  driver.cuGraphDestroy(outer);
  driver.cuGraphLaunch(exec, stream_);
  driver.cuGraphExecDestroy(exec);
  EXPECT_EQ(destroyed, 1);
  driver.cuStreamSynchronize(stream_);
  EXPECT_EQ(destroyed, 2);

  // A failed capture also releases its user objects.
  begin(stream_);
  CUstreamCaptureStatus state{};
  CUgraph graph = nullptr;
  driver.cuStreamGetCaptureInfo(stream_, &state, nullptr, &graph, nullptr, nullptr);
  driver.cuGraphRetainUserObject(graph, make(1), 1, CU_GRAPH_USER_OBJECT_MOVE);
  driver.cuStreamSynchronize(stream_);
  end(stream_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(destroyed, 3);
}

}  // namespace
}  // namespace sinter::host_driver_capture_test
