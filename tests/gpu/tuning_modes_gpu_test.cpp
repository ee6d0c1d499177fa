// Tuning launches kernels as graph nodes and with early starts, on a GPU.
#include <gtest/gtest.h>

#include <vector>

#include "compiler/plan.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/execution/make_variant.h"
#include "runtime/tuning/measure_candidates.h"
#include "sinter/sinter.h"

namespace sinter::tuning_modes_gpu_test {
namespace {

TEST(TuningModesGpu, EarlyStartsAreTimed) {
  const Device device = default_device();
  if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
  DeviceState& state = *device.state();
  if (state.target.compute_capability < 90) GTEST_SKIP() << "the GPU has no early starts";
  const std::vector<std::int64_t> symbols = {8};
  const Program program = plan(parse(R"(
graph rows(x: f32[n, 1024]) {
  y = softmax x {axis = 1}
  return y
})"),
                               state.target, {.symbols = symbols});
  const EmittedKernel emitted = emit_candidates(program, program.kernels.at(0), /*most=*/3);
  const std::vector<CompileUnit> units = {{emitted.sources}};
  CompiledUnit unit = *state.compile_service.get(state)
                           .compile(units, {.arch = nvrtc_arch(state.arch, /*ptx=*/true)})
                           .at(0)
                           .unit;
  // The runtime starts no kernel in PTX early. Here the first statement of each kernel waits, and
  // ptxas keeps this order in these kernels.
  for (CompiledFunction& function : unit.functions) function.starts_early = true;
  const TuneResult result = measure_candidates(state,
                                               {.program = program,
                                                .kernel = program.kernels[0],
                                                .sources = emitted.sources,
                                                .schedules = emitted.schedules,
                                                .unit = unit,
                                                .symbols = symbols},
                                               Tune::quick);
  EXPECT_GT(result.rounds, 0) << result.summary;
  for (const CandidateReport& candidate : result.candidates) {
    EXPECT_EQ(candidate.problem, "") << candidate.schedule;
    EXPECT_GT(candidate.median_us, 0) << candidate.schedule;
  }
}

}  // namespace
}  // namespace sinter::tuning_modes_gpu_test
