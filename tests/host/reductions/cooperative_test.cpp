// Cooperative kernels from their source to launches, CUDA Graphs, tuning and the report. No launch
// has more blocks than can be resident at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/plan.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/device/launch_grid.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/context_state.h"
#include "runtime/execution/make_variant.h"
#include "runtime/execution/variant_report.h"
#include "runtime/tuning/measure_candidates.h"
#include "sinter/sinter.h"

namespace sinter::cooperative_test {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::IsEmpty;

Graph doubled() {
  Graph graph("doubled");
  const Extent n = graph.extent("n");
  graph.output("y", graph.input("x", f32, {n}) * 2.0);
  return graph;
}

/// y = 2 x in two phases: the first stores x in reverse order. One element per block and iteration.
Source two_phases(const Program& program, const std::string& entry) {
  const bool is_input_first = program.buffers[0].kind == Buffer::Kind::input;
  const Extent n = program.buffers[0].elements;
  using Kind = Argument::Kind;
  return {.entry = entry,
          .text = "extern \"C\" __global__ void __launch_bounds__(32) " + entry + R"((
    const float* x, float* y, const long long n, float* reversed, unsigned* arrivals) {
  for (long long i = blockIdx.x; i < n; i += gridDim.x)
    if (threadIdx.x == 0) store_workspace(reversed, n - 1 - i, load(x, i));
  grid_barrier(arrivals);
  grid_depart(arrivals);
  for (long long i = blockIdx.x; i < n; i += gridDim.x)
    if (threadIdx.x == 0) store(y, i, 2.0f * load_workspace(reversed, n - 1 - i));
}
)",
          .arguments = {{.kind = Kind::buffer, .index = is_input_first ? 0 : 1, .c_type = "float*"},
                        {.kind = Kind::buffer, .index = is_input_first ? 1 : 0, .c_type = "float*"},
                        {.kind = Kind::extent, .extent = n, .c_type = "long long"},
                        {.kind = Kind::workspace, .c_type = "float*"},
                        {.kind = Kind::tickets, .c_type = "unsigned*"}},
          .grid = n,
          .threads = 32,
          .workspace_bytes = n * 4,
          .tickets = 1,
          .has_barrier = true,
          .is_cooperative = true};
}

class Cooperative : public ::testing::Test {
 protected:
  Cooperative() { host::configure({.workers = 3}); }
  ~Cooperative() override { host::configure({}); }

  CompileResult compile_sources(const std::vector<Source>& sources) {
    const std::vector<CompileUnit> units = {{sources}};
    return device.state()->compile_service.get(*device.state()).compile(units, {})[0];
  }

  std::shared_ptr<const Variant> make_variant(const VariantRequest& request) {
    auto variant = std::make_shared<Variant>();
    variant->program = plan(graph, device.state()->target, {.symbols = request.symbols});
    const Source source = two_phases(variant->program, "two_phases");
    const CompileResult compiled = compile_sources({source});
    const CUfunction function = compiled.unit->functions[0].handle;
    variant->kernels.push_back(
        {.source = source,
         .function = function,
         .grid_limit = cooperative_grid_limit(*device.state(), source, function),
         .unit = compiled.unit});
    variant->report = report_of(*variant, request, {{compiled}}, {{TuneResult{}}});
    return variant;
  }

  Executable make_executable() {
    auto state = std::make_shared<ExecutableState>(*device.state(), interface_of(graph, {}));
    state->check_sizes = [](std::span<const std::int64_t>) {};
    state->make_variant = [this](const VariantRequest& request) { return make_variant(request); };
    return Executable(std::move(state));
  }

  /// Doubles n numbers and checks the result.
  void double_them(Context& context, std::int64_t n, bool as_graph) {
    std::vector<float> values, expected;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
    for (const float value : values) expected.push_back(2 * value);
    const Array x = device.empty(f32, {n}), y = device.empty(f32, {n});
    device.upload(x, values, stream);
    host::reset_counters();
    if (as_graph)
      context.replay(stream, {{"x", x}}, {{"y", y}});
    else
      context.run(stream, {{"x", x}}, {{"y", y}});
    EXPECT_EQ(device.download<float>(y, stream), expected);
  }
  static std::vector<unsigned> grids() {
    std::vector<unsigned> result;
    for (const host::Launch& launch : host::counters().launches) result.push_back(launch.grid[0]);
    return result;
  }

  Graph graph = doubled();
  Device device = host_device();
  Stream stream = device.stream();
};

TEST_F(Cooperative, LaunchesHaveOnlyResidentBlocks) {
  const Executable executable = make_executable();
  Context context = executable.context();
  for (const bool as_graph : {false, true}) {
    double_them(context, 100, as_graph);
    EXPECT_EQ(grids(), std::vector<unsigned>{3});
    double_them(context, 2, as_graph);
    EXPECT_EQ(grids(), std::vector<unsigned>{2});
    double_them(context, 0, as_graph);
    EXPECT_EQ(grids(), std::vector<unsigned>{});
    double_them(context, 4, as_graph);
    EXPECT_EQ(grids(), std::vector<unsigned>{3});
  }
}

TEST_F(Cooperative, GraphNodesArePatched) {
  const Executable executable = make_executable();
  Context context = executable.context();
  double_them(context, 100, /*as_graph=*/true);
  double_them(context, 2, /*as_graph=*/true);
  double_them(context, 7, /*as_graph=*/true);
  EXPECT_EQ(context.counters().graph_builds, 1);
  EXPECT_EQ(context.counters().graph_launches, 3);
}

TEST_F(Cooperative, ReportHasTheLaunchedBlocks) {
  const auto grid = [&](std::int64_t n) {
    return make_variant({.symbols = {n}})->report.kernels.at(0).grid;
  };
  EXPECT_EQ(grid(100), 3);
  EXPECT_EQ(grid(2), 2);
  EXPECT_EQ(grid(0), 0);
}

TEST_F(Cooperative, GridLimitIsQueriedPerVariant) {
  const Program program =
      plan(graph, device.state()->target, {.symbols = std::vector<std::int64_t>{9}});
  Source source = two_phases(program, "two_phases");
  const CUfunction function = compile_sources({source}).unit->functions[0].handle;
  EXPECT_EQ(cooperative_grid_limit(*device.state(), source, function), 3);
  host::configure({.workers = 1});
  EXPECT_EQ(cooperative_grid_limit(*device.state(), source, function), 1);
  source.is_cooperative = false;
  EXPECT_EQ(cooperative_grid_limit(*device.state(), source, function), 0);
}

TEST_F(Cooperative, CandidatesAreTunedWithTheLaunchedGrid) {
  const std::vector<std::int64_t> symbols = {1000};
  const Program program = plan(graph, device.state()->target, {.symbols = symbols});
  const std::vector<Source> sources = {two_phases(program, "first"), two_phases(program, "second")};
  const std::vector<Schedule> schedules(2);
  const CompileResult compiled = compile_sources(sources);
  host::reset_counters();
  const TuneResult result = measure_candidates(*device.state(),
                                               {.program = program,
                                                .kernel = program.kernels[0],
                                                .sources = sources,
                                                .schedules = schedules,
                                                .unit = *compiled.unit,
                                                .symbols = symbols},
                                               Tune::quick);
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::problem, IsEmpty())));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::median_us, Gt(0.0))));
  EXPECT_THAT(grids(), Each(3U));
}

}  // namespace
}  // namespace sinter::cooperative_test
