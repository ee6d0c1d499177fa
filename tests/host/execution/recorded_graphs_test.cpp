// Graphs that were recorded from a user's function. A replay updates its CUDA Graph only if the new
// recording has the same nodes, edges and attributes.
#include "runtime/execution/recorded_graphs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <utility>
#include <vector>

#include "codegen/prelude/prelude.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/device/device_state.h"
#include "tests/host/execution/opaque_fixture.h"
#include "tests/support/files/errors.h"

namespace sinter::test::recorded_graphs_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Attributes = std::vector<CUlaunchAttribute>;

constexpr const char* kRanks = R"(
graph ranks(x: f32[n]) {
  y = opaque ranks x : f32[n]
  return y
})";

Attributes clusters_of(unsigned blocks) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {.x = blocks, .y = 1, .z = 1};
  return {attribute};
}

Attributes cooperative() {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return {attribute};
}

Attributes early() {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  return {attribute};
}

/// A kernel with one thread per block adds the rank of a block in its cluster.
class Ranks : public Adder {
 protected:
  static constexpr unsigned kBlocks = 8;

  void SetUp() override {
    const HostCompiler compiler;
    const HostImage image = compiler.compile(prelude_text(Prelude::host),
                                             std::vector{HostKernel{.entry = "add_rank", .text = R"(
extern "C" __global__ void add_rank(const float* x, float* y) {
  store(y, blockIdx.x, load(x, blockIdx.x) + static_cast<float>(cluster_rank()));
}
)"}},
                                             {});
    ASSERT_EQ(driver.cuModuleLoadData(&module_, image.image.data()), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuModuleGetFunction(&kernel_, module_, "add_rank"), CUDA_SUCCESS);
    for (CUstream* const one : {&recorder_, &inner_})
      ASSERT_EQ(driver.cuStreamCreate(one, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    memory_ = device.empty(f32, {2 * kBlocks});
  }
  void TearDown() override {
    host::clear_faults();
    stream.synchronize();
    for (const CUgraphExec exec : execs_) driver.cuGraphExecDestroy(exec);
    for (const CUgraph graph : graphs_) driver.cuGraphDestroy(graph);
    for (const CUstream one : {recorder_, inner_}) driver.cuStreamDestroy(one);
    driver.cuModuleUnload(module_);
  }

  CUresult launch(CUstream on, CUdeviceptr x, CUdeviceptr y, Attributes attributes,
                  unsigned blocks = kBlocks) const {
    void* parameters[] = {&x, &y};
    const CUlaunchConfig config{.gridDimX = blocks,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = 0,
                                .hStream = on,
                                .attrs = attributes.data(),
                                .numAttrs = static_cast<unsigned>(attributes.size())};
    return driver.cuLaunchKernelEx(&config, kernel_, parameters, nullptr);
  }
  /// The work that `put` puts on a stream, as a graph.
  CUgraph recorded(const auto& put, CUstream on) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamBeginCapture(on, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    put(on);
    EXPECT_EQ(driver.cuStreamEndCapture(on, &graph), CUDA_SUCCESS);
    graphs_.push_back(graph);
    return graph;
  }
  /// Puts the launch on the stream, as a graph of its own.
  CUresult launch_as_graph(CUstream on, CUdeviceptr x, CUdeviceptr y, const Attributes& attributes,
                           unsigned blocks = kBlocks) {
    const CUgraph graph =
        recorded([&](CUstream inner) { launch(inner, x, y, attributes, blocks); }, inner_);
    execs_.push_back(nullptr);
    const CUresult made = driver.cuGraphInstantiateWithFlags(&execs_.back(), graph, 0);
    return made == CUDA_SUCCESS ? driver.cuGraphLaunch(execs_.back(), on) : made;
  }

  /// A recording of one launch per list of attributes. `offset` tells its pointers apart.
  CUgraph chain(const std::vector<Attributes>& launches, std::size_t offset = 0) {
    const CUdeviceptr x = memory() + offset;
    return recorded(
        [&](CUstream on) {
          for (const Attributes& one : launches) EXPECT_EQ(launch(on, x, x, one), CUDA_SUCCESS);
        },
        recorder_);
  }
  CUgraph nested(const Attributes& attributes) {
    const CUdeviceptr x = memory();
    return recorded(
        [&](CUstream on) { EXPECT_EQ(launch_as_graph(on, x, x, attributes), CUDA_SUCCESS); },
        recorder_);
  }
  CUdeviceptr memory() const { return reinterpret_cast<CUdeviceptr>(memory_->pointer()); }
  CUgraph new_graph() {
    graphs_.push_back(nullptr);
    EXPECT_EQ(driver.cuGraphCreate(&graphs_.back(), 0), CUDA_SUCCESS);
    return graphs_.back();
  }
  /// The copy in a child graph node.
  CUgraph clone(CUgraph graph) {
    CUgraphNode node = nullptr;
    CUgraph embedded = nullptr;
    EXPECT_EQ(driver.cuGraphAddChildGraphNode(&node, new_graph(), nullptr, 0, graph), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphChildGraphNodeGetGraph(node, &embedded), CUDA_SUCCESS);
    return embedded;
  }
  bool can_update(CUgraph built, CUgraph fresh) const { return can_update(driver, built, fresh); }
  static bool can_update(const Driver& table, CUgraph built, CUgraph fresh) {
    return can_be_updated(table, built, fresh, "a test");
  }

  const DeviceState& state = *device.state();
  const Driver& driver = state.driver;
  const CurrentContext current{state};

 private:
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUstream recorder_ = nullptr, inner_ = nullptr;
  std::optional<Array> memory_;
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> execs_;
};

TEST_F(Ranks, RecordingsMayHaveOtherArguments) {
  const std::vector<Attributes> launches = {clusters_of(2), {}, cooperative(), clusters_of(4)};
  host::configure({.workers = kBlocks});
  const CUgraph built = chain(launches);
  EXPECT_TRUE(can_update(built, chain(launches, kBlocks * sizeof(float))));
  EXPECT_TRUE(can_update(clone(built), chain(launches, kBlocks * sizeof(float))));
  EXPECT_TRUE(can_update(clone(nested(clusters_of(2))), nested(clusters_of(2))));
  EXPECT_TRUE(can_update(new_graph(), new_graph()));
  host::configure({});
}

TEST_F(Ranks, AttributesOfKernelsMustBeEqual) {
  host::configure({.workers = kBlocks});
  const CUgraph built = clone(chain({clusters_of(2), clusters_of(4)}));
  EXPECT_FALSE(can_update(built, chain({clusters_of(2), clusters_of(2)})));
  EXPECT_FALSE(can_update(built, chain({clusters_of(4), clusters_of(2)})));
  EXPECT_FALSE(can_update(built, chain({clusters_of(2), {}})));
  EXPECT_FALSE(can_update(chain({{}}), chain({cooperative()})));
  EXPECT_FALSE(can_update(chain({cooperative()}), chain({{}})));
  EXPECT_FALSE(can_update(clone(nested(clusters_of(2))), nested(clusters_of(4))));
  host::configure({});
}

TEST_F(Ranks, TypesOfNodesMustBeEqual) {
  EXPECT_FALSE(can_update(chain({{}}), chain({{}, {}})));
  EXPECT_FALSE(can_update(chain({{}}), new_graph()));
  EXPECT_FALSE(can_update(chain({{}}), nested({})));
  CUgraphNode node = nullptr;
  const CUgraph empty = new_graph();
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&node, empty, nullptr, 0), CUDA_SUCCESS);
  EXPECT_FALSE(can_update(empty, chain({{}})));
}

/// Conditional nodes have graphs of their own, and newer drivers may have other types.
TEST_F(Ranks, NodesOfOtherTypesAreDoubtful) {
  Driver table = driver;
  table.cuGraphNodeGetType = [](CUgraphNode, CUgraphNodeType* type) {
    *type = static_cast<CUgraphNodeType>(13);
    return CUDA_SUCCESS;
  };
  EXPECT_FALSE(can_update(table, chain({{}}), chain({{}})));
}

TEST_F(Ranks, EdgesMustBeEqual) {
  const auto empty_nodes = [&](const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
    const CUgraph graph = new_graph();
    CUgraphNode nodes[3] = {};
    for (CUgraphNode& node : nodes)
      EXPECT_EQ(driver.cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
    for (const auto& [from, to] : edges)
      EXPECT_EQ(driver.cuGraphAddDependencies(graph, &nodes[from], &nodes[to], nullptr, 1),
                CUDA_SUCCESS);
    return graph;
  };
  const CUgraph built = empty_nodes({{0, 1}, {0, 2}});
  EXPECT_TRUE(can_update(built, empty_nodes({{0, 2}, {0, 1}})));
  EXPECT_FALSE(can_update(built, empty_nodes({{0, 1}, {1, 2}})));
  EXPECT_FALSE(can_update(built, empty_nodes({{0, 1}})));
  // The second kernel may start early in one of them.
  EXPECT_FALSE(can_update(chain({{}, early()}), chain({{}, {}})));
  EXPECT_TRUE(can_update(chain({{}, early()}), chain({{}, early()})));
}

TEST_F(Ranks, DriversWithoutDataOfEdgesCompareTheRest) {
  Driver table = driver;
  table.cuGraphGetEdges = nullptr;
  EXPECT_TRUE(can_update(table, chain({{}, {}}), chain({{}, {}})));
  EXPECT_FALSE(can_update(table, chain({{}, clusters_of(2)}), chain({{}, {}})));
}

/// A driver may know an attribute for some devices only.
TEST_F(Ranks, RefusedQueriesMustBeEqual) {
  static int refused = 0;
  Driver table = driver;
  table.cuGraphKernelNodeGetAttribute = [](CUgraphNode node, CUlaunchAttributeID id,
                                           CUlaunchAttributeValue* value) {
    return --refused >= 0 ? CUDA_ERROR_NOT_SUPPORTED
                          : host::host_driver().cuGraphKernelNodeGetAttribute(node, id, value);
  };
  for (const int number : {0, 1, 2, 3}) {
    refused = number;
    EXPECT_EQ(can_update(table, chain({{}}), chain({{}})), number % 2 == 0) << number;
  }
}

/// The parameter: the kernel is in a child graph of the recording.
class RankedReplays : public Ranks, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Ranks::SetUp();
    registered.emplace("ranks", OpaqueFunction{.enqueue = [this](const OpaqueCall& call) {
                         const auto x = reinterpret_cast<CUdeviceptr>(call.inputs[0].data);
                         const auto y = reinterpret_cast<CUdeviceptr>(call.outputs[0].data);
                         const auto on = static_cast<CUstream>(call.stream);
                         const auto blocks = static_cast<unsigned>(call.outputs[0].elements());
                         ++calls;
                         return static_cast<int>(GetParam()
                                                     ? launch_as_graph(on, x, y, attributes, blocks)
                                                     : launch(on, x, y, attributes, blocks));
                       }});
    context.emplace(compile(parse(kRanks), device, options).context());
  }
  void TearDown() override {
    context.reset();
    Ranks::TearDown();
  }
  /// A replay with new arrays: 0, 10, 20, … and the ranks.
  std::vector<float> replay(std::int64_t count = kBlocks) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(10 * i));
    const Array y = device.empty(f32, {count});
    arrays_.push_back(upload(values));
    context->replay(stream, {{"x", arrays_.back()}}, {{"y", y}});
    return download(y);
  }
  static std::vector<float> ranks(unsigned cluster) {
    std::vector<float> values;
    for (unsigned i = 0; i < kBlocks; ++i)
      values.push_back(static_cast<float>(10 * i + i % cluster));
    return values;
  }
  std::int64_t builds() const { return context->counters().graph_builds; }

  Attributes attributes;
  std::optional<Registered> registered;
  std::optional<Context> context;

 private:
  std::vector<Array> arrays_;  // alive, so that the next array has another address
};

TEST_P(RankedReplays, EqualAttributesArePatched) {
  attributes = clusters_of(2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(replay(), ranks(2));
  EXPECT_EQ(builds(), 1);
  EXPECT_EQ(context->counters().patched_nodes, 2);
  EXPECT_EQ(calls, 3);
}

TEST_P(RankedReplays, AnotherClusterSizeBuildsTheGraphAgain) {
  std::int64_t expected = 0;
  for (const unsigned size : {2U, 4U, 1U, 8U, 2U}) {
    attributes = clusters_of(size);
    EXPECT_EQ(replay(), ranks(size)) << size;
    EXPECT_EQ(builds(), ++expected) << size;
    EXPECT_EQ(replay(), ranks(size)) << size;
    EXPECT_EQ(builds(), expected) << size;
  }
}

TEST_P(RankedReplays, ACooperativeLaunchBuildsTheGraphAgain) {
  std::int64_t expected = 0;
  for (const bool is_cooperative : {false, true, false}) {
    attributes = is_cooperative ? cooperative() : Attributes{};
    EXPECT_EQ(replay(1), std::vector<float>{0});
    EXPECT_EQ(builds(), ++expected);
  }
}

/// A refused query leaves a doubt, so the graph is built again. Another failure is an error.
TEST_P(RankedReplays, QueriesMayFail) {
  attributes = clusters_of(2);
  EXPECT_EQ(replay(), ranks(2));
  host::inject_fault("cuGraphKernelNodeGetAttribute", 2, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(replay(), ranks(2));
  EXPECT_EQ(builds(), 2);
  for (const char* const call :
       {"cuGraphKernelNodeGetAttribute", "cuGraphNodeGetType", "cuGraphGetEdges", "cuGraphGetNodes",
        "cuGraphChildGraphNodeGetGraph"}) {
    for (int nth = 1; nth <= 2; ++nth) {
      host::reset_counters();
      EXPECT_EQ(replay(), ranks(2));
      if (static_cast<int>(host::calls(call)) < nth) continue;
      host::inject_fault(call, nth, CUDA_ERROR_UNKNOWN);
      EXPECT_THAT(
          error_of<DriverError>([&] { replay(); }),
          AllOf(HasSubstr(fmt::format("{} failed on the host device for opaque ranks", call)),
                HasSubstr("CUDA_ERROR_UNKNOWN")));
    }
    EXPECT_EQ(replay(), ranks(2)) << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Places, RankedReplays, testing::Bool(), [](const auto& place) {
  return place.param ? "InAChildGraph" : "InTheRecording";
});

}  // namespace
}  // namespace sinter::test::recorded_graphs_test
