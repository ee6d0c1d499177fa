// Measurement of candidates on the host device: which are measured or dropped, and that user data
// is unchanged.
#include "runtime/tuning/measure_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <vector>

#include "compiler/plan.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/make_variant.h"
#include "runtime/tuning/choose_candidate.h"
#include "runtime/tuning/verify_default_schedule.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::measure_candidates_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Graph doubled() {
  Graph graph("doubled");
  const Extent n = graph.extent("n");
  graph.output("y", graph.input("x", f32, {n}) * 2.0);
  return graph;
}

/// One kernel and its candidates, ready for tuning.
class TunedKernel : public ::testing::Test {
 protected:
  TunedKernel() {
    const Facts facts{.symbols = symbols};
    program = plan(doubled(), device.state()->target, facts);
    emitted = emit_candidates(program, program.kernels.at(0));
  }

  /// Adds a candidate whose text differs from the default's.
  void add_candidate(const std::string& from, const std::string& to) {
    Source source = emitted.sources[0];
    const std::string entry = source.entry + "_other";
    for (std::size_t at = 0; (at = source.text.find(source.entry, at)) != std::string::npos;
         at += entry.size())
      source.text.replace(at, source.entry.size(), entry);
    source.entry = entry;
    const std::size_t at = source.text.rfind(from);
    ASSERT_NE(at, std::string::npos) << source.text;
    source.text.replace(at, from.size(), to);
    source.code_key = source.text;  // otherwise the cached unit of another test would be used
    emitted.sources.push_back(source);
    emitted.schedules.push_back(emitted.schedules[0]);
  }

  TuneResult tune_it(Tune effort = Tune::quick, const Cancellation& cancellation = {}) {
    return tune_on(*device.state(), effort, cancellation);
  }
  TuneResult tune_on(DeviceState& state, Tune effort, const Cancellation& cancellation = {}) {
    const CompiledUnitPointer unit = compiled();
    return measure_candidates(state, request(*unit, cancellation), effort);
  }

  DefaultVerification verify_it() {
    const CompiledUnitPointer unit = compiled();
    return verify_default_schedule(*device.state(), request(*unit));
  }

  CompiledUnitPointer compiled() {
    const std::vector<CompileUnit> units = {{emitted.sources}};
    return device.state()->compile_service.get(*device.state()).compile(units, {})[0].unit;
  }
  TuneRequest request(const CompiledUnit& unit, const Cancellation& cancellation = {}) const {
    return {.program = program,
            .kernel = program.kernels[0],
            .sources = emitted.sources,
            .schedules = emitted.schedules,
            .unit = unit,
            .symbols = symbols,
            .cancellation = cancellation};
  }

  /// Replaces the default by a modified text.
  void change_default(const std::string& from, const std::string& to) {
    add_candidate(from, to);
    std::swap(emitted.sources.front(), emitted.sources.back());
  }

  Device device = host_device();
  std::vector<std::int64_t> symbols = {4096};
  Program program;
  EmittedKernel emitted;
};

TEST_F(TunedKernel, TimesEveryCandidate) {
  add_candidate("}", "  // the same work under another name\n}");
  const TuneResult result = tune_it();
  ASSERT_THAT(result.candidates, SizeIs(Ge(2U)));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::median_us, Gt(0.0))));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::gigabytes_per_second, Gt(0.0))));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::problem, IsEmpty())));
  EXPECT_TRUE(result.candidates[static_cast<std::size_t>(result.chosen)].chosen);
  EXPECT_THAT(result.summary, HasSubstr("candidates, "));
}

TEST_F(TunedKernel, VerifiesTheDefaultAtASmallSize) {
  const DefaultVerification verification = verify_it();
  EXPECT_EQ(verification.reason, "");
  EXPECT_TRUE(verification.passes);
  EXPECT_THAT(verification.summary,
              HasSubstr("at n = 7 7 elements are within the oracle's bounds"));
}

TEST_F(TunedKernel, DetectsAWrongDefault) {
  change_default("2.0f", "2.0000005f");
  const DefaultVerification verification = verify_it();
  EXPECT_FALSE(verification.passes);
  EXPECT_THAT(verification.summary, HasSubstr("at n = 7: y: "));
}

TEST_F(TunedKernel, DetectsADefaultThatSkipsElements) {
  change_default("store", "if (threadIdx.x != 1) store");
  EXPECT_FALSE(verify_it().passes);
}

TEST_F(TunedKernel, DoesNotVerifyOtherRoundings) {
  program.numerics.math = Math::fast;
  EXPECT_THAT(verify_it().reason, HasSubstr("may round in other ways"));
}

TEST_F(TunedKernel, DoesNotVerifyLargeSizeClasses) {
  program.guards.push_back({.value = program.graph->data().outputs[0].node->shape[0],
                            .low = (1 << 18) + 1,
                            .reason = "large"});
  symbols = {1 << 20};
  EXPECT_THAT(verify_it().reason, HasSubstr("more than 262144 elements at any size"));
}

TEST_F(TunedKernel, DropsACandidateWithAnotherResult) {
  add_candidate("2.0f", "2.0000002f");
  const TuneResult result = tune_it();
  EXPECT_EQ(result.candidates.back().problem,
            "its result differs from the default's: a bug in sinter, please report it");
  EXPECT_EQ(result.candidates.back().median_us, 0);
  EXPECT_NE(result.chosen, static_cast<int>(result.candidates.size()) - 1);
}

TEST_F(TunedKernel, DropsACandidateThatSkipsElements) {
  add_candidate("store", "if (threadIdx.x != 3) store");
  EXPECT_THAT(tune_it().candidates.back().problem, HasSubstr("its result differs"));
}

/// Cancellation is checked before each candidate and before each measurement.
TEST_F(TunedKernel, StopsBetweenSteps) {
  add_candidate("}", "  // the same work under another name\n}");
  const auto candidates = static_cast<int>(emitted.sources.size());
  tune_it();  // compiles the unit
  const auto launches_until = [&](int last_check) {
    int checks = 0;
    const auto launches = [] {
      constexpr std::uint64_t kCaptured = 2;  // launches in each capture
      return host::calls("cuGraphLaunch") + host::calls("cuLaunchKernelEx") -
             kCaptured * host::calls("cuStreamBeginCapture");
    };
    const std::uint64_t before = launches();
    EXPECT_THROW(tune_it(Tune::quick, {.is_abandoned = [&] { return ++checks == last_check; }}),
                 Cancelled);
    return launches() - before;
  };
  for (int check = 1; check <= 3 * candidates; ++check)
    EXPECT_EQ(launches_until(check), static_cast<std::uint64_t>(check - 1));
  std::stop_source end;
  end.request_stop();
  EXPECT_THROW(tune_it(Tune::quick, {.stop_token = end.get_token()}), Cancelled);
}

TEST_F(TunedKernel, TakesTheDefaultIfTuningIsOff) {
  add_candidate("}", "  // the same work under another name\n}");
  const std::uint64_t launches = host::calls("cuLaunchKernelEx");
  const CompiledUnitPointer unit = compiled();
  const TuneResult result = choose_candidate(*device.state(), device.state()->target,
                                             request(*unit), {.tune = Tune::off});
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.summary, "off: the heuristic's choice");
  EXPECT_EQ(host::calls("cuLaunchKernelEx"), launches);
}

TEST_F(TunedKernel, SkipsSlowTimingsOnTheHostDevice) {
  add_candidate("}", "  // the same work under another name\n}");
  symbols = {16 << 20};
  EXPECT_EQ(tune_it().summary, "not timed: 128 MiB are too much for the host device");
}

TEST_F(TunedKernel, FlushesTheL2Cache) {
  add_candidate("}", "  // the same work under another name\n}");
  DeviceState gpu(host::host_driver(), 0);
  gpu.is_host = false;
  gpu.target.l2_bytes = 100 << 10;  // a set is 32 KiB, so ten sets are three times L2
  const std::uint64_t memsets = host::counters().memsets;
  const TuneResult result = tune_on(gpu, Tune::quick);
  const std::size_t candidates = result.candidates.size();
  EXPECT_THAT(result.summary, HasSubstr(" candidates, 7 rounds of 10 launches"));
  EXPECT_GE(host::counters().memsets, memsets + candidates * 8);  // the first round is a warm-up
}

/// A kernel starts early behind other kernels, but not behind copies, or as the first of a replay.
TEST_F(TunedKernel, TimesEarlyStartsInBothModes) {
  add_candidate("}", "  // the same work under another name\n}");
  for (Source& source : emitted.sources) ASSERT_TRUE(source.may_start_early);
  const auto candidates = static_cast<std::uint64_t>(emitted.sources.size());
  host::reset_counters();
  const TuneResult result = tune_it();
  EXPECT_EQ(host::calls("cuGraphAddDependencies"), candidates);
  EXPECT_EQ(host::calls("cuGraphLaunch"),
            2 * candidates * static_cast<std::uint64_t>(result.rounds + 1));  // with the warm-up
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::median_us, Gt(0.0))));
}

TEST_F(TunedKernel, TimesOtherKernelsInTurn) {
  for (Source& source : emitted.sources) {
    source.may_start_early = false;
    source.code_key += " without an early start";
  }
  host::reset_counters();
  const TuneResult result = tune_it();
  EXPECT_EQ(host::calls("cuGraphAddDependencies"), 0);
  EXPECT_EQ(host::calls("cuGraphLaunch"),
            emitted.sources.size() * static_cast<std::size_t>(result.rounds + 1));
}

/// Drivers before CUDA 12.3 have no graph edges for early starts.
TEST_F(TunedKernel, TimesLaunchesInTurnIfGraphsHaveNoEarlyStarts) {
  static const Driver old_driver = [] {
    Driver table = host::host_driver();
    table.cuGraphAddDependencies = nullptr;
    return table;
  }();
  DeviceState old(old_driver, 0);
  const auto expect_one_mode = [&](const auto& tune) {
    host::reset_counters();
    const TuneResult result = tune();
    EXPECT_EQ(host::calls("cuGraphLaunch"),
              emitted.sources.size() * static_cast<std::size_t>(result.rounds + 1));
    EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::median_us, Gt(0.0))));
  };
  expect_one_mode([&] { return tune_on(old, Tune::quick); });
  expect_one_mode([&] {
    for (std::size_t i = 0; i < emitted.sources.size(); ++i)
      host::inject_fault("cuGraphAddDependencies", static_cast<int>(i) + 1,
                         CUDA_ERROR_NOT_SUPPORTED);
    return tune_it();
  });
  host::clear_faults();
}

TEST_F(TunedKernel, ReportsOtherErrorsOfEarlyStarts) {
  tune_it();
  host::inject_fault("cuGraphAddDependencies", 1, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(test::error_of<DriverError>([&] { tune_it(); }),
              AllOf(HasSubstr("cuGraphAddDependencies failed"),
                    HasSubstr("tuning of kernel " + emitted.sources[0].entry)));
  host::clear_faults();
}

TEST_F(TunedKernel, FreesItsScratchMemory) {
  add_candidate("}", "  // the same work under another name\n}");
  const std::uint64_t before = host::counters().live_allocations;
  tune_it();
  EXPECT_EQ(host::counters().live_allocations, before);
}

TEST(MeasureCandidates, DoesNotChangeUserData) {
  Graph graph("count");
  const Extent n = graph.extent("n");
  const Tensor p = graph.input("p", f32, {n});
  graph.update(p, p + 1.0);
  const Device device = host_device();
  const Executable executable = compile(graph, device, {.tune = Tune::quick});
  Context context = executable.context();
  const Stream stream = device.stream();
  const Array array = device.empty(f32, {256});
  device.upload(array, std::vector<float>(256, 1.0F), stream);
  context.run(stream, {{"p", array}}, {});
  EXPECT_THAT(device.download<float>(array, stream), Each(2.0F));
}

TEST(MeasureCandidates, ReusesResultsForEqualKernelsAndSizes) {
  const Device device = host_device();
  const auto tune_once = [&] {
    const Executable executable = compile(doubled(), device, {.tune = Tune::wide});
    executable.prepare({{"n", 1024}});
    return executable.report().kernels[0];
  };
  const KernelReport first = tune_once();
  const std::uint64_t launches = host::calls("cuGraphLaunch");
  const KernelReport second = tune_once();
  EXPECT_EQ(host::calls("cuGraphLaunch"), launches);
  EXPECT_EQ(first.tuning, second.tuning);
  EXPECT_EQ(first.candidates[0].median_us, second.candidates[0].median_us);
}

TEST(MeasureCandidates, WideMeasuresLonger) {
  const auto launches_of = [](Tune tune) {
    const std::uint64_t before = host::calls("cuGraphLaunch");
    // No other test uses these sizes, so no timings are stored.
    const Executable executable = compile(doubled(), host_device(), {.tune = tune});
    executable.prepare({{"n", tune == Tune::wide ? 7'001 : 70'001}});
    return host::calls("cuGraphLaunch") - before;
  };
  const std::uint64_t quick = launches_of(Tune::quick);
  EXPECT_GT(quick, 0U);
  EXPECT_GT(launches_of(Tune::wide), quick);
}

TEST(MeasureCandidates, PrintsATableOfCandidates) {
  Report report;
  report.kernels.push_back({.name = "k_1", .kind = "pointwise", .tuning = "2 candidates"});
  report.kernels[0].candidates = {{.schedule = "threads 256",
                                   .median_us = 3,
                                   .lower_quartile_us = 2.5,
                                   .upper_quartile_us = 3.5,
                                   .gigabytes_per_second = 12,
                                   .chosen = true},
                                  {.schedule = "threads 128", .problem = "its result differs"}};
  const std::string table = tuning_table(report);
  EXPECT_THAT(table, HasSubstr("k_1 (pointwise): 2 candidates\n"));
  EXPECT_THAT(table, HasSubstr("* threads 256"));
  EXPECT_THAT(table, HasSubstr("3.00 us [2.50, 3.50]     12.0 GB/s"));
  EXPECT_THAT(table, HasSubstr("its result differs"));
}

}  // namespace
}  // namespace sinter::measure_candidates_test
