// Edges of CUDA Graphs on the host device: programmatic ones, and kernels that start early.
#include "runtime/device/launch_grid.h"
#include "tests/host/driver/host_driver_fixture.h"

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace sinter::host_driver_edges_test {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;

constexpr CUgraphEdgeData kProgrammatic = {.from_port = kGraphKernelNodePortProgrammatic,
                                           .to_port = 0,
                                           .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                           .reserved = {}};
constexpr int kSeeds = 30;

/// y = x + term, in blocks of one warp. A statement at the start, and one behind the load of x.
HostKernel adding(const std::string& entry, std::string_view first, std::string_view second = "") {
  return {.entry = entry,
          .text = fmt::format(R"(
extern "C" __global__ void {}(const float* x, float* y, const float term) {{
  {}
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = load(x, i);
  {}
  store(y, i, value + term);
}}
)",
                              entry, first, second)};
}

constexpr std::string_view kWait = "wait_for_prior_launches();";

/// The parameter: kernels count accesses, so that they may start early.
class HostDriverEdgesTest : public HostDriverTest, public testing::WithParamInterface<bool> {
 protected:
  static constexpr unsigned kBlocks = 6;
  static constexpr std::size_t kElements = kBlocks * 32;

  void SetUp() override {
    HostDriverTest::SetUp();
    waits_ = function(adding("waits", kWait), counts());
    check(driver, driver.cuGraphCreate(&graph_, 0), "cuGraphCreate", "a test");
    for (CUdeviceptr& buffer : buffers_) buffer = allocate(kElements * sizeof(float));
  }
  bool counts() const { return GetParam(); }

  /// A node that sets buffer `to` to buffer `from` plus 1.
  CUgraphNode add(CUfunction kernel, std::size_t to, std::size_t from,
                  std::vector<CUgraphNode> after = {}) {
    float term = 1;
    void* parameters[] = {&buffers_[from], &buffers_[to], &term};
    const CUDA_KERNEL_NODE_PARAMS node{.func = kernel,
                                       .gridDimX = kBlocks,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = 32,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .kernelParams = parameters};
    CUgraphNode result = nullptr;
    check(driver, driver.cuGraphAddKernelNode(&result, graph_, after.data(), after.size(), &node),
          "cuGraphAddKernelNode", "a test");
    return result;
  }
  CUresult join(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData& data = kProgrammatic) {
    return driver.cuGraphAddDependencies(graph_, &from, &to, &data, 1);
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    check(driver, driver.cuGraphInstantiateWithFlags(&exec, graph_, 0), "cuGraphInstantiate",
          "a test");
    return exec;
  }
  /// Runs the graph on zeros, and returns buffer `result`.
  std::vector<float> run(CUgraphExec exec, std::size_t result) {
    for (const CUdeviceptr buffer : buffers_)
      EXPECT_EQ(driver.cuMemsetD8Async(buffer, 0, kElements * sizeof(float), nullptr),
                CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    return download<float>(buffers_[result], kElements);
  }
  /// The number of seeds under which all elements of buffer 2 are `expected`.
  int right_seeds(CUgraphExec exec, float expected) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      use_seed(seed);
      right += run(exec, 2) == std::vector<float>(kElements, expected);
    }
    return right;
  }

  CUfunction waits_ = nullptr;
  CUgraph graph_ = nullptr;
  std::array<CUdeviceptr, 3> buffers_{};
};

TEST_P(HostDriverEdgesTest, KernelsThatWaitAreOrderedUnderEverySeed) {
  const CUgraphNode first = add(waits_, 1, 0);
  const CUgraphNode second = add(waits_, 0, 1);
  const CUgraphNode third = add(waits_, 2, 0);
  ASSERT_EQ(join(first, second), CUDA_SUCCESS);
  ASSERT_EQ(join(second, third), CUDA_SUCCESS);
  EXPECT_EQ(right_seeds(instantiate(), 3.0F), kSeeds);
  EXPECT_EQ(host::counters().kernels, 3U * kSeeds);
}

/// A kernel that loads in front of the wait finds what was there before, but only in a build that
/// counts, since others start late.
TEST_P(HostDriverEdgesTest, AnEarlyLoadIsWrongUnderSomeSeeds) {
  const CUfunction late = function(adding("late", "", kWait), counts());
  const CUgraphNode first = add(waits_, 1, 0);
  ASSERT_EQ(join(first, add(late, 2, 1)), CUDA_SUCCESS);
  const int right = right_seeds(instantiate(), 2.0F);
  if (counts()) {
    EXPECT_THAT(right, AllOf(Gt(5), Lt(25)));
  } else {
    EXPECT_EQ(right, kSeeds);
  }
}

TEST_P(HostDriverEdgesTest, FullEdgesOrderAnEarlyLoad) {
  const CUfunction late = function(adding("late", "", kWait), counts());
  const CUgraphNode first = add(waits_, 1, 0);
  ASSERT_EQ(join(first, add(late, 2, 1), CUgraphEdgeData{}), CUDA_SUCCESS);
  EXPECT_EQ(right_seeds(instantiate(), 2.0F), kSeeds);
}

TEST_P(HostDriverEdgesTest, AKernelThatDoesNotWaitFails) {
  const CUfunction hasty = function(adding("hasty", ""), counts());
  const CUgraphNode first = add(waits_, 1, 0);
  ASSERT_EQ(join(first, add(hasty, 2, 1)), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    use_seed(seed);
    ASSERT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_THAT(host::last_error(),
                HasSubstr("kernel hasty: its launch may start before the one in front of it has "
                          "ended, but the kernel does not wait for that"));
    host::clear_error();
  }
}

/// A node may wait for some nodes itself, and start behind others.
TEST_P(HostDriverEdgesTest, EdgesOfBothTypesHoldUnderEverySeed) {
  const CUfunction sums = function({.entry = "sums", .text = R"(
extern "C" __global__ void sums(float* x, float* y, const float term) {
  wait_for_prior_launches();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  store(y, i, load(x, i) + load(y, i) + term);
}
)"},
                                   counts());
  const CUgraphNode full = add(waits_, 1, 0);
  const CUgraphNode early = add(waits_, 2, 0);
  const CUgraphNode last = add(sums, 2, 1, {full});
  ASSERT_EQ(join(early, last), CUDA_SUCCESS);
  EXPECT_EQ(right_seeds(instantiate(), 3.0F), kSeeds);
}

/// Kernels with barriers, whose threads are fibers, wait too.
TEST_P(HostDriverEdgesTest, KernelsWithBarriersWait) {
  const CUfunction turns = function({.entry = "turns",
                                     .text = R"(
extern "C" __global__ void turns(const float* x, float* y, const float term) {
  wait_for_prior_launches();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = load(x, i);
  store(y, i, warp_xor(value, 31) + term);
}
)",
                                     .has_barrier = true},
                                    counts());
  const CUgraphNode first = add(waits_, 1, 0);
  ASSERT_EQ(join(first, add(turns, 2, 1)), CUDA_SUCCESS);
  EXPECT_EQ(right_seeds(instantiate(), 2.0F), kSeeds);
}

TEST_P(HostDriverEdgesTest, AFailureOfTheEarlierKernelIsReported) {
  buffers_[0] += std::size_t{1} << 20;  // outside of the buffer
  const CUgraphNode wild = add(waits_, 1, 0);
  buffers_[0] -= std::size_t{1} << 20;
  ASSERT_EQ(join(wild, add(waits_, 2, 1)), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    use_seed(seed);
    ASSERT_EQ(driver.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(host::last_error(), HasSubstr("kernel waits"));
    host::clear_error();
  }
}

TEST_P(HostDriverEdgesTest, CapturedEarlyLaunchesGetProgrammaticEdges) {
  const CUfunction late = function(adding("late", "", kWait), counts());
  const CUstream stream = new_stream();
  LaunchAttributes attributes = stream_attributes({.entry = "k", .text = {}}, true);
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  for (const std::size_t from : {std::size_t{0}, std::size_t{1}}) {
    float term = 1;
    void* parameters[] = {&buffers_[from], &buffers_[from + 1], &term};
    const CUlaunchConfig config{.gridDimX = kBlocks,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 32,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .hStream = stream,
                                .attrs = attributes.list.data(),
                                .numAttrs = attributes.count};
    ASSERT_EQ(driver.cuLaunchKernelEx(&config, from == 0 ? waits_ : late, parameters, nullptr),
              CUDA_SUCCESS);
  }
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph_), CUDA_SUCCESS);
  const int right = right_seeds(instantiate(), 2.0F);
  if (counts()) {
    EXPECT_THAT(right, AllOf(Gt(5), Lt(25)));
  } else {
    EXPECT_EQ(right, kSeeds);
  }
}

TEST_P(HostDriverEdgesTest, RefusesDataThatTheNodesDoNotPermit) {
  const CUgraphNode a = add(waits_, 1, 0);
  const CUgraphNode b = add(waits_, 2, 1);
  CUgraphNode empty = nullptr;
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&empty, graph_, nullptr, 0), CUDA_SUCCESS);
  const auto expect_refused = [&](CUgraphNode from, CUgraphNode to, CUgraphEdgeData data,
                                  CUresult code, const char* text) {
    EXPECT_EQ(join(from, to, data), code);
    EXPECT_THAT(host::last_error(), HasSubstr(text));
  };
  const auto refuse = [&](const auto& change, const char* text,
                          CUresult code = CUDA_ERROR_INVALID_VALUE) {
    CUgraphEdgeData data = kProgrammatic;
    change(data);
    expect_refused(a, b, data, code, text);
  };
  using Data = CUgraphEdgeData;
  refuse([](Data& data) { data.to_port = 1; }, "the target port");
  refuse([](Data& data) { data.reserved[4] = 1; }, "the reserved bytes");
  refuse([](Data& data) { data.type = 2; }, "not known");
  refuse([](Data& data) { data.from_port = 3; }, "not known");
  refuse([](Data& data) { data.from_port = 0; }, "need another port");
  refuse([](Data& data) { data.type = 0; }, "must be used with programmatic edges");
  refuse([](Data& data) { data.from_port = kGraphKernelNodePortLaunchOrder; },
         "edges from the start of a kernel", CUDA_ERROR_NOT_SUPPORTED);
  expect_refused(empty, b, kProgrammatic, CUDA_ERROR_INVALID_VALUE, "only kernel nodes have ports");
  expect_refused(a, empty, kProgrammatic, CUDA_ERROR_INVALID_VALUE, "only be used between kernel");
  expect_refused(a, a, {}, CUDA_ERROR_INVALID_VALUE, "edge 0 joins a node to itself");
  expect_refused(a, nullptr, {}, CUDA_ERROR_INVALID_VALUE, "not in this graph");
  ASSERT_EQ(join(a, b), CUDA_SUCCESS);
  expect_refused(a, b, {}, CUDA_ERROR_INVALID_VALUE, "edge 0 exists already");
  EXPECT_EQ(driver.cuGraphAddDependencies(graph_, nullptr, &b, nullptr, 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphAddDependencies(graph_, nullptr, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphAddDependencies(nullptr, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(HostDriverEdgesTest, RefusesCirclesWhenTheGraphIsInstantiated) {
  const CUgraphNode a = add(waits_, 1, 0);
  const CUgraphNode b = add(waits_, 2, 1, {a});
  ASSERT_EQ(join(b, a), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(host::last_error(), HasSubstr("depends on itself"));
}

INSTANTIATE_TEST_SUITE_P(Builds, HostDriverEdgesTest, testing::Bool(), [](const auto& test) {
  return test.param ? std::string("ThatCount") : std::string("ThatDoNot");
});

}  // namespace
}  // namespace sinter::host_driver_edges_test
