// Autotuning on the host device: what is measured, what is dropped, what it leaves alone.
#include "runtime/tuning/autotune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <vector>

#include "compiler/plan.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/make_variant.h"
#include "runtime/service/compile_service.h"
#include "runtime/tuning/verify_default_schedule.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::autotune_test {
namespace {

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

/// One kernel and its candidates, ready to be tuned.
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
    source.code_key = source.text;  // or it would be the one that another test has compiled
    emitted.sources.push_back(source);
    emitted.schedules.push_back(emitted.schedules[0]);
  }

  TuneResult tune_it(Tune effort = Tune::quick, const Cancellation& cancellation = {}) {
    return tune_on(*device.state(), effort, cancellation);
  }
  TuneResult tune_on(DeviceState& state, Tune effort, const Cancellation& cancellation = {}) {
    const std::vector<CompileUnit> units = {{emitted.sources}};
    const CompiledUnitPointer unit =
        device.state()->compile_service.get(*device.state()).compile(units, {})[0].unit;
    return tune(state,
                {.program = program,
                 .kernel = program.kernels[0],
                 .sources = emitted.sources,
                 .schedules = emitted.schedules,
                 .unit = *unit,
                 .symbols = symbols,
                 .cancellation = cancellation},
                effort);
  }

  DefaultVerification verify_it() {
    const std::vector<CompileUnit> units = {{emitted.sources}};
    const CompiledUnitPointer unit =
        device.state()->compile_service.get(*device.state()).compile(units, {})[0].unit;
    return verify_default_schedule(*device.state(), {.program = program,
                                                     .kernel = program.kernels[0],
                                                     .sources = emitted.sources,
                                                     .schedules = emitted.schedules,
                                                     .unit = *unit,
                                                     .symbols = symbols});
  }

  /// Makes the default another text.
  void change_default(const std::string& from, const std::string& to) {
    add_candidate(from, to);
    std::swap(emitted.sources.front(), emitted.sources.back());
  }

  Device device = host_device();
  std::vector<std::int64_t> symbols = {4096};
  Program program;
  EmittedKernel emitted;
};

TEST_F(TunedKernel, IsTimedUnderEveryCandidate) {
  add_candidate("}", "  // the same work under another name\n}");
  const TuneResult result = tune_it();
  ASSERT_THAT(result.candidates, SizeIs(Ge(2U)));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::median_us, Gt(0.0))));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::gigabytes_per_second, Gt(0.0))));
  EXPECT_THAT(result.candidates, Each(Field(&CandidateReport::problem, IsEmpty())));
  EXPECT_TRUE(result.candidates[static_cast<std::size_t>(result.chosen)].chosen);
  EXPECT_THAT(result.summary, HasSubstr("candidates, "));
}

TEST_F(TunedKernel, IsJudgedByTheOracleAtASmallSize) {
  const DefaultVerification verification = verify_it();
  EXPECT_EQ(verification.reason, "");
  EXPECT_TRUE(verification.passes);
  EXPECT_THAT(verification.summary,
              HasSubstr("at n = 7 7 elements are within the oracle's bounds"));
}

TEST_F(TunedKernel, IsFoundToComputeSomethingElse) {
  change_default("2.0f", "2.0000005f");
  const DefaultVerification verification = verify_it();
  EXPECT_FALSE(verification.passes);
  EXPECT_THAT(verification.summary, HasSubstr("at n = 7: y: "));
}

TEST_F(TunedKernel, IsFoundToLeaveElementsOut) {
  change_default("store", "if (threadIdx.x != 1) store");
  EXPECT_FALSE(verify_it().passes);
}

TEST_F(TunedKernel, IsNotJudgedWhereTheOracleKnowsOtherRoundings) {
  program.numerics.math = Math::fast;
  EXPECT_THAT(verify_it().reason, HasSubstr("may round in other ways"));
}

TEST_F(TunedKernel, IsNotJudgedWhereItsClassIsLarge) {
  program.guards.push_back({.value = program.graph->data().outputs[0].node->shape[0],
                            .low = (1 << 18) + 1,
                            .reason = "large"});
  symbols = {1 << 20};
  EXPECT_THAT(verify_it().reason, HasSubstr("more than 262144 elements at any size"));
}

TEST_F(TunedKernel, DropsACandidateThatComputesSomethingElse) {
  add_candidate("2.0f", "2.0000002f");
  const TuneResult result = tune_it();
  EXPECT_EQ(result.candidates.back().problem,
            "its result differs from the default's: a bug in sinter, please report it");
  EXPECT_EQ(result.candidates.back().median_us, 0);
  EXPECT_NE(result.chosen, static_cast<int>(result.candidates.size()) - 1);
}

TEST_F(TunedKernel, DropsACandidateThatLeavesElementsOut) {
  add_candidate("store", "if (threadIdx.x != 3) store");
  EXPECT_THAT(tune_it().candidates.back().problem, HasSubstr("its result differs"));
}

/// Before each candidate, and before each measurement.
TEST_F(TunedKernel, IsGivenUpBetweenSteps) {
  add_candidate("}", "  // the same work under another name\n}");
  const auto candidates = static_cast<int>(emitted.sources.size());
  tune_it();  // what is compiled is compiled
  const auto launches_until = [&](int last_look) {
    int looks = 0;
    const std::uint64_t before = host::calls("cuGraphLaunch") + host::calls("cuLaunchKernelEx");
    EXPECT_THROW(tune_it(Tune::quick, {.is_abandoned = [&] { return ++looks == last_look; }}),
                 Cancelled);
    return host::calls("cuGraphLaunch") + host::calls("cuLaunchKernelEx") - before;
  };
  for (int look = 1; look <= 2 * candidates; ++look)
    EXPECT_EQ(launches_until(look), static_cast<std::uint64_t>(look - 1));
  std::stop_source end;
  end.request_stop();
  EXPECT_THROW(tune_it(Tune::quick, {.stop_token = end.get_token()}), Cancelled);
}

TEST_F(TunedKernel, TakesTheDefaultWithoutMeasuringWhereItIsOff) {
  add_candidate("}", "  // the same work under another name\n}");
  const std::uint64_t launches = host::calls("cuLaunchKernelEx");
  const TuneResult result = tune_it(Tune::off);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.summary, "off: the heuristic's choice");
  EXPECT_EQ(host::calls("cuLaunchKernelEx"), launches);
}

TEST_F(TunedKernel, IsNotTimedOnTheHostDeviceWhereThatWouldTakeLong) {
  add_candidate("}", "  // the same work under another name\n}");
  symbols = {16 << 20};
  EXPECT_EQ(tune_it().summary, "not timed: 128 MiB are too much for the host device");
}

TEST_F(TunedKernel, IsTimedWithAColdL2WhereThereIsOne) {
  add_candidate("}", "  // the same work under another name\n}");
  DeviceState gpu(host::host_driver(), 0);
  gpu.is_host = false;
  gpu.target.l2_bytes = 100 << 10;  // a set is 32 KiB: ten of them are three times L2
  const std::uint64_t memsets = host::counters().memsets;
  const TuneResult result = tune_on(gpu, Tune::quick);
  const std::size_t candidates = result.candidates.size();
  EXPECT_THAT(result.summary, HasSubstr(" candidates, 7 rounds of 10 launches"));
  EXPECT_GE(host::counters().memsets, memsets + candidates * 8);  // the first round warms up
}

TEST_F(TunedKernel, GivesItsScratchMemoryBack) {
  add_candidate("}", "  // the same work under another name\n}");
  const std::uint64_t before = host::counters().live_allocations;
  tune_it();
  EXPECT_EQ(host::counters().live_allocations, before);
}

TEST(Autotune, LeavesTheUsersDataAlone) {
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

TEST(Autotune, RemembersResultsForEqualKernelsAndSizes) {
  const Device device = host_device();
  const auto tuned_ms = [&] {
    const Executable executable = compile(doubled(), device, {.tune = Tune::wide});
    executable.prepare({{"n", 1024}});
    return executable.report().kernels[0];
  };
  const KernelReport first = tuned_ms();
  const std::uint64_t launches = host::calls("cuGraphLaunch");
  const KernelReport second = tuned_ms();
  EXPECT_EQ(host::calls("cuGraphLaunch"), launches);
  EXPECT_EQ(first.tuning, second.tuning);
  EXPECT_EQ(first.candidates[0].median_us, second.candidates[0].median_us);
}

TEST(Autotune, WideMeasuresLonger) {
  const auto launches_of = [](Tune tune) {
    const std::uint64_t before = host::calls("cuGraphLaunch");
    // Nobody else asks for these sizes, so nothing is remembered.
    const Executable executable = compile(doubled(), host_device(), {.tune = tune});
    executable.prepare({{"n", tune == Tune::wide ? 7'001 : 70'001}});
    return host::calls("cuGraphLaunch") - before;
  };
  const std::uint64_t quick = launches_of(Tune::quick);
  EXPECT_GT(quick, 0U);
  EXPECT_GT(launches_of(Tune::wide), quick);
}

TEST(Autotune, PrintsATableOfCandidates) {
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
}  // namespace sinter::autotune_test
