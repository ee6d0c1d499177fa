// Tuning on a GPU: candidates with early starts, and candidates with another result.
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

/// The source of a kernel with another name and constant.
Source edited(Source source, const std::string& name, const std::string& constant) {
  const auto replace = [&](const std::string& old, const std::string& by) {
    std::size_t places = 0;
    for (std::size_t at = 0; (at = source.text.find(old, at)) != std::string::npos;
         at += by.size(), ++places)
      source.text.replace(at, old.size(), by);
    EXPECT_GT(places, 0U) << old << " in " << source.text;
  };
  replace(source.entry, source.entry + name);
  replace("3.0f", constant);
  source.entry += name;
  source.code_key = source.text;
  return source;
}

/// Few results are compared on the host, many on the GPU.
class DifferingCandidateGpu : public testing::TestWithParam<std::int64_t> {};

TEST_P(DifferingCandidateGpu, IsDropped) {
  const Device device = default_device();
  if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
  DeviceState& state = *device.state();
  if (GetParam() > 1000 && device.name().starts_with("virtual GPU") &&
      state.target.compute_capability != 90)
    GTEST_SKIP() << "an interpreter of PTX takes long, and all architectures have equal code here";
  const std::vector<std::int64_t> symbols = {GetParam()};
  const Program program = plan(parse(R"(
graph doubled(x: f32[n]) {
  y = mul x, 3.0
  return y
})"),
                               state.target, {.symbols = symbols});
  EmittedKernel emitted = emit_candidates(program, program.kernels.at(0), /*most=*/1);
  emitted.sources.resize(1);
  emitted.sources.push_back(edited(emitted.sources[0], "_other", "3.0000002f"));
  emitted.sources.push_back(edited(emitted.sources[0], "_same", "3.00f"));
  emitted.schedules.assign(3, emitted.schedules.at(0));
  const std::vector<CompileUnit> units = {{emitted.sources}};
  const CompiledUnitPointer unit = state.compile_service.get(state)
                                       .compile(units, {.arch = nvrtc_arch(state.arch, /*ptx=*/true)})
                                       .at(0)
                                       .unit;
  const TuneResult result = measure_candidates(state,
                                               {.program = program,
                                                .kernel = program.kernels[0],
                                                .sources = emitted.sources,
                                                .schedules = emitted.schedules,
                                                .unit = *unit,
                                                .symbols = symbols},
                                               Tune::quick);
  EXPECT_EQ(result.candidates.at(1).problem,
            "its result differs from the default's: a bug in sinter, please report it");
  EXPECT_TRUE(result.candidates[1].differs);
  EXPECT_EQ(result.candidates[1].median_us, 0);
  EXPECT_NE(result.chosen, 1);
  EXPECT_FALSE(result.candidates.at(2).differs) << result.candidates[2].problem;
}

INSTANTIATE_TEST_SUITE_P(Elements, DifferingCandidateGpu, testing::Values(1000, (4 << 20) + 1));

}  // namespace
}  // namespace sinter::tuning_modes_gpu_test
