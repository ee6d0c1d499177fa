// Calls of user functions that launch other kernels at a later replay, or launch them with other
// attributes. The graph is built again only if it cannot be updated.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device_state.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/opaque.h"

namespace sinter::test::opaque_gpu_test {
namespace {

/// `size` adds the number of blocks of the cluster. `early` waits and then does the same. `size_2`
/// and `size_4` do it in clusters that they require.
std::string ptx() {
  std::string text = ".version 7.8\n.target sm_90\n.address_size 64\n";
  const auto add = [&](const char* name, const char* directives, const char* first) {
    text += std::string(".visible .entry ") + name + "(.param .u64 x, .param .u64 y) " +
            directives + R"( {
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %cluster_nctaid.x;
  mov.u32 %r2, %ctaid.x;
  mad.wide.u32 %rd3, %r2, 4, %rd1;
  mad.wide.u32 %rd4, %r2, 4, %rd2;
  )" + first +
            R"(
  ld.global.u32 %r3, [%rd3];
  add.u32 %r3, %r3, %r1;
  st.global.u32 [%rd4], %r3;
  ret;
}
)";
  };
  add("size", "", "");
  add("early", "", "griddepcontrol.wait;");
  add("size_2", ".explicitcluster .reqnctapercluster 2, 1, 1", "");
  add("size_4", ".explicitcluster .reqnctapercluster 4, 1, 1", "");
  return text;
}

constexpr const char* kProgram = R"(
graph sizes(x: i32[n]) {
  y = opaque sizes x : i32[n]
  return y
})";

constexpr std::int64_t kBlocks = 16;

/// One launch of a recording.
struct Launch {
  const char* kernel = "size";
  unsigned cluster = 0;  ///< 0: without the attribute
  bool is_cooperative = false;
  bool is_early = false;
};

/// The function launches kernels one behind the other. The parameter: they are in a graph, whose
/// launch it puts on the stream.
class GpuOpaque : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (state().target.max_cluster <= 1) GTEST_SKIP() << "the device has no clusters";
    current.emplace(state());
    ASSERT_EQ(driver().cuModuleLoadData(&module, ptx().c_str()), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamCreate(&inner, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    registered.emplace("sizes", OpaqueFunction{.enqueue = [this](const OpaqueCall& call) {
                         return static_cast<int>(GetParam() ? put_graph(call) : put(call));
                       }});
    stream.emplace(default_device().stream());
    context.emplace(compile(parse(kProgram), default_device(), {.tune = Tune::off}).context());
  }
  void TearDown() override {
    if (!current) return;
    if (stream) stream->synchronize();
    context.reset();
    for (const CUgraphExec exec : execs) driver().cuGraphExecDestroy(exec);
    for (const CUgraph graph : graphs) driver().cuGraphDestroy(graph);
    if (inner) driver().cuStreamDestroy(inner);
    if (module) driver().cuModuleUnload(module);
  }

  static DeviceState& state() { return *default_device().state(); }
  static const Driver& driver() { return state().driver; }

  CUresult put(const Launch& launch, CUdeviceptr x, CUdeviceptr y, CUstream on) const {
    CUfunction function = nullptr;
    const CUresult found = driver().cuModuleGetFunction(&function, module, launch.kernel);
    if (found != CUDA_SUCCESS) return found;
    CUlaunchAttribute attributes[3] = {};
    unsigned count = 0;
    if (launch.cluster > 0) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[count++].value.clusterDim = {.x = launch.cluster, .y = 1, .z = 1};
    }
    if (launch.is_cooperative) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[count++].value.cooperative = 1;
    }
    if (launch.is_early) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attributes[count++].value.programmaticStreamSerializationAllowed = 1;
    }
    const CUlaunchConfig config{.gridDimX = kBlocks,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = 0,
                                .hStream = on,
                                .attrs = attributes,
                                .numAttrs = count};
    void* parameters[] = {&x, &y};
    return driver().cuLaunchKernelEx(&config, function, parameters, nullptr);
  }
  CUresult put(const OpaqueCall& call, CUstream on) const {
    auto x = reinterpret_cast<CUdeviceptr>(call.inputs[0].data);
    const auto y = reinterpret_cast<CUdeviceptr>(call.outputs[0].data);
    for (const Launch& launch : launches) {
      const CUresult result = put(launch, x, y, on);
      if (result != CUDA_SUCCESS) return result;
      x = y;
    }
    return CUDA_SUCCESS;
  }
  CUresult put(const OpaqueCall& call) const {
    return put(call, static_cast<CUstream>(call.stream));
  }
  CUresult put_graph(const OpaqueCall& call) {
    CUresult result = driver().cuStreamBeginCapture(inner, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result != CUDA_SUCCESS) return result;
    result = put(call, inner);
    graphs.push_back(nullptr);
    const CUresult ended = driver().cuStreamEndCapture(inner, &graphs.back());
    if (result != CUDA_SUCCESS || ended != CUDA_SUCCESS)
      return result != CUDA_SUCCESS ? result : ended;
    execs.push_back(nullptr);
    result = driver().cuGraphInstantiateWithFlags(&execs.back(), graphs.back(), 0);
    if (result != CUDA_SUCCESS) return result;
    return driver().cuGraphLaunch(execs.back(), static_cast<CUstream>(call.stream));
  }

  /// Replays with new arrays, and expects `added` in each element.
  void expect_replay(const std::vector<Launch>& next, int added) {
    launches = next;
    std::vector<std::int32_t> values, expected;
    for (std::int32_t i = 0; i < kBlocks; ++i) {
      values.push_back(100 * i);
      expected.push_back(100 * i + added);
    }
    const Device device = default_device();
    for (int i = 0; i < 2; ++i) arrays.push_back(device.empty(i32, {kBlocks}));
    const Array& x = arrays[arrays.size() - 2];
    const Array& y = arrays.back();
    device.upload(x, values, *stream);
    context->replay(*stream, {{"x", x}}, {{"y", y}});
    EXPECT_EQ(device.download<std::int32_t>(y, *stream), expected);
  }
  std::int64_t builds() const { return context->counters().graph_builds; }

  std::optional<CurrentContext> current;
  CUmodule module = nullptr;
  CUstream inner = nullptr;
  std::vector<CUgraph> graphs;
  std::vector<CUgraphExec> execs;
  std::vector<Launch> launches;
  std::vector<Array> arrays;  // alive, so that the next array has another address
  std::optional<Registered> registered;
  std::optional<Stream> stream;
  std::optional<Context> context;
};

TEST_P(GpuOpaque, EqualAttributesArePatched) {
  const std::vector<Launch> launches = {{.cluster = 2}, {}, {.cluster = 4}};
  for (int i = 0; i < 3; ++i) expect_replay(launches, 2 + 1 + 4);
  EXPECT_EQ(builds(), 1);
  EXPECT_EQ(context->counters().patched_nodes, 2);
}

TEST_P(GpuOpaque, AnotherClusterSizeBuildsTheGraphAgain) {
  std::int64_t expected = 0;
  for (const int size : {2, 4, 1, 8, 2}) {
    const std::vector<Launch> launches = {{.cluster = static_cast<unsigned>(size)}};
    expect_replay(launches, size);
    EXPECT_EQ(builds(), ++expected) << size;
    expect_replay(launches, size);
    EXPECT_EQ(builds(), expected) << size;
  }
  expect_replay({{}}, 1);
  EXPECT_EQ(builds(), ++expected);
}

TEST_P(GpuOpaque, OneOfSeveralKernelsMayHaveAnotherClusterSize) {
  expect_replay({{.cluster = 2}, {.cluster = 4}, {}}, 2 + 4 + 1);
  expect_replay({{.cluster = 2}, {.cluster = 8}, {}}, 2 + 8 + 1);
  expect_replay({{.cluster = 8}, {.cluster = 2}, {}}, 8 + 2 + 1);
  EXPECT_EQ(builds(), 3);
}

TEST_P(GpuOpaque, ACooperativeLaunchBuildsTheGraphAgain) {
  std::int64_t expected = 0;
  for (const bool is_cooperative : {false, true, false}) {
    expect_replay({{.is_cooperative = is_cooperative}}, 1);
    EXPECT_EQ(builds(), ++expected);
    expect_replay({{.is_cooperative = is_cooperative}}, 1);
    EXPECT_EQ(builds(), expected);
  }
}

/// A kernel that does not wait itself must not begin before the one in front of it has ended.
TEST_P(GpuOpaque, EarlyStartsBuildTheGraphAgain) {
  std::int64_t expected = 0;
  const std::vector<Launch> early = {{}, {.kernel = "early", .is_early = true}};
  for (const auto& launches : {early, {{}, {}}, early}) {
    expect_replay(launches, 2);
    EXPECT_EQ(builds(), ++expected);
    expect_replay(launches, 2);
    EXPECT_EQ(builds(), expected);
  }
}

/// The cluster size of a function is no attribute of its node.
TEST_P(GpuOpaque, FunctionsMayRequireOtherClusterSizes) {
  for (const int size : {2, 4, 1, 2})
    expect_replay({{.kernel = size == 2 ? "size_2" : size == 4 ? "size_4" : "size"}}, size);
}

INSTANTIATE_TEST_SUITE_P(Places, GpuOpaque, testing::Bool(), [](const auto& place) {
  return place.param ? "InAGraph" : "OnTheStream";
});

}  // namespace
}  // namespace sinter::test::opaque_gpu_test
