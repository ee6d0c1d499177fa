// Edges of CUDA Graphs: programmatic ones, their data, and what they order.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::graph_edges_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// `increment` waits and then adds 1 to each word of `to`. `copy` waits and then copies `from`.
/// `touch` only waits. `hasty` is `copy` without the wait, `early` has its load in front of it.
constexpr const char* kPtx = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry increment(.param .u64 to)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  WAIT
  ld.global.u32 %r2, [%rd2];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd2], %r2;
  ret;
}
.visible .entry copy(.param .u64 to, .param .u64 from)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1;
  mad.wide.u32 %rd4, %r1, 4, %rd2;
  WAIT
  ld.global.u32 %r2, [%rd4];
  st.global.u32 [%rd3], %r2;
  ret;
}
.visible .entry touch()
{
  WAIT
  ret;
}
.visible .entry hasty(.param .u64 to, .param .u64 from)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1;
  mad.wide.u32 %rd4, %r1, 4, %rd2;
  ld.global.u32 %r2, [%rd4];
  st.global.u32 [%rd3], %r2;
  ret;
}
.visible .entry early(.param .u64 to, .param .u64 from)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1;
  mad.wide.u32 %rd4, %r1, 4, %rd2;
  ld.global.u32 %r2, [%rd4];
  WAIT
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

/// The text for a GPU, with or without the instruction that waits.
std::string ptx(bool has_waits) {
  std::string text = kPtx;
  for (std::size_t at = text.find("WAIT"); at != std::string::npos; at = text.find("WAIT"))
    text.replace(at, 4, has_waits ? "griddepcontrol.wait;" : "");
  if (has_waits) text.replace(text.find("sm_80"), 5, "sm_90");
  return text;
}

constexpr CUgraphEdgeData kProgrammatic = {.from_port = kGraphKernelNodePortProgrammatic,
                                           .to_port = 0,
                                           .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                           .reserved = {}};

using GetEdges = CUresult(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*, std::size_t*);
using GetPlainEdges = CUresult(CUgraph, CUgraphNode*, CUgraphNode*, std::size_t*);
using AddPlainEdges = CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, std::size_t);

/// A graph of kernels of one warp on a driver of their own.
class Kernels {
 public:
  explicit Kernels(std::initializer_list<VirtualDriver::Variable> variables, bool has_waits = true)
      : driver(variables) {
    driver.use();
    stream = driver.stream();
    CUmodule module = nullptr;
    EXPECT_EQ(driver->cuModuleLoadData(&module, ptx(has_waits).c_str()), CUDA_SUCCESS);
    for (CUdeviceptr* const memory : {&a, &b}) {
      *memory = driver.memory(128);
      EXPECT_EQ(driver->cuMemsetD32Async(*memory, 5, 32, stream), CUDA_SUCCESS);
    }
    for (const char* const name : {"increment", "copy", "touch", "hasty", "early"})
      EXPECT_EQ(driver->cuModuleGetFunction(&functions[name], module, name), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  }

  static CUDA_KERNEL_NODE_PARAMS parameters(CUfunction function, void** addresses) {
    return {.func = function,
            .gridDimX = 1,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = 32,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = 0,
            .kernelParams = addresses,
            .extra = nullptr,
            .kern = nullptr,
            .ctx = nullptr};
  }
  CUgraphNode add(const char* kernel, CUdeviceptr to = 0, CUdeviceptr from = 0,
                  std::vector<CUgraphNode> after = {}) {
    void* addresses[] = {&to, &from};
    const CUDA_KERNEL_NODE_PARAMS node = parameters(functions[kernel], addresses);
    CUgraphNode result = nullptr;
    EXPECT_EQ(driver->cuGraphAddKernelNode(&result, graph, after.data(), after.size(), &node),
              CUDA_SUCCESS);
    return result;
  }
  CUgraphNode add_empty() const {
    CUgraphNode result = nullptr;
    EXPECT_EQ(driver->cuGraphAddEmptyNode(&result, graph, nullptr, 0), CUDA_SUCCESS);
    return result;
  }
  CUresult join(CUgraphNode from, CUgraphNode to,
                const CUgraphEdgeData& data = kProgrammatic) const {
    return driver->cuGraphAddDependencies(graph, &from, &to, &data, 1);
  }
  CUgraphExec instantiate() const {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  CUresult run() const { return run(instantiate()); }
  CUresult run(CUgraphExec exec) const {
    EXPECT_EQ(driver->cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    return driver->cuStreamSynchronize(stream);
  }

  VirtualDriver driver;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr a = 0, b = 0;
  std::map<std::string, CUfunction> functions;
};

class VirtualGraphEdgesTest : public testing::TestWithParam<const char*> {
 protected:
  Kernels kernels{{"VIRTUAL_GPU_SCHEDULE", GetParam()}};
};

TEST_P(VirtualGraphEdgesTest, KernelsBehindProgrammaticEdgesWaitThemselves) {
  CUgraphNode last = kernels.add("increment", kernels.a);
  for (int i = 0; i < 3; ++i) {
    const CUgraphNode next = kernels.add("increment", kernels.a);
    EXPECT_EQ(kernels.join(last, next), CUDA_SUCCESS);
    last = next;
  }
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(kernels.a, 32), Each(9));
}

TEST_P(VirtualGraphEdgesTest, KernelsThatDoNotWaitRaceBehindProgrammaticEdges) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  EXPECT_EQ(kernels.join(first, kernels.add("hasty", kernels.b, kernels.a)), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_P(VirtualGraphEdgesTest, LoadsInFrontOfTheWaitRace) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  EXPECT_EQ(kernels.join(first, kernels.add("early", kernels.b, kernels.a)), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_P(VirtualGraphEdgesTest, FullEdgesOrderKernelsThatDoNotWait) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  EXPECT_EQ(kernels.join(first, kernels.add("early", kernels.b, kernels.a), CUgraphEdgeData{}),
            CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(kernels.b, 32), Each(6));
}

/// The first kernel is ordered before the third, which waits for the second alone.
TEST_P(VirtualGraphEdgesTest, OrderIsTransitiveThroughKernelsThatWait) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  const CUgraphNode second = kernels.add("touch");
  EXPECT_EQ(kernels.join(first, second), CUDA_SUCCESS);
  EXPECT_EQ(kernels.join(second, kernels.add("copy", kernels.b, kernels.a)), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(kernels.b, 32), Each(6));
}

/// The same if the third kernel starts when the second one has ended.
TEST_P(VirtualGraphEdgesTest, OrderIsTransitiveToKernelsBehindFullEdges) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  const CUgraphNode second = kernels.add("touch");
  EXPECT_EQ(kernels.join(first, second), CUDA_SUCCESS);
  kernels.add("hasty", kernels.b, kernels.a, {second});
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(kernels.b, 32), Each(6));
}

TEST_P(VirtualGraphEdgesTest, OrderIsNotTransitiveThroughKernelsThatDoNotWait) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  const CUdeviceptr other = kernels.driver.memory(128);
  EXPECT_EQ(kernels.driver->cuMemsetD32Async(other, 1, 32, kernels.stream), CUDA_SUCCESS);
  const CUgraphNode second = kernels.add("hasty", other, other);
  EXPECT_EQ(kernels.join(first, second), CUDA_SUCCESS);
  EXPECT_EQ(kernels.join(second, kernels.add("copy", kernels.b, kernels.a)), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_P(VirtualGraphEdgesTest, KernelsMayHaveEdgesOfBothTypes) {
  const CUgraphNode full = kernels.add("increment", kernels.b);
  const CUgraphNode early = kernels.add("increment", kernels.a);
  const CUgraphNode last = kernels.add("copy", kernels.b, kernels.a, {full});
  EXPECT_EQ(kernels.join(early, last), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(kernels.b, 32), Each(6));
}

TEST_P(VirtualGraphEdgesTest, UpdatedKernelsKeepTheirEdges) {
  const CUgraphNode first = kernels.add("increment", kernels.a);
  const CUgraphNode last = kernels.add("copy", kernels.b, kernels.a);
  EXPECT_EQ(kernels.join(first, last), CUDA_SUCCESS);
  const CUgraphExec exec = kernels.instantiate();
  CUdeviceptr to = kernels.driver.memory(128), from = kernels.a;
  void* addresses[] = {&to, &from};
  CUDA_KERNEL_NODE_PARAMS changed = Kernels::parameters(kernels.functions["copy"], addresses);
  EXPECT_EQ(kernels.driver->cuGraphExecKernelNodeSetParams(exec, last, &changed), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(exec), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(to, 32), Each(6));
  changed.func = kernels.functions["hasty"];
  EXPECT_EQ(kernels.driver->cuGraphExecKernelNodeSetParams(exec, last, &changed), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(exec), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_P(VirtualGraphEdgesTest, TheDataOfEdgesIsReported) {
  const CUgraphNode a = kernels.add("touch");
  const CUgraphNode b = kernels.add("touch", 0, 0, {a});
  const CUgraphNode c = kernels.add("touch");
  auto& get = *kernels.driver.find<GetEdges>("cuGraphGetEdges_v2");
  auto& get_plain = *kernels.driver.find<GetPlainEdges>("cuGraphGetEdges");
  CUgraphNode from[3] = {c, c, c}, to[3] = {c, c, c};
  std::size_t count = 3;
  EXPECT_EQ(get_plain(kernels.graph, from, to, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_THAT(from, ElementsAre(a, nullptr, nullptr));
  EXPECT_THAT(to, ElementsAre(b, nullptr, nullptr));
  EXPECT_EQ(kernels.join(b, c), CUDA_SUCCESS);
  count = 3;
  EXPECT_EQ(get_plain(kernels.graph, from, to, &count), CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(get(kernels.graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  CUgraphEdgeData data[2];
  EXPECT_EQ(get(kernels.graph, from, to, data, &count), CUDA_SUCCESS);
  EXPECT_EQ(data[0].type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
  EXPECT_EQ(data[0].from_port, kGraphKernelNodePortDefault);
  EXPECT_EQ(data[1].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(data[1].from_port, kGraphKernelNodePortProgrammatic);
  EXPECT_EQ(get(kernels.graph, nullptr, nullptr, data, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(kernels.graph, from, nullptr, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(kernels.graph, from, to, data, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(VirtualGraphEdgesTest, RefusesDataThatTheNodesDoNotPermit) {
  const CUgraphNode a = kernels.add("touch");
  const CUgraphNode b = kernels.add("touch");
  const CUgraphNode empty = kernels.add_empty();
  const auto with = [](const auto& change) {
    CUgraphEdgeData data = kProgrammatic;
    change(data);
    return data;
  };
  using Data = CUgraphEdgeData;
  EXPECT_EQ(kernels.join(empty, b), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kernels.join(a, empty), CUDA_ERROR_INVALID_VALUE);
  for (const Data& data :
       {with([](Data& one) { one.to_port = 1; }), with([](Data& one) { one.reserved[4] = 1; }),
        with([](Data& one) { one.type = 2; }), with([](Data& one) { one.from_port = 3; }),
        with([](Data& one) { one.from_port = 0; }), with([](Data& one) { one.type = 0; })})
    EXPECT_EQ(kernels.join(a, b, data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kernels.join(a, b, with([](Data& one) { one.from_port = 2; })),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(kernels.join(a, empty, Data{}), CUDA_SUCCESS);
  EXPECT_EQ(kernels.join(a, b), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
}

TEST_P(VirtualGraphEdgesTest, AddsAllEdgesOrNone) {
  const CUgraphNode a = kernels.add("touch");
  const CUgraphNode b = kernels.add("touch", 0, 0, {a});
  const CUgraphNode c = kernels.add("touch");
  auto& add = *kernels.driver.find<AddPlainEdges>("cuGraphAddDependencies");
  CUgraph other = nullptr;
  EXPECT_EQ(kernels.driver->cuGraphCreate(&other, 0), CUDA_SUCCESS);
  const auto expect_refused = [&](CUgraphNode first, CUgraphNode second) {
    const CUgraphNode from[] = {b, first}, to[] = {c, second};
    EXPECT_EQ(add(kernels.graph, from, to, 2), CUDA_ERROR_INVALID_VALUE);
  };
  expect_refused(a, b);  // exists
  expect_refused(b, c);  // twice
  expect_refused(c, c);
  expect_refused(c, nullptr);
  const CUgraphNode from[] = {a, b}, to[] = {c, c};
  EXPECT_EQ(add(other, from, to, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(kernels.graph, nullptr, to, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(kernels.graph, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(add(kernels.graph, from, to, 2), CUDA_SUCCESS);
}

TEST_P(VirtualGraphEdgesTest, EdgesMayLeadToOlderNodesButNotInACircle) {
  const CUgraphNode last = kernels.add("copy", kernels.b, kernels.a);
  const CUgraphNode middle = kernels.add("increment", kernels.a);
  const CUgraphNode first = kernels.add("increment", kernels.a);
  EXPECT_EQ(kernels.join(first, middle), CUDA_SUCCESS);
  EXPECT_EQ(kernels.join(middle, last), CUDA_SUCCESS);
  EXPECT_EQ(kernels.run(), CUDA_SUCCESS);
  EXPECT_THAT(kernels.driver.words(kernels.b, 32), Each(7));
  EXPECT_EQ(kernels.join(last, first), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(kernels.driver->cuGraphInstantiateWithFlags(&exec, kernels.graph, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_P(VirtualGraphEdgesTest, UpdatesOfChildGraphsKeepTheTypeOfEdges) {
  CUgraph programmatic = nullptr, full = nullptr;
  for (CUgraph* const graph : {&programmatic, &full}) {
    EXPECT_EQ(kernels.driver->cuGraphCreate(&kernels.graph, 0), CUDA_SUCCESS);
    const CUgraphNode a = kernels.add("touch");
    const CUgraphNode b = kernels.add("touch");
    EXPECT_EQ(kernels.join(a, b, graph == &full ? CUgraphEdgeData{} : kProgrammatic), CUDA_SUCCESS);
    *graph = kernels.graph;
  }
  EXPECT_EQ(kernels.driver->cuGraphCreate(&kernels.graph, 0), CUDA_SUCCESS);
  CUgraphNode child = nullptr;
  EXPECT_EQ(
      kernels.driver->cuGraphAddChildGraphNode(&child, kernels.graph, nullptr, 0, programmatic),
      CUDA_SUCCESS);
  const CUgraphExec exec = kernels.instantiate();
  EXPECT_EQ(kernels.driver->cuGraphExecChildGraphNodeSetParams(exec, child, programmatic),
            CUDA_SUCCESS);
  EXPECT_EQ(kernels.driver->cuGraphExecChildGraphNodeSetParams(exec, child, full),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(kernels.run(exec), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Schedules, VirtualGraphEdgesTest, testing::ValuesIn(kSchedules),
                         [](const auto& test) { return std::string(test.param); });

TEST(VirtualGraphEdgesOfDevicesTest, DevicesWithoutDependentLaunchesRefuseProgrammaticEdges) {
  Kernels kernels({{"VIRTUAL_GPUS", "sm_80"}}, /*has_waits=*/false);
  const CUgraphNode a = kernels.add("touch");
  const CUgraphNode b = kernels.add("touch");
  EXPECT_EQ(kernels.join(a, b), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(kernels.join(a, b, CUgraphEdgeData{}), CUDA_SUCCESS);
}

TEST(VirtualGraphEdgesOfDriversTest, OldDriversHaveNoDataOfEdges) {
  const VirtualDriver old{{"VIRTUAL_GPU_DRIVER", "12020"}};
  EXPECT_EQ(old->cuGraphAddDependencies, nullptr);
  const VirtualDriver driver{{"VIRTUAL_GPU_DRIVER", "12030"}};
  EXPECT_NE(driver->cuGraphAddDependencies, nullptr);
}

/// With early starts the edges between kernels are programmatic if the second kernel can wait.
TEST(VirtualGraphEdgesEarlyStartTest, FullEdgesBecomeProgrammatic) {
  for (const bool removes_wait : {false, true}) {
    Kernels kernels({{"VIRTUAL_GPU_EARLY_STARTS", "on"},
                     {removes_wait ? "VIRTUAL_GPU_REMOVE" : "VIRTUAL_GPU_SEED",
                      removes_wait ? "copy:1" : "0"}});
    const CUgraphNode first = kernels.add("increment", kernels.a);
    const CUgraphNode second = kernels.add("copy", kernels.b, kernels.a, {first});
    kernels.add("hasty", kernels.driver.memory(128), kernels.b, {second});
    EXPECT_EQ(kernels.run(), removes_wait ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS);
  }
}

TEST(VirtualGraphEdgesEarlyStartTest, LoadsInFrontOfTheWaitRace) {
  Kernels kernels({{"VIRTUAL_GPU_EARLY_STARTS", "on"}});
  const CUgraphNode first = kernels.add("increment", kernels.a);
  kernels.add("early", kernels.b, kernels.a, {first});
  EXPECT_EQ(kernels.run(), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::graph_edges_test
