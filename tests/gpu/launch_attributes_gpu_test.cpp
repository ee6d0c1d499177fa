// Clusters and cooperative launches in CUDA Graphs. The attributes of a kernel node are part of the
// clone in a child graph, and stay when an executable graph is updated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/execution/executable_state.h"
#include "tests/support/doubles/stream_capture.h"

namespace sinter::test::launch_attributes_gpu_test {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::UnorderedElementsAre;

/// A row is distributed over the blocks of a cluster.
const CapturedProgram kClusters = {.name = "clusters",
                                   .text = R"(
graph rows(x: f32[n, 65536]) {
  y = softmax x {axis = 1}
  return y
})",
                                   .symbols = {3}};
/// All blocks wait for the sum.
const CapturedProgram kCooperative = {.name = "cooperative",
                                      .text = R"(
graph shares(x: f32[n]) {
  s = sum x
  y = div x, s
  return y
})",
                                      .symbols = {400000}};

bool has_clusters() { return default_device().state()->target.max_cluster > 1; }

class GpuAttributes : public testing::TestWithParam<CapturedProgram> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (GetParam().name == "clusters" && !has_clusters())
      GTEST_SKIP() << "the device has no clusters";
  }
  /// The launch of the only kernel of `executable`, after its first run.
  static const Source& source_of(const Executable& executable) {
    return executable.state()->variants().at(0)->kernels.at(0).source;
  }
};

/// Each replay has other arrays, so the node of the executable graph is updated.
TEST_P(GpuAttributes, SurviveUpdatesOfAnExecutableGraph) {
  const Graph graph = parse(GetParam().text);
  const Device device = default_device();
  const Stream stream = device.stream();
  const Executable executable = compile(graph, device, {.tune = Tune::off});
  Context context = executable.context();
  std::vector<ProgramArrays> sets;
  for (std::uint64_t i = 0; i < 3; ++i) {
    sets.emplace_back(graph, GetParam().symbols, device, stream);
    sets.back().refill(i);
  }
  ProgramArrays expected(graph, GetParam().symbols, device, stream);
  for (std::uint64_t i = 0; i < 3; ++i) {
    expected.refill(i);
    context.run(stream, expected.inputs(), expected.outputs());
    context.replay(stream, sets[i].inputs(), sets[i].outputs());
    EXPECT_EQ(sets[i].bytes(), expected.bytes()) << "replay " << i;
  }
  EXPECT_EQ(context.counters().graph_builds, 1);
  EXPECT_EQ(context.counters().patched_nodes, 2);
  const Source& source = source_of(executable);
  EXPECT_TRUE(source.cluster > 1 || source.is_cooperative);
}

/// The number of blocks of a node changes, but not its attributes.
TEST_P(GpuAttributes, SurviveOtherSizes) {
  const Graph graph = parse(GetParam().text);
  const Device device = default_device();
  const Stream stream = device.stream();
  const Executable executable = compile(graph, device, {.tune = Tune::off});
  Context context = executable.context();
  for (const std::int64_t change : {0, 1, -1}) {
    const std::vector<std::int64_t> symbols = {GetParam().symbols[0] + change};
    ProgramArrays expected(graph, symbols, device, stream), actual(graph, symbols, device, stream);
    context.run(stream, expected.inputs(), expected.outputs());
    context.replay(stream, actual.inputs(), actual.outputs());
    EXPECT_EQ(actual.bytes(), expected.bytes()) << "n = " << symbols[0];
  }
}

TEST_P(GpuAttributes, SurviveInAChildGraph) {
  for (const bool as_graph : {false, true})
    check_captured(GetParam(), default_device(), CU_STREAM_CAPTURE_MODE_GLOBAL, as_graph,
                   /*is_cold=*/false, {.tune = Tune::off});
}

INSTANTIATE_TEST_SUITE_P(Programs, GpuAttributes, testing::Values(kClusters, kCooperative),
                         [](const auto& program) { return program.param.name; });

/// Stores the number of blocks of its cluster, one word per block.
constexpr const char* kClusterSize = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry cluster_size(.param .u64 out) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %cluster_nctaid.x;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

constexpr unsigned kBlocks = 16;

/// Graphs of one node each, through the driver's functions.
class NodeAttributes : public testing::Test {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (!has_clusters()) GTEST_SKIP() << "the device has no clusters";
    const Driver& driver = state().driver;
    ASSERT_EQ(driver.cuModuleLoadData(&module, kClusterSize), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuModuleGetFunction(&function, module, "cluster_size"), CUDA_SUCCESS);
    out = std::make_unique<DeviceMemory>(state(), 4 * kBlocks, "a test");
  }
  void TearDown() override {
    if (module) state().driver.cuModuleUnload(module);
  }

  static DeviceState& state() { return *default_device().state(); }
  /// The parameters of a node with `blocks` blocks.
  CUDA_KERNEL_NODE_PARAMS parameters(unsigned blocks = kBlocks) {
    return {.func = function,
            .gridDimX = blocks,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = 1,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = 0,
            .kernelParams = arguments,
            .extra = nullptr,
            .kern = nullptr,
            .ctx = nullptr};
  }
  struct OneNode {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
  };
  OneNode one_node(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
    const Driver& driver = state().driver;
    OneNode made;
    EXPECT_EQ(driver.cuGraphCreate(&made.graph, 0), CUDA_SUCCESS);
    const CUDA_KERNEL_NODE_PARAMS given = parameters();
    EXPECT_EQ(driver.cuGraphAddKernelNode(&made.node, made.graph, nullptr, 0, &given),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphKernelNodeSetAttribute(made.node, id, &value), CUDA_SUCCESS);
    return made;
  }
  static CUlaunchAttributeValue cluster_of(unsigned blocks) {
    CUlaunchAttributeValue value{};
    value.clusterDim = {.x = blocks, .y = 1, .z = 1};
    return value;
  }
  static CUlaunchAttributeValue cooperative(int is_cooperative = 1) {
    CUlaunchAttributeValue value{};
    value.cooperative = is_cooperative;
    return value;
  }
  static CUgraph parent_of(CUgraph child, CUgraphNode& node) {
    CUgraph graph = nullptr;
    EXPECT_EQ(state().driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(state().driver.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child),
              CUDA_SUCCESS);
    return graph;
  }
  static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(state().driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  /// The words that a launch stores.
  std::vector<unsigned> words_of(CUgraphExec exec) {
    const Driver& driver = state().driver;
    const CUstream handle = stream.state()->handle;
    std::vector<unsigned> words(kBlocks);
    EXPECT_EQ(driver.cuMemsetD32Async(out->pointer, 77, kBlocks, handle), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(exec, handle), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(words.data(), out->pointer, 4 * kBlocks, handle),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(handle), CUDA_SUCCESS);
    return words;
  }

  const CurrentContext current{state()};
  const Stream stream = default_device().stream();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::unique_ptr<DeviceMemory> out;
  void* arguments[1] = {nullptr};
};

TEST_F(NodeAttributes, ClustersSurviveUpdatesOfTheirNode) {
  arguments[0] = &out->pointer;
  const OneNode made = one_node(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster_of(4));
  const CUgraphExec exec = instantiate(made.graph);
  EXPECT_THAT(words_of(exec), Each(4));
  const CUDA_KERNEL_NODE_PARAMS half = parameters(kBlocks / 2);
  ASSERT_EQ(state().driver.cuGraphExecKernelNodeSetParams(exec, made.node, &half), CUDA_SUCCESS);
  std::vector<unsigned> expected(kBlocks, 4);
  std::fill(expected.begin() + kBlocks / 2, expected.end(), 77U);
  EXPECT_EQ(words_of(exec), expected);
}

/// "The child graph is cloned in this call" (cuGraphAddChildGraphNode).
TEST_F(NodeAttributes, ClustersArePartOfTheCloneInAChildGraph) {
  arguments[0] = &out->pointer;
  const OneNode made = one_node(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster_of(2));
  CUgraphNode child = nullptr;
  const CUgraph parent = parent_of(made.graph, child);
  const CUlaunchAttributeValue four = cluster_of(4);
  ASSERT_EQ(state().driver.cuGraphKernelNodeSetAttribute(
                made.node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &four),
            CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(parent);
  EXPECT_THAT(words_of(exec), Each(2));
  EXPECT_THAT(words_of(instantiate(made.graph)), Each(4));
  // cuGraphExecUpdate may refuse changed attributes. Driver 580 reports success and keeps them.
  const CUresult updated =
      state().driver.cuGraphExecChildGraphNodeSetParams(exec, child, made.graph);
  EXPECT_THAT(updated, AnyOf(CUDA_SUCCESS, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE));
  const std::vector<unsigned> words = words_of(exec);
  EXPECT_THAT(words, AnyOf(Each(2), Each(4)));
  if (updated != CUDA_SUCCESS) {
    EXPECT_THAT(words, Each(2));
  }
}

/// A replay compares the lists of nodes of two recordings (runtime/execution/recorded_graphs.cpp). It
/// expects that the driver lists the nodes of a graph and of its clone in the same order.
TEST_F(NodeAttributes, ListsOfNodesHaveTheSameOrderInAClone) {
  arguments[0] = &out->pointer;
  const Driver& driver = state().driver;
  const CUDA_KERNEL_NODE_PARAMS given = parameters();
  const auto clusters_in = [&](CUgraph graph) {
    std::size_t count = 0;
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    std::vector<CUgraphNode> nodes(count);
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
    std::vector<unsigned> clusters;
    for (const CUgraphNode node : nodes) {
      CUgraphNodeType type{};
      EXPECT_EQ(driver.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
      EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
      CUlaunchAttributeValue value{};
      EXPECT_EQ(
          driver.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
          CUDA_SUCCESS);
      clusters.push_back(value.clusterDim.x);
    }
    return clusters;
  };
  // A chain, a fork from its first node, and nodes without edges.
  const auto make = [&] {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    std::vector<CUgraphNode> nodes;
    for (const auto& [cluster, before] : std::vector<std::pair<unsigned, int>>{
             {2, -1}, {4, 0}, {8, 1}, {0, 0}, {4, 0}, {1, -1}, {8, -1}, {2, 6}}) {
      nodes.push_back(nullptr);
      EXPECT_EQ(
          driver.cuGraphAddKernelNode(&nodes.back(), graph,
                                      before < 0 ? nullptr : &nodes[static_cast<unsigned>(before)],
                                      before < 0 ? 0 : 1, &given),
          CUDA_SUCCESS);
      const CUlaunchAttributeValue value = cluster_of(cluster);
      if (cluster > 0) {
        EXPECT_EQ(driver.cuGraphKernelNodeSetAttribute(
                      nodes.back(), CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
                  CUDA_SUCCESS);
      }
    }
    return graph;
  };
  const std::vector<unsigned> listed = clusters_in(make());
  EXPECT_THAT(listed, UnorderedElementsAre(2, 4, 8, 0, 4, 1, 8, 2));
  EXPECT_EQ(clusters_in(make()), listed);
  CUgraphNode child = nullptr;
  parent_of(make(), child);
  CUgraph clone = nullptr;
  ASSERT_EQ(driver.cuGraphChildGraphNodeGetGraph(child, &clone), CUDA_SUCCESS);
  EXPECT_EQ(clusters_in(clone), listed);
}

/// A cooperative grid must be resident at once, also after an update.
TEST_F(NodeAttributes, CooperativeNodesStayCooperative) {
  arguments[0] = &out->pointer;
  const OneNode made = one_node(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, cooperative());
  const CUgraphExec exec = instantiate(made.graph);
  EXPECT_THAT(words_of(exec), Each(1));
  const CUDA_KERNEL_NODE_PARAMS many = parameters(1 << 24);
  const Driver& driver = state().driver;
  CUresult result = driver.cuGraphExecKernelNodeSetParams(exec, made.node, &many);
  if (result == CUDA_SUCCESS) result = driver.cuGraphLaunch(exec, stream.state()->handle);
  EXPECT_EQ(result, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

/// "A cooperative node cannot be updated to a non-cooperative node, and vice-versa"
/// (cuGraphExecUpdate, which cuGraphExecChildGraphNodeSetParams refers to).
TEST_F(NodeAttributes, ChildGraphsCannotLoseACooperativeNode) {
  arguments[0] = &out->pointer;
  const OneNode made = one_node(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, cooperative());
  const OneNode other = one_node(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, cooperative(0));
  CUgraphNode child = nullptr;
  const CUgraphExec exec = instantiate(parent_of(made.graph, child));
  EXPECT_EQ(state().driver.cuGraphExecChildGraphNodeSetParams(exec, child, other.graph),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_THAT(words_of(exec), Each(1));
}

}  // namespace
}  // namespace sinter::test::launch_attributes_gpu_test
