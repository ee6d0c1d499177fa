// CUDA Graphs on the host device: only edges order nodes.
#include "tests/host/driver/host_driver_fixture.h"

#include <gmock/gmock.h>

namespace sinter::host_driver_graph_test {
namespace {

using ::testing::HasSubstr;

class HostDriverGraphTest : public HostDriverTest {
 protected:
  void SetUp() override {
    HostDriverTest::SetUp();
    // x = x * factor + term: the result depends on the order of two nodes.
    affine_ = function({.entry = "affine", .text = R"(
extern "C" __global__ void affine(float* x, const float factor, const float term) {
  store(x, threadIdx.x, factor == 0.0f ? term : load(x, threadIdx.x) * factor + term);
}
)"});
    graph_ = new_graph();
    x_ = allocate(128);
  }

  CUgraph new_graph() {
    CUgraph graph = nullptr;
    check(driver, driver.cuGraphCreate(&graph, 0), "cuGraphCreate", "a test");
    return graph;
  }
  struct AffineNode {
    CUdeviceptr x;
    float factor, term;
    void* pointers[3] = {&x, &factor, &term};
    CUDA_KERNEL_NODE_PARAMS parameters(CUfunction function) {
      return {.func = function,
              .gridDimX = 1,
              .gridDimY = 1,
              .gridDimZ = 1,
              .blockDimX = 32,
              .blockDimY = 1,
              .blockDimZ = 1,
              .kernelParams = pointers};
    }
  };
  CUgraphNode add_affine(float factor, float term, std::vector<CUgraphNode> after = {}) {
    AffineNode node{x_, factor, term};
    const CUDA_KERNEL_NODE_PARAMS parameters = node.parameters(affine_);
    CUgraphNode result = nullptr;
    check(driver,
          driver.cuGraphAddKernelNode(&result, graph_, after.data(), after.size(), &parameters),
          "cuGraphAddKernelNode", "a test");
    return result;
  }
  CUgraphNode add_fill(float value) { return add_affine(0.0f, value); }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    check(driver, driver.cuGraphInstantiateWithFlags(&exec, graph_, 0), "cuGraphInstantiate",
          "a test");
    return exec;
  }
  float run(CUgraphExec exec) {
    check(driver, driver.cuGraphLaunch(exec, nullptr), "cuGraphLaunch", "a test");
    return download<float>(x_, 32)[31];
  }

  CUfunction affine_ = nullptr;
  CUgraph graph_ = nullptr;
  CUdeviceptr x_ = 0;
};

TEST_F(HostDriverGraphTest, EdgesOrderNodesUnderEverySeed) {
  const CUgraphNode fill = add_fill(1.0f);
  const CUgraphNode scale = add_affine(10.0f, 0.0f, {fill});
  add_affine(1.0f, 5.0f, {scale});
  const CUgraphExec exec = instantiate();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    use_seed(seed);
    EXPECT_EQ(run(exec), 15.0f);
  }
  EXPECT_EQ(host::counters().graph_launches, 30u);
  EXPECT_EQ(host::counters().kernels, 90u);
}

TEST_F(HostDriverGraphTest, AMissingEdgeFailsUnderSomeSeed) {
  const CUgraphNode fill = add_fill(1.0f);
  add_affine(10.0f, 0.0f, {fill});
  add_affine(1.0f, 5.0f, {fill});
  const CUgraphExec exec = instantiate();
  int swapped = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    use_seed(seed);
    swapped += run(exec) == 60.0f;
  }
  EXPECT_GT(swapped, 5);
  EXPECT_LT(swapped, 25);
}

TEST_F(HostDriverGraphTest, EmptyNodesJoinDependencies) {
  const CUgraphNode fill = add_fill(1.0f);
  CUgraphNode join = nullptr;
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&join, graph_, &fill, 1), CUDA_SUCCESS);
  add_affine(3.0f, 0.0f, {join});
  const CUgraphExec exec = instantiate();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    use_seed(seed);
    EXPECT_EQ(run(exec), 3.0f);
  }
}

TEST_F(HostDriverGraphTest, NewParametersAffectOnlyLaterLaunches) {
  const CUgraphNode fill = add_fill(1.0f);
  const CUgraphNode node = add_affine(2.0f, 0.0f, {fill});
  const CUgraphExec exec = instantiate();
  float* const results = pinned<float>(2);
  AffineNode changed{x_, 5.0f, 0.0f};
  const CUDA_KERNEL_NODE_PARAMS parameters = changed.parameters(affine_);

  ASSERT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(results, x_, 4, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphExecKernelNodeSetParams(exec, node, &parameters), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync(results + 1, x_, 4, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(results[0], 2.0f);
  EXPECT_EQ(results[1], 5.0f);
}

TEST_F(HostDriverGraphTest, LaunchesOfOneGraphDoNotOverlap) {
  const CUgraphNode fill = add_fill(1.0f);
  add_affine(2.0f, 0.0f, {fill});
  const CUgraphExec exec = instantiate();
  const CUstream first = new_stream(), second = new_stream();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    use_seed(seed);
    ASSERT_EQ(driver.cuMemsetD8Async(x_, 0, 128, first), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphLaunch(exec, first), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphLaunch(exec, second), CUDA_SUCCESS);
    ASSERT_EQ(download<float>(x_, 1, second)[0], 2.0f);  // the first stream is finished too
    ASSERT_EQ(host::counters().kernels, 4 * (seed + 1));
  }
}

TEST_F(HostDriverGraphTest, RejectsForeignAndRepeatedDependencies) {
  const CUgraphNode a = add_affine(1.0f, 0.0f);
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver.cuGraphAddEmptyNode(&node, new_graph(), &a, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode twice[] = {a, a};
  EXPECT_EQ(driver.cuGraphAddEmptyNode(&node, graph_, twice, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(host::last_error(), HasSubstr("dependency 1 is not a node"));
  std::size_t count = 0;
  EXPECT_EQ(driver.cuGraphGetNodes(graph_, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
}

TEST_F(HostDriverGraphTest, InstantiatedGraphsOutliveTheirGraph) {
  const CUgraphNode node = add_affine(1.0f, 0.0f, {add_fill(7.0f)});
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(driver.cuGraphDestroy(graph_), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 7.0f);
  AffineNode other{x_, 5.0f, 0.0f};
  const CUDA_KERNEL_NODE_PARAMS parameters = other.parameters(affine_);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(exec, node, &parameters),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverGraphTest, RejectsUpdatesOfAnotherNodeKind) {
  CUgraphNode empty = nullptr;
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&empty, graph_, nullptr, 0), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  AffineNode other{x_, 5.0f, 0.0f};
  const CUDA_KERNEL_NODE_PARAMS parameters = other.parameters(affine_);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(exec, empty, &parameters),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(host::last_error(), "the node is of another kind");
}

TEST_F(HostDriverGraphTest, RejectsKernelsOfUnloadedModules) {
  const CUmodule module = load(increment_kernel());
  CUfunction kernel = nullptr;
  ASSERT_EQ(driver.cuModuleGetFunction(&kernel, module, "increment"), CUDA_SUCCESS);
  CUdeviceptr x = x_, y = x_;
  int size = 1;
  void* pointers[] = {&x, &y, &size};
  const CUDA_KERNEL_NODE_PARAMS parameters{.func = kernel,
                                           .gridDimX = 1,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = 1,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .kernelParams = pointers};
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddKernelNode(&node, graph_, nullptr, 0, &parameters), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(host::last_error(), "the module of kernel increment was unloaded");
}

TEST_F(HostDriverGraphTest, StopsAtTheFirstFailedNode) {
  const CUgraphNode fill = add_fill(1.0f);
  AffineNode wild{x_ + (1 << 20), 1.0f, 0.0f};
  const CUDA_KERNEL_NODE_PARAMS parameters = wild.parameters(affine_);
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddKernelNode(&node, graph_, &fill, 1, &parameters), CUDA_SUCCESS);
  add_affine(1.0f, 1.0f, {node});
  ASSERT_EQ(driver.cuGraphLaunch(instantiate(), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("kernel affine"));
  EXPECT_EQ(host::counters().kernels, 2u);
}

}  // namespace
}  // namespace sinter::host_driver_graph_test
