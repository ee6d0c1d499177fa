// Queries of CUDA Graphs on the host device: nodes, edges, attributes and child graphs.
#include "tests/host/driver/host_driver_fixture.h"

#include <gmock/gmock.h>

namespace sinter::host_driver_queries_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr CUgraphEdgeData kProgrammatic = {.from_port = kGraphKernelNodePortProgrammatic,
                                           .to_port = 0,
                                           .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                           .reserved = {}};

class HostDriverQueriesTest : public HostDriverTest {
 protected:
  static constexpr unsigned kBlocks = 8;

  void SetUp() override {
    HostDriverTest::SetUp();
    ranks_ = function({.entry = "ranks", .text = R"(
extern "C" __global__ void ranks(int* out) { store(out, blockIdx.x, cluster_rank()); }
)"});
    out_ = allocate(kBlocks * sizeof(int));
  }

  CUgraph new_graph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  CUgraphNode add_kernel(CUgraph graph, std::vector<CUgraphNode> after = {},
                         unsigned blocks = kBlocks) {
    void* parameters[] = {&out_};
    const CUDA_KERNEL_NODE_PARAMS node{.func = ranks_,
                                       .gridDimX = blocks,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = 1,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .kernelParams = parameters};
    CUgraphNode result = nullptr;
    EXPECT_EQ(driver.cuGraphAddKernelNode(&result, graph, after.data(), after.size(), &node),
              CUDA_SUCCESS);
    return result;
  }
  CUgraphNode add_child(CUgraph graph, CUgraph child) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child), CUDA_SUCCESS);
    return node;
  }
  CUgraph child_of(CUgraphNode node) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuGraphChildGraphNodeGetGraph(node, &graph), CUDA_SUCCESS);
    return graph;
  }
  std::vector<CUgraphNode> nodes(CUgraph graph) {
    std::size_t count = 0;
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    std::vector<CUgraphNode> list(count);
    EXPECT_EQ(driver.cuGraphGetNodes(graph, list.data(), &count), CUDA_SUCCESS);
    return list;
  }
  CUresult set_cluster(CUgraphNode node, unsigned blocks) {
    CUlaunchAttributeValue value{};
    value.clusterDim = {.x = blocks, .y = 1, .z = 1};
    return driver.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                                &value);
  }
  CUresult set_cooperative(CUgraphNode node) {
    CUlaunchAttributeValue value{};
    value.cooperative = 1;
    return driver.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
  }
  unsigned cluster(CUgraphNode node) {
    CUlaunchAttributeValue value{};
    EXPECT_EQ(
        driver.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
        CUDA_SUCCESS);
    return value.clusterDim.x;
  }
  int is_cooperative(CUgraphNode node) {
    CUlaunchAttributeValue value{};
    EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
              CUDA_SUCCESS);
    return value.cooperative;
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  std::vector<int> run(CUgraphExec exec) {
    EXPECT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    return download<int>(out_, kBlocks);
  }

  CUfunction ranks_ = nullptr;
  CUdeviceptr out_ = 0;
};

TEST_F(HostDriverQueriesTest, NodesHaveTypes) {
  const CUstream stream = new_stream();
  const CUdeviceptr other = allocate(4);
  CUgraph graph = nullptr;
  driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  driver.cuMemsetD32Async(out_, 1, 1, stream);
  driver.cuMemcpyDtoDAsync(other, out_, 4, stream);
  driver.cuLaunchHostFunc(
      stream, [](void*) {}, nullptr);
  launch(ranks_, {.blocks = 1, .stream = stream}, out_);
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  CUgraphNode empty = nullptr;
  driver.cuGraphAddEmptyNode(&empty, graph, nullptr, 0);
  add_child(graph, new_graph());
  std::vector<CUgraphNodeType> types;
  for (const CUgraphNode node : nodes(graph)) {
    types.emplace_back();
    EXPECT_EQ(driver.cuGraphNodeGetType(node, &types.back()), CUDA_SUCCESS);
  }
  EXPECT_THAT(types, UnorderedElementsAre(CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                          CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL,
                                          CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_GRAPH));
  EXPECT_EQ(driver.cuGraphNodeGetType(empty, nullptr), CUDA_ERROR_INVALID_VALUE);
  driver.cuGraphDestroy(graph);
  EXPECT_EQ(driver.cuGraphNodeGetType(empty, &types[0]), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(host::last_error(), HasSubstr("that node does not exist (any more)"));
}

TEST_F(HostDriverQueriesTest, EdgesHaveData) {
  const CUgraph graph = new_graph();
  const CUgraphNode a = add_kernel(graph);
  const CUgraphNode b = add_kernel(graph, {a});
  const CUgraphNode c = add_kernel(graph);
  CUgraphNode from[3] = {c, c, c}, to[3] = {c, c, c};
  CUgraphEdgeData data[3] = {kProgrammatic};
  std::size_t count = 3;
  EXPECT_EQ(driver.cuGraphGetEdges(graph, from, to, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_THAT(from, ElementsAre(a, nullptr, nullptr));
  EXPECT_THAT(to, ElementsAre(b, nullptr, nullptr));
  ASSERT_EQ(driver.cuGraphAddDependencies(graph, &b, &c, &kProgrammatic, 1), CUDA_SUCCESS);
  count = 3;
  EXPECT_EQ(driver.cuGraphGetEdges(graph, from, to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(driver.cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(driver.cuGraphGetEdges(graph, from, to, data, &count), CUDA_SUCCESS);
  EXPECT_THAT(to, ElementsAre(b, c, nullptr));
  EXPECT_EQ(data[0].type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
  EXPECT_EQ(data[0].from_port, kGraphKernelNodePortDefault);
  EXPECT_EQ(data[1].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(data[1].from_port, kGraphKernelNodePortProgrammatic);
  count = 1;
  EXPECT_EQ(driver.cuGraphGetEdges(graph, from, to, data, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  for (const auto& [first, second] :
       {std::pair<CUgraphNode*, CUgraphNode*>{from, nullptr}, {nullptr, to}})
    EXPECT_EQ(driver.cuGraphGetEdges(graph, first, second, nullptr, &count),
              CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphGetEdges(graph, nullptr, nullptr, data, &count),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphGetEdges(graph, from, to, data, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverQueriesTest, KernelsHaveAttributes) {
  const CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph);
  EXPECT_EQ(cluster(node), 0);
  EXPECT_EQ(is_cooperative(node), 0);
  EXPECT_EQ(set_cluster(node, 4), CUDA_SUCCESS);
  EXPECT_EQ(cluster(node), 4);
  const CUgraphNode other = add_kernel(graph, {}, /*blocks=*/1);
  EXPECT_EQ(set_cooperative(other), CUDA_SUCCESS);
  EXPECT_EQ(is_cooperative(other), 1);
  CUlaunchAttributeValue value{};
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(
                node, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(add_child(graph, new_graph()),
                                                 CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
            CUDA_ERROR_INVALID_VALUE);
}

/// "The node retains ownership of the graph" (cuGraphChildGraphNodeGetGraph).
TEST_F(HostDriverQueriesTest, ChildGraphsBelongToTheirNode) {
  const CUgraph inner = new_graph();
  const CUgraphNode kernel = add_kernel(inner);
  set_cluster(kernel, 2);
  const CUgraph middle = new_graph();
  add_child(middle, inner);
  const CUgraph outer = new_graph();
  const CUgraphNode node = add_child(outer, middle);
  set_cluster(kernel, 4);
  driver.cuGraphDestroy(inner);
  driver.cuGraphDestroy(middle);

  const CUgraph child = child_of(node);
  EXPECT_EQ(child_of(node), child);
  ASSERT_EQ(nodes(child).size(), 1);
  const CUgraph grandchild = child_of(nodes(child)[0]);
  ASSERT_EQ(nodes(grandchild).size(), 1);
  const CUgraphNode copy = nodes(grandchild)[0];
  EXPECT_EQ(cluster(copy), 2);

  EXPECT_EQ(driver.cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_cluster(copy, 4), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode added = nullptr;
  EXPECT_EQ(driver.cuGraphAddEmptyNode(&added, child, nullptr, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.cuGraphAddDependencies(grandchild, &copy, &copy, nullptr, 1),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(host::last_error(), HasSubstr("changes to the graph of a child graph node"));
  CUgraph none = nullptr;
  EXPECT_EQ(driver.cuGraphChildGraphNodeGetGraph(copy, &none), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(run(instantiate(child)), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));

  EXPECT_EQ(driver.cuGraphDestroy(outer), CUDA_SUCCESS);
  std::size_t count = 0;
  for (const CUgraph graph : {child, grandchild})
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeType type{};
  EXPECT_EQ(driver.cuGraphNodeGetType(copy, &type), CUDA_ERROR_INVALID_VALUE);
}

/// As with driver 580, an update of a child graph is accepted, but the cluster size stays.
TEST_F(HostDriverQueriesTest, UpdatesOfChildGraphsKeepTheClusterSize) {
  const auto one_kernel = [&](unsigned size, unsigned blocks = kBlocks) {
    const CUgraph graph = new_graph();
    EXPECT_EQ(set_cluster(add_kernel(graph, {}, blocks), size), CUDA_SUCCESS);
    return graph;
  };
  const CUgraph middle = new_graph();
  add_child(middle, one_kernel(2));
  const CUgraph outer = new_graph();
  const CUgraphNode node = add_child(outer, middle);
  const CUgraphExec exec = instantiate(outer);
  const auto update = [&](CUgraph graph) {
    const CUgraph changed = new_graph();
    add_child(changed, graph);
    return driver.cuGraphExecChildGraphNodeSetParams(exec, node, changed);
  };
  EXPECT_EQ(update(one_kernel(4)), CUDA_SUCCESS);
  EXPECT_THAT(run(exec), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_EQ(update(one_kernel(1, kBlocks - 1)), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(update(new_graph()), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  const CUgraph cooperative = new_graph();
  EXPECT_EQ(set_cooperative(add_kernel(cooperative)), CUDA_SUCCESS);
  EXPECT_EQ(update(cooperative), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_THAT(host::last_error(), HasSubstr("the child graph has other nodes, dependencies or "
                                            "cooperative kernels than the one before"));
  EXPECT_THAT(run(exec), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

}  // namespace
}  // namespace sinter::host_driver_queries_test
