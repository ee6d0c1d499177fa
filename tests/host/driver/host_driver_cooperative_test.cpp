// Cooperative launches on the host device: blocks run concurrently and meet at grid barriers.
#include "tests/host/driver/host_driver_fixture.h"

#include <gmock/gmock.h>

namespace sinter::host_driver_cooperative_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// In each round, each block passes its value to the next block. After `rounds` rounds it holds the
/// initial value of the block that is `rounds` positions before it. The number of barriers is odd.
HostKernel pass_on_kernel() {
  return {.entry = "pass_on",
          .text = R"(
extern "C" __global__ void pass_on(unsigned* arrivals, int* cells, int* out, const int rounds) {
  int* held = reinterpret_cast<int*>(shared_memory());
  if (threadIdx.x == 0) held[0] = blockIdx.x;
  for (int round = 0; round < rounds; ++round) {
    block_barrier();
    // The last thread writes, all read.
    if (threadIdx.x == blockDim.x - 1) store(cells, blockIdx.x, held[0]);
    grid_barrier(arrivals);
    const int next = load(cells, (blockIdx.x + gridDim.x - 1) % gridDim.x);
    block_barrier();
    if (threadIdx.x == 0) held[0] = next;
    grid_barrier(arrivals);
  }
  block_barrier();
  store(out, blockIdx.x * blockDim.x + threadIdx.x, held[0]);
  grid_barrier(arrivals);
  grid_depart(arrivals);
}
)",
          .has_barrier = true};
}

class HostDriverCooperativeTest : public HostDriverTest {
 protected:
  void SetUp() override {
    HostDriverTest::SetUp();
    use_workers(4);
    arrivals_ = upload(std::vector<unsigned>{0});
  }
  void TearDown() override {
    HostDriverTest::TearDown();
    host::configure({});
  }

  void use_workers(int workers, std::uint64_t seed = 0) {
    host::configure({.seed = seed, .workers = workers});
  }
  int resident_blocks(CUfunction kernel, int threads) {
    int blocks = 0, processors = 0;
    check(driver,
          driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 1024),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor", "a test");
    check(driver,
          driver.cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
          "cuDeviceGetAttribute", "a test");
    return blocks * processors;
  }
  static CUlaunchAttribute cooperative() {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    return attribute;
  }
  template <class... Parameters>
  CUresult launch_together(CUfunction kernel, const Shape& shape, Parameters... parameters) {
    void* pointers[] = {&parameters..., nullptr};
    CUlaunchAttribute attribute = cooperative();
    const CUlaunchConfig config{.gridDimX = shape.blocks,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = shape.threads,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shape.shared_bytes,
                                .hStream = shape.stream,
                                .attrs = &attribute,
                                .numAttrs = 1};
    return driver.cuLaunchKernelEx(&config, kernel, pointers, nullptr);
  }
  /// Launches a kernel with `body` and the parameter `arrivals` on four blocks.
  CUresult run_body(const std::string& body, bool has_barrier = true) {
    const CUfunction kernel =
        function({.entry = "body",
                  .text = "extern \"C\" __global__ void body(unsigned* arrivals) {" + body + "}",
                  .has_barrier = has_barrier});
    check(driver, launch_together(kernel, {.blocks = 4, .threads = 40}, arrivals_),
          "cuLaunchKernelEx", "a test");
    return driver.cuCtxSynchronize();
  }
  unsigned counter() { return download<unsigned>(arrivals_, 1)[0]; }

  CUdeviceptr arrivals_ = 0;
};

TEST_F(HostDriverCooperativeTest, BlocksSeeStoresBeforeTheBarrier) {
  const CUfunction kernel = function(pass_on_kernel());
  const CUdeviceptr cells = allocate(4 * 4), out = allocate(4 * 96 * 4);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    use_workers(4, seed);
    const Shape shape{.blocks = 4, .threads = 96, .shared_bytes = 4};
    ASSERT_EQ(launch_together(kernel, shape, arrivals_, cells, out, 7), CUDA_SUCCESS);
    const std::vector<int> results = download<int>(out, 4 * 96);
    for (int i = 0; i < 4 * 96; ++i) ASSERT_EQ(results[i], (i / 96 + 1) % 4) << "seed " << seed;
    ASSERT_EQ(counter(), 0u);
  }
}

TEST_F(HostDriverCooperativeTest, DepartingResetsTheCounterAfterOddBarriers) {
  ASSERT_EQ(run_body("grid_barrier(arrivals);"), CUDA_SUCCESS);
  EXPECT_EQ(counter(), 0x80000000u);
  ASSERT_EQ(run_body("grid_barrier(arrivals);"), CUDA_SUCCESS);
  EXPECT_EQ(counter(), 0u);
  ASSERT_EQ(run_body("grid_barrier(arrivals); grid_depart(arrivals);"), CUDA_SUCCESS);
  EXPECT_EQ(counter(), 0u);
}

TEST_F(HostDriverCooperativeTest, ConsecutiveLaunchesShareACounter) {
  const CUfunction kernel = function(pass_on_kernel());
  const CUdeviceptr cells = allocate(4 * 4), out = allocate(4 * 32 * 4);
  for (const unsigned blocks : {4u, 3u, 1u, 2u}) {
    const Shape shape{.blocks = blocks, .threads = 32, .shared_bytes = 4};
    ASSERT_EQ(launch_together(kernel, shape, arrivals_, cells, out, static_cast<int>(blocks)),
              CUDA_SUCCESS);
  }
  EXPECT_THAT(download<int>(out, 32), Each(0));
  EXPECT_EQ(counter(), 0u);
}

TEST_F(HostDriverCooperativeTest, ResidentBlocksEqualTheWorkers) {
  const CUfunction kernel = function(pass_on_kernel());
  const CUdeviceptr cells = allocate(64), out = allocate(16 * 64 * 4);
  for (const int workers : {1, 2, 7, 0}) {
    use_workers(workers);
    const int most = resident_blocks(kernel, 64);
    if (workers > 0) {
      EXPECT_EQ(most, workers);
    }
    Shape shape{.blocks = static_cast<unsigned>(most), .threads = 64, .shared_bytes = 4};
    EXPECT_EQ(launch_together(kernel, shape, arrivals_, cells, out, most), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS) << host::last_error();
    ++shape.blocks;
    EXPECT_EQ(launch_together(kernel, shape, arrivals_, cells, out, most),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    EXPECT_EQ(host::last_error(), "kernel pass_on: a cooperative launch of " +
                                      std::to_string(most + 1) + " blocks, the device runs " +
                                      std::to_string(most) + " at once");
  }
}

TEST_F(HostDriverCooperativeTest, QueuedLaunchesFailIfWorkersAreRemoved) {
  const CUfunction kernel = function(pass_on_kernel());
  const Shape shape{.blocks = 4, .threads = 32, .shared_bytes = 4};
  ASSERT_EQ(launch_together(kernel, shape, arrivals_, allocate(16), allocate(512), 1),
            CUDA_SUCCESS);
  use_workers(3);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(HostDriverCooperativeTest, GridBarriersFailInOrdinaryLaunches) {
  const CUfunction kernel = function(pass_on_kernel());
  ASSERT_EQ(
      launch(kernel, {.threads = 32, .shared_bytes = 4}, arrivals_, allocate(4), allocate(128), 1),
      CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("meets at grid_barrier(), but the launch is not "
                                            "cooperative"));
}

TEST_F(HostDriverCooperativeTest, GridBarriersFailInKernelsCompiledWithoutBarriers) {
  EXPECT_EQ(run_body("grid_barrier(arrivals);", /*has_barrier=*/false), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("meets at grid_barrier(), but was compiled as a kernel "
                                            "without barriers"));
}

TEST_F(HostDriverCooperativeTest, ReportsBlocksThatReturnEarly) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    use_workers(4, seed);
    EXPECT_EQ(run_body("if (blockIdx.x == 2) return; grid_barrier(arrivals);"),
              CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_THAT(host::last_error(), HasSubstr(": waits at grid_barrier(), but block (2, 0, 0) has "
                                              "returned"));
    host::clear_error();
  }
}

TEST_F(HostDriverCooperativeTest, AFaultReleasesWaitingBlocks) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    use_workers(4, seed);
    EXPECT_EQ(run_body("grid_barrier(arrivals);"
                       "if (blockIdx.x == 1) arrivals[1 << 20] = 1;"
                       "grid_barrier(arrivals);"),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(host::last_error(), HasSubstr("kernel body, block (1, 0, 0), thread"));
    host::clear_error();
    const unsigned zero = 0;
    ASSERT_EQ(driver.cuMemcpyHtoDAsync(arrivals_, &zero, 4, nullptr), CUDA_SUCCESS);
  }
  EXPECT_EQ(run_body("grid_barrier(arrivals); grid_depart(arrivals);"), CUDA_SUCCESS);
}

TEST_F(HostDriverCooperativeTest, ReportsDivergedThreadsAtGridBarriers) {
  EXPECT_EQ(run_body("if (blockIdx.x == 3 && threadIdx.x >= 8) return; grid_barrier(arrivals);"),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(host::last_error(),
            "kernel body, block (3, 0, 0): barriers diverge: threads 0 to 7 wait at "
            "grid_barrier(), threads 8 to 39 have returned");
  host::clear_error();
  EXPECT_EQ(run_body("if (threadIdx.x < 8) block_barrier(); else grid_barrier(arrivals);"),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("threads 0 to 7 wait at block_barrier(), threads 8 to "
                                            "39 wait at grid_barrier()"));
}

TEST_F(HostDriverCooperativeTest, ReportsCountersThatDoNotStartAtZero) {
  arrivals_ = upload(std::vector<unsigned>{5});
  EXPECT_EQ(run_body("grid_barrier(arrivals);"), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("waits at grid_barrier(), whose counter was not 0"));
}

class HostDriverCooperativeGraphTest : public HostDriverCooperativeTest {
 protected:
  void SetUp() override {
    HostDriverCooperativeTest::SetUp();
    kernel_ = function(pass_on_kernel());
    cells_ = allocate(64);
    out_ = allocate(4 * 32 * 4);
    check(driver, driver.cuGraphCreate(&graph_, 0), "cuGraphCreate", "a test");
  }

  CUDA_KERNEL_NODE_PARAMS parameters(unsigned blocks) {
    return {.func = kernel_,
            .gridDimX = blocks,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = 32,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = 4,
            .kernelParams = pointers_};
  }
  CUgraphNode add_node(unsigned blocks) {
    const CUDA_KERNEL_NODE_PARAMS node_parameters = parameters(blocks);
    CUgraphNode node = nullptr;
    check(driver, driver.cuGraphAddKernelNode(&node, graph_, nullptr, 0, &node_parameters),
          "cuGraphAddKernelNode", "a test");
    return node;
  }
  CUresult make_cooperative(CUgraphNode node) {
    const CUlaunchAttribute attribute = cooperative();
    return driver.cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value);
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    check(driver, driver.cuGraphInstantiateWithFlags(&exec, graph_, 0), "cuGraphInstantiate",
          "a test");
    return exec;
  }

  CUfunction kernel_ = nullptr;
  CUgraph graph_ = nullptr;
  CUdeviceptr cells_ = 0, out_ = 0;
  int rounds_ = 4;
  void* pointers_[4] = {&arrivals_, &cells_, &out_, &rounds_};
};

TEST_F(HostDriverCooperativeGraphTest, NodesWithTheAttributeRunRepeatedly) {
  const CUgraphNode node = add_node(4);
  ASSERT_EQ(make_cooperative(node), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(driver.cuGraphLaunch(exec, new_stream()), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS) << host::last_error();
  EXPECT_EQ(download<int>(out_, 128)[127], 3);
  EXPECT_EQ(counter(), 0u);

  // New parameters keep the attribute.
  rounds_ = 1;
  const CUDA_KERNEL_NODE_PARAMS changed = parameters(2);
  ASSERT_EQ(driver.cuGraphExecKernelNodeSetParams(exec, node, &changed), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_THAT(download<int>(out_, 32), Each(1));
}

TEST_F(HostDriverCooperativeGraphTest, NodesWithoutTheAttributeFail) {
  add_node(4);
  ASSERT_EQ(driver.cuGraphLaunch(instantiate(), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("the launch is not cooperative"));
}

TEST_F(HostDriverCooperativeGraphTest, RejectsNodesWithTooManyBlocks) {
  ASSERT_EQ(make_cooperative(add_node(5)), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(instantiate(), nullptr), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(HostDriverCooperativeGraphTest, OnlyKernelsHaveAttributes) {
  CUgraphNode empty = nullptr;
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&empty, graph_, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(make_cooperative(empty), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(host::last_error(), "the node is not a kernel");
}

}  // namespace
}  // namespace sinter::host_driver_cooperative_test
