// Types and attributes of the nodes of CUDA Graphs, child graphs, and what an update keeps.
#include <vector>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::graph_queries_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// Both store the number of blocks of the cluster, one word per block.
constexpr const char* kPtx = R"(
.version 7.8
.target sm_90
.address_size 64

.visible .entry size(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %cluster_nctaid.x;
  mov.u32 %r2, %ctaid.x;
  mad.wide.u32 %rd2, %r2, 4, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry size_of_two(.param .u64 out)
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %cluster_nctaid.x;
  mov.u32 %r2, %ctaid.x;
  mad.wide.u32 %rd2, %r2, 4, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

constexpr unsigned kBlocks = 8;

class VirtualGraphQueriesTest : public testing::Test {
 protected:
  VirtualGraphQueriesTest() {
    driver.use();
    stream = driver.stream();
    CUmodule module = nullptr;
    EXPECT_EQ(driver->cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuModuleGetFunction(&size, module, "size"), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuModuleGetFunction(&size_of_two, module, "size_of_two"), CUDA_SUCCESS);
    out = driver.memory(4 * kBlocks);
  }

  CUgraph new_graph() const {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  CUgraphNode add_kernel(CUgraph graph, CUfunction function, unsigned blocks = kBlocks) {
    void* parameters[] = {&out};
    const CUDA_KERNEL_NODE_PARAMS node{.func = function,
                                       .gridDimX = blocks,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = 1,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .sharedMemBytes = 0,
                                       .kernelParams = parameters,
                                       .extra = nullptr,
                                       .kern = nullptr,
                                       .ctx = nullptr};
    CUgraphNode result = nullptr;
    EXPECT_EQ(driver->cuGraphAddKernelNode(&result, graph, nullptr, 0, &node), CUDA_SUCCESS);
    return result;
  }
  CUgraphNode add_child(CUgraph graph, CUgraph child) const {
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver->cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child), CUDA_SUCCESS);
    return node;
  }
  /// A graph with one kernel; clusters of `blocks` unless that is 0.
  CUgraph one_kernel(unsigned cluster, unsigned blocks = kBlocks) {
    const CUgraph graph = new_graph();
    const CUgraphNode node = add_kernel(graph, size, blocks);
    if (cluster > 0) {
      EXPECT_EQ(set_cluster(node, cluster), CUDA_SUCCESS);
    }
    return graph;
  }
  CUgraph child_of(CUgraphNode node) const {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver->cuGraphChildGraphNodeGetGraph(node, &graph), CUDA_SUCCESS);
    return graph;
  }
  CUgraphNode only_node(CUgraph graph) const {
    std::size_t count = 1;
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver->cuGraphGetNodes(graph, &node, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1);
    return node;
  }
  CUresult set_cluster(CUgraphNode node, unsigned blocks) const {
    CUlaunchAttributeValue value{};
    value.clusterDim = {.x = blocks, .y = 1, .z = 1};
    return driver->cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                                 &value);
  }
  CUresult set_cooperative(CUgraphNode node) const {
    CUlaunchAttributeValue value{};
    value.cooperative = 1;
    return driver->cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
  }
  std::vector<unsigned> cluster(CUgraphNode node) const {
    CUlaunchAttributeValue value{};
    EXPECT_EQ(
        driver->cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
        CUDA_SUCCESS);
    return {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
  }
  int is_cooperative(CUgraphNode node) const {
    CUlaunchAttributeValue value{};
    EXPECT_EQ(driver->cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
              CUDA_SUCCESS);
    return value.cooperative;
  }
  CUgraphExec instantiate(CUgraph graph) const {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  std::vector<unsigned> run(CUgraphExec exec) const {
    EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    return driver.words(out, kBlocks);
  }

  VirtualDriver driver{{"VIRTUAL_GPUS", "sm_90 sms=4"}};
  CUstream stream = nullptr;
  CUfunction size = nullptr, size_of_two = nullptr;
  CUdeviceptr out = 0;
};

TEST_F(VirtualGraphQueriesTest, NodesHaveTypes) {
  CUgraph graph = nullptr;
  const CUdeviceptr a = driver.memory(16), b = driver.memory(16);
  EXPECT_EQ(driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  driver->cuMemsetD32Async(a, 1, 4, stream);
  driver->cuMemcpyDtoDAsync(b, a, 16, stream);
  driver->cuLaunchHostFunc(
      stream, [](void*) {}, nullptr);
  EXPECT_EQ(driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  add_kernel(graph, size);
  CUgraphNode empty = nullptr;
  EXPECT_EQ(driver->cuGraphAddEmptyNode(&empty, graph, nullptr, 0), CUDA_SUCCESS);
  add_child(graph, new_graph());
  std::size_t count = 6;
  CUgraphNode nodes[6] = {};
  EXPECT_EQ(driver->cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
  std::vector<CUgraphNodeType> types;
  for (const CUgraphNode node : nodes) {
    types.emplace_back();
    EXPECT_EQ(driver->cuGraphNodeGetType(node, &types.back()), CUDA_SUCCESS);
  }
  EXPECT_THAT(types, ElementsAre(CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                 CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL,
                                 CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_GRAPH));
  EXPECT_EQ(driver->cuGraphNodeGetType(empty, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphNodeGetType(nullptr, types.data()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphNodeGetType(empty, types.data()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualGraphQueriesTest, KernelsHaveAttributes) {
  const CUgraph graph = new_graph();
  const CUgraphNode node = add_kernel(graph, size);
  EXPECT_THAT(cluster(node), Each(0));
  EXPECT_EQ(is_cooperative(node), 0);
  EXPECT_EQ(set_cluster(node, 4), CUDA_SUCCESS);
  EXPECT_THAT(cluster(node), ElementsAre(4, 1, 1));
  EXPECT_EQ(set_cooperative(node), CUDA_SUCCESS);
  EXPECT_EQ(is_cooperative(node), 1);
  CUlaunchAttributeValue value{};
  EXPECT_EQ(driver->cuGraphKernelNodeGetAttribute(
                node, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphKernelNodeGetAttribute(add_child(graph, new_graph()),
                                                  CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualGraphQueriesTest, ChildGraphsBelongToTheirNode) {
  const CUgraph inner = one_kernel(2);
  const CUgraph middle = new_graph();
  add_child(middle, inner);
  const CUgraph outer = new_graph();
  const CUgraphNode node = add_child(outer, middle);
  EXPECT_EQ(set_cluster(only_node(inner), 4), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphDestroy(inner), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphDestroy(middle), CUDA_SUCCESS);

  const CUgraph child = child_of(node);
  EXPECT_EQ(child_of(node), child);
  const CUgraph grandchild = child_of(only_node(child));
  const CUgraphNode copy = only_node(grandchild);
  EXPECT_THAT(cluster(copy), ElementsAre(2, 1, 1));
  EXPECT_EQ(driver->cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  CUgraph none = nullptr;
  EXPECT_EQ(driver->cuGraphChildGraphNodeGetGraph(copy, &none), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuGraphChildGraphNodeGetGraph(node, nullptr), CUDA_ERROR_INVALID_VALUE);

  // Executable graphs have copies. Later ones reflect changes.
  const CUgraphExec before = instantiate(outer);
  EXPECT_EQ(set_cluster(copy, 4), CUDA_SUCCESS);
  EXPECT_THAT(run(before), Each(2));
  EXPECT_THAT(run(instantiate(outer)), Each(4));

  EXPECT_EQ(driver->cuGraphDestroy(outer), CUDA_SUCCESS);
  std::size_t count = 0;
  for (const CUgraph graph : {child, grandchild})
    EXPECT_EQ(driver->cuGraphGetNodes(graph, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_cluster(copy, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(run(before), Each(2));
}

/// As with driver 580, an update of a child graph is accepted, but the cluster size stays.
TEST_F(VirtualGraphQueriesTest, UpdatesOfChildGraphsKeepTheClusterSize) {
  for (const unsigned size : {0U, 2U}) {
    const CUgraph middle = new_graph();
    add_child(middle, one_kernel(size));
    const CUgraph outer = new_graph();
    const CUgraphNode node = add_child(outer, middle);
    const CUgraphExec exec = instantiate(outer);
    const auto update = [&](CUgraph graph) {
      const CUgraph changed = new_graph();
      add_child(changed, graph);
      return driver->cuGraphExecChildGraphNodeSetParams(exec, node, changed);
    };
    const unsigned kept = size == 0 ? 1 : size;
    EXPECT_EQ(update(one_kernel(4)), CUDA_SUCCESS);
    EXPECT_THAT(run(exec), Each(kept));
    EXPECT_EQ(update(one_kernel(0)), CUDA_SUCCESS);
    EXPECT_THAT(run(exec), Each(kept));
    EXPECT_EQ(update(one_kernel(0, kBlocks - 1)),
              size == 0 ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    const CUgraph cooperative = new_graph();
    EXPECT_EQ(set_cooperative(add_kernel(cooperative, this->size)), CUDA_SUCCESS);
    EXPECT_EQ(update(cooperative), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_THAT(run(exec), Each(kept));
  }
}

/// The size that a function requires is no attribute of the node.
TEST_F(VirtualGraphQueriesTest, FunctionsMayRequireAClusterSize) {
  const CUgraph required = new_graph();
  const CUgraphNode kernel = add_kernel(required, size_of_two);
  EXPECT_THAT(cluster(kernel), Each(0));
  const CUgraph outer = new_graph();
  const CUgraphNode node = add_child(outer, one_kernel(0));
  const CUgraphExec exec = instantiate(outer);
  EXPECT_THAT(run(exec), Each(1));
  EXPECT_EQ(driver->cuGraphExecChildGraphNodeSetParams(exec, node, required), CUDA_SUCCESS);
  EXPECT_THAT(run(exec), Each(2));
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::graph_queries_test
