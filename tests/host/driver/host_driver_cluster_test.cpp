// Clusters on the host device: their blocks run concurrently, meet at cluster barriers, and access
// each other's shared memory.
#include "tests/host/driver/host_driver_fixture.h"

#include <gmock/gmock.h>

namespace sinter::host_driver_cluster_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// In each round, each block writes its value into the shared memory of the next block of its
/// cluster.
HostKernel push_on_kernel() {
  return {.entry = "push_on",
          .text = R"(
extern "C" __global__ void push_on(int* out, const int blocks, const int rounds) {
  int* cells = reinterpret_cast<int*>(shared_memory());
  int held = blockIdx.x;
  cluster_arrive();
  cluster_wait();
  for (int round = 0; round < rounds; ++round) {
    const int next = (cluster_rank() + 1) % blocks;
    if (threadIdx.x == blockDim.x - 1) *cluster_map(cells + round % 2, next) = held;
    cluster_arrive();
    cluster_wait();
    held = cells[round % 2];
  }
  store(out, blockIdx.x * blockDim.x + threadIdx.x, held);
}
)",
          .has_barrier = true};
}

class HostDriverClusterTest : public HostDriverTest {
 protected:
  static CUlaunchAttribute clusters_of(unsigned blocks, unsigned along_y = 1) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {.x = blocks, .y = along_y, .z = 1};
    return attribute;
  }
  CUlaunchConfig config(const Shape& shape, CUlaunchAttribute& attribute) {
    return {.gridDimX = shape.blocks,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = shape.threads,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = shape.shared_bytes,
            .hStream = shape.stream,
            .attrs = &attribute,
            .numAttrs = 1};
  }
  template <class... Parameters>
  CUresult launch_clusters(unsigned blocks, CUfunction kernel, const Shape& shape,
                           Parameters... parameters) {
    void* pointers[] = {&parameters..., nullptr};
    CUlaunchAttribute attribute = clusters_of(blocks);
    const CUlaunchConfig launch = config(shape, attribute);
    return driver.cuLaunchKernelEx(&launch, kernel, pointers, nullptr);
  }
  /// Runs a kernel with `body` on two clusters of two blocks with 40 threads each.
  CUresult run_body(const std::string& body, bool has_barrier = true) {
    host::clear_error();
    const CUfunction kernel =
        function({.entry = "body",
                  .text = "extern \"C\" __global__ void body() {\n"
                          "  int* cells = reinterpret_cast<int*>(shared_memory());\n  " +
                          body + "\n}",
                  .has_barrier = has_barrier});
    check(driver, launch_clusters(2, kernel, {.blocks = 4, .threads = 40, .shared_bytes = 64}),
          "cuLaunchKernelEx", "a test");
    return driver.cuCtxSynchronize();
  }
};

TEST_F(HostDriverClusterTest, BlocksAccessSharedMemoryOfOthers) {
  const CUfunction kernel = function(push_on_kernel());
  for (const unsigned size : {1u, 2u, 4u, 8u})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      use_seed(seed);
      const unsigned blocks = 3 * size;
      const CUdeviceptr out = allocate(blocks * 96 * 4);
      const Shape shape{.blocks = blocks, .threads = 96, .shared_bytes = 8};
      ASSERT_EQ(launch_clusters(size, kernel, shape, out, static_cast<int>(size), 5), CUDA_SUCCESS);
      const std::vector<int> results = download<int>(out, blocks * 96);
      for (unsigned i = 0; i < blocks * 96; ++i) {
        const unsigned block = i / 96;
        const unsigned from = block / size * size + (block % size + 5 * size - 5) % size;
        ASSERT_EQ(results[i], static_cast<int>(from)) << "seed " << seed << ", size " << size;
      }
    }
}

TEST_F(HostDriverClusterTest, ManyWorkersDoNotRunOutOfStacks) {
  host::configure({.workers = 16});
  const CUfunction kernel = function(push_on_kernel());
  const CUdeviceptr out = allocate(128 * 512 * 4);
  const Shape shape{.blocks = 128, .threads = 512, .shared_bytes = 8};
  ASSERT_EQ(launch_clusters(8, kernel, shape, out, 8, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS) << host::last_error();
  host::configure({});
}

TEST_F(HostDriverClusterTest, CountersRecordTheClusterSize) {
  const CUfunction kernel = function(push_on_kernel());
  const CUdeviceptr out = allocate(8 * 32 * 4);
  const Shape shape{.blocks = 8, .threads = 32, .shared_bytes = 8};
  ASSERT_EQ(launch_clusters(4, kernel, shape, out, 4, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(host::counters().launches.back().cluster, 4u);
}

TEST_F(HostDriverClusterTest, RejectsGridsThatAreNoMultipleOfTheCluster) {
  const CUfunction kernel = function(push_on_kernel());
  const Shape shape{.blocks = 6, .threads = 32, .shared_bytes = 8};
  EXPECT_EQ(launch_clusters(4, kernel, shape, allocate(1024), 4, 1),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(host::last_error(),
            "kernel push_on: clusters of 4 blocks, which do not divide the grid [6, 1, 1]");
}

TEST_F(HostDriverClusterTest, MoreThanEightBlocksNeedTheAttribute) {
  const CUfunction kernel = function(push_on_kernel());
  const Shape shape{.blocks = 32, .threads = 32, .shared_bytes = 8};
  const CUdeviceptr out = allocate(32 * 32 * 4);
  EXPECT_EQ(launch_clusters(16, kernel, shape, out, 16, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(host::last_error(), "kernel push_on: clusters of 16 blocks, the function allows 8");
  CUlaunchAttribute attribute = clusters_of(16);
  const CUlaunchConfig launch = config(shape, attribute);
  int clusters = 0;
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&clusters, kernel, &launch),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  ASSERT_EQ(
      driver.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
      CUDA_SUCCESS);
  ASSERT_EQ(driver.cuOccupancyMaxActiveClusters(&clusters, kernel, &launch), CUDA_SUCCESS);
  EXPECT_GT(clusters, 0);
  ASSERT_EQ(launch_clusters(16, kernel, shape, out, 16, 1), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(out, 1)[0], 15);
  EXPECT_EQ(launch_clusters(32, kernel, shape, out, 32, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(HostDriverClusterTest, ReportsBarriersThatABlockNeverReaches) {
  EXPECT_EQ(run_body("if (cluster_rank() == 1) return; cluster_arrive(); cluster_wait();"),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), AllOf(HasSubstr("waits at cluster_wait(), but block ("),
                                        HasSubstr(" of its cluster has returned")));
  // The device still works.
  EXPECT_EQ(run_body("cluster_arrive(); cluster_wait();"), CUDA_SUCCESS) << host::last_error();
}

TEST_F(HostDriverClusterTest, ReportsBarriersThatAThreadNeverReaches) {
  EXPECT_EQ(run_body("if (threadIdx.x == 39) return; cluster_arrive(); cluster_wait();"),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(),
              HasSubstr("barriers diverge: threads 0 to 38 wait at cluster_wait(), threads 39 to "
                        "39 have returned"));
}

TEST_F(HostDriverClusterTest, ArriveAndWaitMustAlternate) {
  EXPECT_EQ(run_body("cluster_wait();"), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("waits at the cluster's barrier without a "
                                            "cluster_arrive()"));
  EXPECT_EQ(run_body("cluster_arrive(); cluster_arrive();"), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("arrives at the cluster's barrier again without a "
                                            "cluster_wait()"));
}

TEST_F(HostDriverClusterTest, ReportsAccessesToBlocksThatMayNotHaveStarted) {
  EXPECT_EQ(run_body("*cluster_map(cells, 1 - cluster_rank()) = 7; block_barrier();"),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("which may not have started: meet at a barrier of the "
                                            "cluster first"));
}

TEST_F(HostDriverClusterTest, ReportsAccessesToBlocksThatHaveReturned) {
  use_seed(0);
  EXPECT_EQ(run_body("cluster_arrive(); cluster_wait(); block_barrier();\n"
                     "  *cluster_map(cells, 1 - cluster_rank()) = 7;"),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr(", which has returned"));
}

TEST_F(HostDriverClusterTest, MapsOnlySharedMemoryOfTheCluster) {
  EXPECT_EQ(run_body("cluster_arrive(); cluster_wait(); cluster_map(cells, 2);"),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("maps shared memory of block 2 of a cluster of 2"));
  EXPECT_EQ(run_body("cluster_arrive(); cluster_wait(); cluster_map(cells + 32, 1);"),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(host::last_error(), HasSubstr("which is not shared memory of its block"));
}

TEST_F(HostDriverClusterTest, BarriersFailInKernelsCompiledWithoutBarriers) {
  EXPECT_EQ(run_body("cluster_arrive();", /*has_barrier=*/false), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("meets at cluster_arrive(), but was compiled as a "
                                            "kernel without barriers"));
}

TEST_F(HostDriverClusterTest, RejectsOtherAxesAndCooperativeLaunches) {
  const CUfunction kernel = function(push_on_kernel());
  const CUdeviceptr out = allocate(1024);
  int two = 2;
  int rounds = 1;
  CUdeviceptr pointer = out;
  void* pointers[] = {&pointer, &two, &rounds};
  CUlaunchAttribute attribute = clusters_of(1, 2);
  const Shape shape{.blocks = 2, .threads = 32, .shared_bytes = 8};
  CUlaunchConfig launch = config(shape, attribute);
  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, kernel, pointers, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  CUlaunchAttribute both[] = {clusters_of(2), {}};
  both[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  both[1].value.cooperative = 1;
  launch.attrs = both;
  launch.numAttrs = 2;
  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, kernel, pointers, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(HostDriverClusterTest, GraphNodesSupportClusters) {
  const CUfunction kernel = function(push_on_kernel());
  CUdeviceptr out = allocate(8 * 32 * 4);
  int size = 4;
  int rounds = 1;
  void* parameters[] = {&out, &size, &rounds};
  CUDA_KERNEL_NODE_PARAMS node_parameters{};
  node_parameters.func = kernel;
  node_parameters.gridDimX = 8;
  node_parameters.gridDimY = node_parameters.gridDimZ = 1;
  node_parameters.blockDimX = 32;
  node_parameters.blockDimY = node_parameters.blockDimZ = 1;
  node_parameters.sharedMemBytes = 8;
  node_parameters.kernelParams = parameters;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphAddKernelNode(&node, graph, nullptr, 0, &node_parameters), CUDA_SUCCESS);
  CUlaunchAttribute attribute = clusters_of(3);
  EXPECT_EQ(driver.cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  attribute = clusters_of(4);
  ASSERT_EQ(driver.cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  node_parameters.gridDimX = 6;
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(exec, node, &node_parameters),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  node_parameters.gridDimX = 4;
  ASSERT_EQ(driver.cuGraphExecKernelNodeSetParams(exec, node, &node_parameters), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(out, 1)[0], 3);
  EXPECT_EQ(host::counters().launches.back().cluster, 4u);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace sinter::host_driver_cluster_test
