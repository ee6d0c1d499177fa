// Replays with programmatic edges, on virtual GPUs that judge the order of all accesses.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/doubles/graph_edges.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/product/start_early.h"
#include "tests/virtual_gpu/product/two_gpus.h"

namespace sinter::virtual_gpu::early_edges_test {
namespace {

/// Without fusion: kernels that depend on one another directly, through others and by reused
/// memory.
constexpr const char* kBranches = R"(
graph branches(x: f32[n], y: f32[n]) {
  a = mul x, 2.0
  b = add a, y
  c = mul b, a
  d = sub c, x
  e = mul d, 0.5
  f = add e, b
  g = mul y, 3.0
  h = add f, g
  s = sum h {keep = true}
  j = mul h, s
  k = add j, 1.0
  return k, g
})";
constexpr std::int64_t kSize = 300;

/// The edges that the runtime asked the driver for, and the one that does not reach it.
struct Spy {
  const Driver* driver = nullptr;
  std::vector<test::GraphEdge> programmatic = {};
  int full = 0;
  int dropped = -1;  ///< among the programmatic edges
};
Spy& spy() {
  static Spy one;
  return one;
}

CUresult add_kernel(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                    std::size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  spy().full += static_cast<int>(count);
  return spy().driver->cuGraphAddKernelNode(node, graph, dependencies, count, parameters);
}

CUresult add_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                   const CUgraphEdgeData* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    spy().programmatic.emplace_back(from[i], to[i]);
    if (static_cast<int>(spy().programmatic.size()) - 1 == spy().dropped) continue;
    const CUresult result =
        spy().driver->cuGraphAddDependencies(graph, from + i, to + i, data + i, 1);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

class VirtualEarlyEdges : public testing::Test {
 protected:
  /// Replays the program, in a capture if `is_captured`. Edges reach the driver through the spy.
  std::vector<float> run(std::initializer_list<TestDriver::Variable> variables, int dropped,
                         bool is_captured = false) {
    const TestDriver driver(variables);
    spy() = {.driver = &driver.table(), .dropped = dropped};
    // A lost device refers to its table until the process ends.
    Driver& table = *new Driver(driver.table());
    table.cuGraphAddKernelNode = add_kernel;
    if (table.cuGraphAddDependencies) table.cuGraphAddDependencies = add_edges;
    auto& state = *new DeviceState(table, 0);
    return run_on(Device(&state), is_captured);
  }

 private:
  std::vector<float> run_on(const Device& device, bool is_captured) {
    const Options options = {.tune = Tune::off,
                             .fuse = false,
                             .cache = {.mode = CacheMode::read_write, .directory = folder_.path()},
                             .ptx = true};
    const Executable executable = compile(parse(kBranches), device, options);
    executable.prepare({{"n", kSize}});
    start_early(executable);
    Context context = executable.context();
    const Stream stream = device.stream();
    const auto filled = [&](float value) {
      const Array array = device.empty(f32, {kSize});
      device.upload(array, std::vector<float>(kSize, value), stream);
      return array;
    };
    const Array x = filled(0.5F), y = filled(0.25F), k = filled(0), g = filled(0);
    const Bindings bindings = context.bind({{"x", x}, {"y", y}}, {{"k", k}, {"g", g}});
    if (is_captured)
      launch_captured(stream, [&] {
        context.run(stream, bindings);
        context.run(stream, bindings);
      });
    else
      for (int i = 0; i < 2; ++i) context.replay(stream, bindings);
    std::vector<float> result = device.download<float>(k, stream);
    const std::vector<float> more = device.download<float>(g, stream);
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  static void launch_captured(const Stream& stream, const auto& record) {
    const DeviceState& state = *stream.device().state();
    const CurrentContext current(state);
    const Driver& driver = state.driver;
    const auto handle = static_cast<CUstream>(stream.handle());
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    ASSERT_EQ(driver.cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    record();
    ASSERT_EQ(driver.cuStreamEndCapture(handle, &graph), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(driver.cuGraphLaunch(exec, handle), CUDA_SUCCESS);
    stream.synchronize();
    driver.cuGraphExecDestroy(exec);
    driver.cuGraphDestroy(graph);
  }

  const test::ScratchFolder folder_;
};

TEST_F(VirtualEarlyEdges, OrderAllAccessesUnderEverySchedule) {
  const std::vector<float> expected =
      run({{"VIRTUAL_GPU_DRIVER", "12020"}, {"VIRTUAL_GPU_PTX", "any"}}, /*dropped=*/-1);
  EXPECT_TRUE(spy().programmatic.empty());
  const int edges = spy().full;
  EXPECT_GT(edges, 10);
  for (const char* const schedule : driver::kSchedules)
    for (const bool is_captured : {false, true}) {
      EXPECT_EQ(run({{"VIRTUAL_GPU_SCHEDULE", schedule}}, /*dropped=*/-1, is_captured), expected);
      EXPECT_EQ(spy().full, 0);
      EXPECT_EQ(spy().programmatic.size(),
                static_cast<std::size_t>(is_captured ? 2 : 1) * static_cast<std::size_t>(edges));
    }
}

/// Without the edge the virtual GPU reports a race, for any order of execution.
TEST_F(VirtualEarlyEdges, EachOfThemIsNecessaryUnlessOthersImplyIt) {
  const std::vector<float> expected = run({}, /*dropped=*/-1);
  const Spy whole = spy();
  int necessary = 0;
  for (std::size_t edge = 0; edge < whole.programmatic.size(); ++edge) {
    bool is_race = false;
    try {
      EXPECT_EQ(run({}, static_cast<int>(edge)), expected);
    } catch (const DriverError& error) {
      is_race = error.code() == CUDA_ERROR_LAUNCH_FAILED;
    }
    EXPECT_EQ(is_race, !test::is_implied(whole.programmatic, edge)) << "edge " << edge;
    necessary += is_race;
  }
  EXPECT_GT(necessary, 8);
}

}  // namespace
}  // namespace sinter::virtual_gpu::early_edges_test
