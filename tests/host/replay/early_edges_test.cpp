// Programmatic edges of replayed graphs: which edges have the type, and that each edge matters.
#include <gmock/gmock.h>

#include <optional>

#include "tests/host/execution/captured_fixture.h"
#include "tests/support/doubles/graph_edges.h"

namespace sinter::test::early_edges_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// The edges that the runtime asked the driver for, in the order of the calls.
struct Spy {
  std::vector<bool> programmatic = {};     ///< of each edge
  std::vector<test::GraphEdge> ends = {};  ///< of programmatic edges
  int dropped = -1;                        ///< the edge that does not reach the driver
  bool refuses = false;                    ///< edges with data are not supported

  void restart() { programmatic.clear(); }
  bool keeps(bool is_programmatic) {
    programmatic.push_back(is_programmatic);
    return static_cast<int>(programmatic.size()) - 1 != dropped;
  }
};
Spy& spy() {
  static Spy one;
  return one;
}

std::vector<CUgraphNode> kept(const CUgraphNode* nodes, std::size_t count) {
  std::vector<CUgraphNode> result;
  for (std::size_t i = 0; i < count; ++i)
    if (spy().keeps(/*is_programmatic=*/false)) result.push_back(nodes[i]);
  return result;
}

CUresult add_kernel(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                    std::size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  const std::vector<CUgraphNode> rest = kept(dependencies, count);
  return host::host_driver().cuGraphAddKernelNode(node, graph, rest.data(), rest.size(),
                                                  parameters);
}

CUresult add_empty(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count) {
  const std::vector<CUgraphNode> rest = kept(dependencies, count);
  return host::host_driver().cuGraphAddEmptyNode(node, graph, rest.data(), rest.size());
}

CUresult add_child(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, CUgraph child) {
  const std::vector<CUgraphNode> rest = kept(dependencies, count);
  return host::host_driver().cuGraphAddChildGraphNode(node, graph, rest.data(), rest.size(), child);
}

CUresult add_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                   const CUgraphEdgeData* data, std::size_t count) {
  if (spy().refuses) return CUDA_ERROR_NOT_SUPPORTED;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(data[i].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    EXPECT_EQ(data[i].from_port, kGraphKernelNodePortProgrammatic);
    spy().ends.emplace_back(from[i], to[i]);
    if (!spy().keeps(/*is_programmatic=*/true)) continue;
    const CUresult result =
        host::host_driver().cuGraphAddDependencies(graph, from + i, to + i, data + i, 1);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

/// A host device whose driver reports edges to the spy. An old driver has no edges with data.
template <bool is_old>
Device watched_device() {
  static const Driver driver = [] {
    Driver table = host::host_driver();
    table.cuGraphAddKernelNode = add_kernel;
    table.cuGraphAddEmptyNode = add_empty;
    table.cuGraphAddChildGraphNode = add_child;
    table.cuGraphAddDependencies = is_old ? nullptr : add_edges;
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  return Device(&state);
}

/// Kernels that depend on one another directly, through others and by reused memory.
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
  i = mul h, 0.25
  s = sum i {keep = true}
  j = mul i, s
  k = add j, 1.0
  return k, g
})";

class EarlyEdges : public testing::Test {
 protected:
  void SetUp() override {
    spy() = {};
    host::configure({});
  }
  void TearDown() override {
    spy() = {};
    stream.synchronize();
    host::configure({});
  }

  static Options options(bool counts = true) {
    Options result{.tune = Tune::off, .fuse = false, .optimize_host = false};
    result.count = counts;
    return result;
  }
  Array upload(float value, std::int64_t elements) const {
    const Array array = device.empty(f32, {elements});
    device.upload(array, std::vector<float>(static_cast<std::size_t>(elements), value), stream);
    return array;
  }
  /// The results of a replay on inputs that depend on `step`.
  std::vector<float> replay(Context& context, int step, std::int64_t n = 200) const {
    const Array k = device.empty(f32, {n}), g = device.empty(f32, {n});
    const float x = 0.5F + 0.125F * static_cast<float>(step);
    context.replay(stream, {{"x", upload(x, n)}, {"y", upload(2 * x, n)}}, {{"k", k}, {"g", g}});
    std::vector<float> result = device.download<float>(k, stream);
    const std::vector<float> more = device.download<float>(g, stream);
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  Device device = watched_device<false>();
  Stream stream = device.stream();
};

TEST_F(EarlyEdges, JoinKernelsThatWait) {
  const Executable executable = compile(parse(kBranches), device, options());
  Context context = executable.context();
  const std::vector<float> expected = replay(context, 0);
  EXPECT_GT(spy().programmatic.size(), 10U);
  EXPECT_THAT(spy().programmatic, Each(true));
  Context other = compile(parse(kBranches), device, {.tune = Tune::off}).context();
  EXPECT_EQ(replay(other, 0), expected);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    host::configure({.seed = seed});
    EXPECT_EQ(replay(context, 0), expected) << seed;
  }
}

/// Each dropped edge gives a wrong result under some seed, unless others imply it.
TEST_F(EarlyEdges, EachOfThemIsNecessary) {
  constexpr int kSeeds = 60;
  const Executable executable = compile(parse(kBranches), device, options());
  std::vector<std::vector<float>> expected;
  {
    Context context = executable.context();
    for (int step = 0; step < kSeeds; ++step) expected.push_back(replay(context, step));
  }
  const Spy whole = spy();
  int necessary = 0;
  for (int edge = -1; edge < static_cast<int>(whole.ends.size()); ++edge) {
    spy() = {.dropped = edge};
    Context context = executable.context();
    int first_wrong = -1;
    for (int step = 0; step < kSeeds && first_wrong < 0; ++step) {
      host::configure({.seed = static_cast<std::uint64_t>(step)});
      if (replay(context, step) != expected[static_cast<std::size_t>(step)]) first_wrong = step;
    }
    const bool is_implied =
        edge < 0 || test::is_implied(whole.ends, static_cast<std::size_t>(edge));
    EXPECT_EQ(first_wrong < 0, is_implied) << "edge " << edge;
    necessary += !is_implied;
  }
  EXPECT_GE(necessary, 10);
}

/// A driver before CUDA 12.3, or one that refuses the edges, gets full ones. They are necessary
/// too.
TEST_F(EarlyEdges, AreFullOnDriversWithoutThem) {
  Context usual = compile(parse(kBranches), device, options()).context();
  const std::vector<float> expected = replay(usual, 3);
  const std::size_t edges = spy().programmatic.size();
  spy() = {.refuses = true};
  Context refused = compile(parse(kBranches), device, options()).context();
  EXPECT_EQ(replay(refused, 3), expected);
  EXPECT_THAT(spy().programmatic, Each(false));
  EXPECT_EQ(spy().programmatic.size(), edges);
  EXPECT_EQ(refused.counters().graph_builds, 1);

  spy() = {};
  host::inject_fault("cuGraphInstantiateWithFlags", 1, CUDA_ERROR_NOT_SUPPORTED);
  Context not_instantiated = compile(parse(kBranches), device, options()).context();
  EXPECT_EQ(replay(not_instantiated, 3), expected);
  EXPECT_EQ(std::ranges::count(spy().programmatic, false), static_cast<std::ptrdiff_t>(edges));

  device = watched_device<true>();
  stream = device.stream();
  spy() = {};
  Context old = compile(parse(kBranches), device, options()).context();
  EXPECT_EQ(replay(old, 3), expected);
  EXPECT_THAT(spy().programmatic, Each(false));
  EXPECT_EQ(spy().programmatic.size(), edges);
}

/// GPUs before sm_90 have no early starts.
TEST_F(EarlyEdges, AreFullIfKernelsDoNotWait) {
  Options old = options();
  old.target = "a100";
  Context context = compile(parse(kBranches), device, old).context();
  replay(context, 1);
  EXPECT_GT(spy().programmatic.size(), 10U);
  EXPECT_THAT(spy().programmatic, Each(false));
}

TEST_F(EarlyEdges, AreFullAtCallsOfOtherLibraries) {
  const Registered plus("plus", {.enqueue = [](const OpaqueCall& call) {
                          const HostElements x(call.inputs[0]);
                          const HostElements y(call.outputs[0]);
                          const std::int64_t count = call.outputs[0].elements();
                          call.on_host([=] {
                            for (std::int64_t i = 0; i < count; ++i) y.set(i, x.get(i) + 1);
                          });
                          return 0;
                        }});
  Context context = compile(parse(R"(
graph called(x: f32[n]) {
  a = mul x, 2.0
  b = mul a, a
  c = opaque plus b : f32[n]
  d = mul c, 3.0
  e = add d, a
  return e
})"),
                            device, options())
                        .context();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    host::configure({.seed = seed});
    const Array e = device.empty(f32, {64});
    context.replay(stream, {{"x", upload(1, 64)}}, {{"e", e}});
    EXPECT_THAT(device.download<float>(e, stream), Each(17.0F)) << seed;
  }
  // a -> b -> the call -> d -> e, and a -> e.
  EXPECT_EQ(std::ranges::count(spy().programmatic, true), 3);
  EXPECT_EQ(std::ranges::count(spy().programmatic, false), 2);
}

/// Kernels without blocks become empty nodes, which are no kernel nodes.
TEST_F(EarlyEdges, AreFullAtEmptyKernels) {
  Context context = compile(parse(kBranches), device, options()).context();
  replay(context, 1);
  spy().restart();
  replay(context, 1, /*n=*/0);
  EXPECT_GT(std::ranges::count(spy().programmatic, false), 8);
  spy().restart();
  replay(context, 1);
  EXPECT_THAT(spy().programmatic, Each(true));
}

/// In a capture of the caller, the run is one node with full edges. Its inner edges are
/// programmatic.
TEST_F(EarlyEdges, AreFullAtTheBordersOfCapturedRuns) {
  const Executable executable = compile(parse(kBranches), device, options());
  Context context = executable.context();
  const std::vector<float> expected = replay(context, 2);
  const Array x = upload(0.75F, 200), y = upload(1.5F, 200);
  const Array k = device.empty(f32, {200}), g = device.empty(f32, {200}), z = upload(0, 200);
  spy().restart();
  const auto captured = std::make_optional<UserGraph>(stream, kGlobal, [&] {
    device.copy(z, k, stream);
    context.run(stream, {{"x", x}, {"y", y}}, {{"k", k}, {"g", g}});
    context.run(stream, {{"x", k}, {"y", g}}, {{"k", x}, {"g", y}});
    device.copy(x, z, stream);
  });
  // Each run has its inner edges, and one edge to the node before it.
  EXPECT_EQ(std::ranges::count(spy().programmatic, false), 2);
  EXPECT_GT(std::ranges::count(spy().programmatic, true), 20);
  std::optional<std::vector<float>> first;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    host::configure({.seed = seed});
    device.upload(x, std::vector<float>(200, 0.75F), stream);
    device.upload(y, std::vector<float>(200, 1.5F), stream);
    captured->launch(stream);
    std::vector<float> result = device.download<float>(k, stream);
    const std::vector<float> more = device.download<float>(g, stream);
    result.insert(result.end(), more.begin(), more.end());
    EXPECT_EQ(result, expected) << seed;
    result = device.download<float>(z, stream);
    if (!first) first = result;
    EXPECT_EQ(result, *first) << seed;
  }
}

/// Other pointers patch the nodes, whose edges stay.
TEST_F(EarlyEdges, StayWhenNodesArePatched) {
  const Executable executable = compile(parse(kBranches), device, options());
  Context context = executable.context();
  const std::vector<float> expected = replay(context, 0);
  std::vector<Array> kept;  // so that new arrays have other addresses
  for (int step = 0; step < 20; ++step) {
    host::configure({.seed = static_cast<std::uint64_t>(step)});
    kept.push_back(device.empty(f32, {100 + step}));
    EXPECT_EQ(replay(context, 0), expected) << step;
  }
  EXPECT_EQ(context.counters().graph_builds, 1);
  EXPECT_GT(context.counters().patched_nodes, 0);
}

TEST_F(EarlyEdges, ReportFailuresOfTheDriver) {
  const Executable executable = compile(parse(kBranches), device, options());
  Context context = executable.context();
  host::inject_fault("cuGraphAddDependencies", 1, CUDA_ERROR_INVALID_VALUE);
  try {
    replay(context, 1);
    ADD_FAILURE() << "the call failed without an error";
  } catch (const DriverError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuGraphAddDependencies failed on the host device for a "
                                        "graph of "));
  }
  host::clear_faults();
  Context other = executable.context();
  EXPECT_EQ(replay(context, 1), replay(other, 1));
}

}  // namespace
}  // namespace sinter::test::early_edges_test
