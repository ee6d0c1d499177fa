// CUDA Graphs and user objects, without kernels.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::graph_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

void count_call(void* data) { ++*static_cast<std::atomic<int>*>(data); }

class VirtualGraphTest : public testing::TestWithParam<const char*> {
 protected:
  VirtualGraphTest() { driver.use(); }

  CUgraph new_graph() const {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  /// A graph with the work that `put` puts on a stream.
  CUgraph captured(const auto& put) const {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    put(stream);
    EXPECT_EQ(driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    return graph;
  }
  CUgraph fill_graph(CUdeviceptr to, unsigned value) const {
    return captured(
        [&](CUstream on) { EXPECT_EQ(driver->cuMemsetD32Async(to, value, 4, on), CUDA_SUCCESS); });
  }
  CUgraphExec instantiate(CUgraph graph) const {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  CUuserObject object(std::atomic<int>& destroyed) const {
    CUuserObject made = nullptr;
    EXPECT_EQ(driver->cuUserObjectCreate(&made, &destroyed, &count_call, 1,
                                         CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
              CUDA_SUCCESS);
    return made;
  }
  static void await(const std::atomic<int>& count) {
    while (count == 0) std::this_thread::yield();
  }

  VirtualDriver driver{{"VIRTUAL_GPU_SCHEDULE", GetParam()}};
  CUstream stream = driver.use() ? driver.stream() : nullptr;
};

TEST_P(VirtualGraphTest, RunsChildGraphsInOrder) {
  const CUdeviceptr a = driver.memory(16);
  const CUgraph first = fill_graph(a, 1);
  const CUgraph second = fill_graph(a, 2);
  const CUgraph graph = new_graph();
  CUgraphNode nodes[3] = {};
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&nodes[0], graph, nullptr, 0, first), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&nodes[1], graph, &nodes[0], 1), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&nodes[2], graph, &nodes[1], 1, second), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(graph);
  for (const CUgraph one : {first, second, graph})
    EXPECT_EQ(driver->cuGraphDestroy(one), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 4), Each(2));
}

TEST_P(VirtualGraphTest, LaunchesOfOneExecutableGraphAreOrdered) {
  const CUdeviceptr a = driver.memory(16);
  const CUgraphExec exec = instantiate(fill_graph(a, 3));
  const CUstream other = driver.stream();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuGraphLaunch(exec, other), CUDA_SUCCESS);
  }
  EXPECT_THAT(driver.words(a, 4), Each(3));
}

TEST_P(VirtualGraphTest, NodesWithoutEdgesRace) {
  const CUdeviceptr a = driver.memory(16);
  const CUgraph graph = new_graph();
  CUgraphNode node = nullptr;
  for (const unsigned value : {1, 2})
    EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, graph, nullptr, 0, fill_graph(a, value)),
              CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphLaunch(instantiate(graph), stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_P(VirtualGraphTest, ChildGraphsAreUpdated) {
  const CUdeviceptr a = driver.memory(16);
  const CUgraph graph = new_graph();
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, graph, nullptr, 0, fill_graph(a, 1)),
            CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(graph);
  EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphExecChildGraphNodeSetParams(exec, node, fill_graph(a, 2)), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 4), Each(1));
  EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 4), Each(2));
}

TEST_P(VirtualGraphTest, UpdatesKeepTheTopology) {
  const CUdeviceptr a = driver.memory(16);
  const CUgraph graph = new_graph();
  CUgraphNode node = nullptr;
  CUgraphNode empty = nullptr;
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, graph, nullptr, 0, fill_graph(a, 1)),
            CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&empty, graph, nullptr, 0), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(graph);
  const CUgraph longer = captured([&](CUstream on) {
    driver->cuMemsetD32Async(a, 1, 4, on);
    driver->cuMemsetD32Async(a, 2, 4, on);
  });
  const CUgraph other = captured([&](CUstream on) {
    driver->cuLaunchHostFunc(
        on, [](void*) {}, nullptr);
  });
  for (const CUgraph update : {longer, other, new_graph()})
    EXPECT_EQ(driver->cuGraphExecChildGraphNodeSetParams(exec, node, update),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(driver->cuGraphExecChildGraphNodeSetParams(exec, empty, fill_graph(a, 2)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 4), Each(1));
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphExecChildGraphNodeSetParams(exec, node, fill_graph(a, 2)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_P(VirtualGraphTest, ChecksNodes) {
  const CUgraph graph = new_graph();
  const CUgraph other = new_graph();
  CUgraphNode nodes[2] = {};
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver->cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0), CUDA_SUCCESS);
  nodes[1] = nodes[0];
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&node, graph, nodes, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&node, other, nodes, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&node, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graph),
            CUDA_ERROR_INVALID_VALUE);
  CUlaunchAttributeValue value{};
  EXPECT_EQ(
      driver->cuGraphKernelNodeSetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
      CUDA_ERROR_INVALID_VALUE);
  std::size_t count = 3;
  CUgraphNode listed[3] = {nullptr, nodes[0], nodes[0]};
  EXPECT_EQ(driver->cuGraphGetNodes(graph, listed, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_THAT(listed, ElementsAre(nodes[0], nullptr, nullptr));
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphInstantiateWithFlags(&exec, other, 1024), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(VirtualGraphTest, DestroyedExecutablesFinishTheirWork) {
  std::atomic<int> calls = 0;
  const CUgraphExec exec = instantiate(captured([&](CUstream on) {
    EXPECT_EQ(driver->cuLaunchHostFunc(on, &count_call, &calls), CUDA_SUCCESS);
  }));
  EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
}

TEST_P(VirtualGraphTest, LaunchesAreCaptured) {
  const CUdeviceptr a = driver.memory(16);
  const CUgraphExec inner = instantiate(fill_graph(a, 4));
  const CUgraph graph =
      captured([&](CUstream on) { EXPECT_EQ(driver->cuGraphLaunch(inner, on), CUDA_SUCCESS); });
  EXPECT_EQ(driver->cuGraphLaunch(instantiate(graph), stream), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 4), Each(4));
}

TEST_P(VirtualGraphTest, UserObjectsLiveAsLongAsGraphs) {
  std::atomic<int> destroyed = 0;
  const CUgraph graph = fill_graph(driver.memory(16), 1);
  EXPECT_EQ(driver->cuGraphRetainUserObject(graph, object(destroyed), 1, CU_GRAPH_USER_OBJECT_MOVE),
            CUDA_SUCCESS);
  const CUgraph parent = new_graph();
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(parent);
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphDestroy(parent), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(driver->cuGraphExecDestroy(exec), CUDA_SUCCESS);
  await(destroyed);
  EXPECT_EQ(destroyed, 1);
}

TEST_P(VirtualGraphTest, CountsReferencesOfUserObjects) {
  std::atomic<int> destroyed = 0;
  const CUuserObject one = object(destroyed);
  const CUgraph graph = new_graph();
  EXPECT_EQ(driver->cuGraphRetainUserObject(graph, one, 2, CU_GRAPH_USER_OBJECT_MOVE),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphRetainUserObject(graph, one, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphRetainUserObject(graph, one, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphRetainUserObject(graph, one, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuUserObjectRelease(one, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuUserObjectRelease(one, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
  await(destroyed);
  EXPECT_EQ(driver->cuUserObjectRelease(one, 1), CUDA_ERROR_INVALID_VALUE);
  CUuserObject made = nullptr;
  EXPECT_EQ(driver->cuUserObjectCreate(&made, nullptr, &count_call, 1, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuUserObjectCreate(&made, nullptr, nullptr, 1, 1), CUDA_ERROR_INVALID_VALUE);
}

INSTANTIATE_TEST_SUITE_P(Schedules, VirtualGraphTest, testing::ValuesIn(kSchedules),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace sinter::virtual_gpu::driver::graph_test
