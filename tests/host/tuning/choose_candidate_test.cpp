// Measured and stored timings of candidates: in this process, from another process, of a nearby
// size, and from a tuning file.
#include "runtime/tuning/choose_candidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "compiler/plan.h"
#include "runtime/cache/compiler_identity.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/make_variant.h"
#include "runtime/logging/counting.h"
#include "runtime/tuning/tuning_format.h"
#include "runtime/tuning/tuning_store.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::choose_candidate_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// If true, each measured candidate overlaps a launch of the program.
bool program_is_running = false;

/// The host device, with launches of the program during tuning.
const Driver& driver_beside_a_program() {
  static const Driver driver = [] {
    Driver table = host::host_driver();
    table.cuGraphInstantiateWithFlags = [](CUgraphExec* exec, CUgraph graph,
                                           unsigned long long flags) {
      if (program_is_running) count(Count::kernel_launches);
      return host::host_driver().cuGraphInstantiateWithFlags(exec, graph, flags);
    };
    return table;
  }();
  return driver;
}

/// A kernel with its own candidates, on its own device state with an empty tuning store.
class ChooseCandidateTest : public ::testing::Test {
 protected:
  ChooseCandidateTest() {
    Graph graph("doubled");
    const Extent n = graph.extent("n");
    graph.output("y", graph.input("x", f32, {n}) * 2.0);
    program = plan(graph, device.target, {.symbols = symbols});
    emitted = emit_candidates(program, program.kernels.at(0), /*most=*/1);
    add_candidate();
    add_candidate();
  }
  /// Reads the compiler's identity now, so that the tests' caches do not store it as an entry.
  void SetUp() override { host_compiler(disk_cache({.mode = CacheMode::off})); }

  /// Adds a copy of the default under another name.
  void add_candidate(const std::string& from = "}", const std::string& to = "  // again\n}") {
    Source source = emitted.sources[0];
    source.entry += "_" + std::to_string(emitted.sources.size());
    const std::string& name = emitted.sources[0].entry;
    for (std::size_t at = 0; (at = source.text.find(name, at)) != std::string::npos;
         at += source.entry.size())
      source.text.replace(at, name.size(), source.entry);
    source.text.replace(source.text.rfind(from), from.size(), to);
    source.code_key = source.text;
    emitted.sources.push_back(source);
    emitted.schedules.push_back(emitted.schedules[0]);
  }
  /// Simulates a new process: forgets all timings that are not on disk.
  void start_process() { device.tuning_store.replace(std::make_shared<TuningStore>()); }

  void compile_it() {
    const std::vector<CompileUnit> units = {{emitted.sources}};
    unit = device.compile_service.get(device).compile(units, {})[0].unit;
  }
  /// Each measured candidate has two graphs: with full edges and with programmatic ones.
  static std::uint64_t measurements() { return host::calls("cuGraphInstantiateWithFlags") / 2; }
  TuneResult choose_it() {
    compile_it();
    const std::uint64_t before = measurements();
    const TuneResult result = choose_candidate(device, device.target, request(), options);
    measured = measurements() - before;
    return result;
  }
  TuneRequest request() const {
    return {.program = program,
            .kernel = program.kernels[0],
            .sources = emitted.sources,
            .schedules = emitted.schedules,
            .unit = *unit,
            .symbols = symbols,
            .is_in_background = is_in_background};
  }
  static std::string table(const TuneResult& result) {
    Report report;
    report.kernels.push_back({.name = "k", .kind = "pointwise"});
    report.kernels[0].candidates = result.candidates;
    report.kernels[0].tuning = result.summary;
    return tuning_table(report);
  }

  test::ScratchFolder folder;
  DeviceState device{driver_beside_a_program(), 0};
  std::vector<std::int64_t> symbols = {4096};
  Program program;
  EmittedKernel emitted;
  CompiledUnitPointer unit;
  Options options{.cache = {.directory = folder.path() + "/cache"}};
  std::uint64_t measured = 0;  ///< candidates in the last choice
  bool is_in_background = false;
};

/// Timings disturbed by the program's launches serve only background tuning.
TEST_F(ChooseCandidateTest, DisturbedTimingsServeOnlyTheBackground) {
  is_in_background = true;
  program_is_running = true;
  choose_it();
  program_is_running = false;
  EXPECT_EQ(measured, 3U);
  start_process();
  choose_it();
  EXPECT_EQ(measured, 0U);
  is_in_background = false;
  choose_it();
  EXPECT_EQ(measured, 3U);
  start_process();
  choose_it();
  EXPECT_EQ(measured, 0U) << "the better times took the place of the others";
}

TEST_F(ChooseCandidateTest, UndisturbedBackgroundTimingsServeAll) {
  is_in_background = true;
  choose_it();
  EXPECT_EQ(measured, 3U);
  is_in_background = false;
  choose_it();
  EXPECT_EQ(measured, 0U);
}

TEST_F(ChooseCandidateTest, MeasuresOnce) {
  const TuneResult first = choose_it();
  EXPECT_EQ(measured, 3U);
  EXPECT_THAT(first.summary, StartsWith("3 candidates, "));
  EXPECT_THAT(first.candidates, Each(Field(&CandidateReport::median_us, Gt(0.0))));
  const TuneResult second = choose_it();
  EXPECT_EQ(measured, 0U);
  EXPECT_EQ(table(second), table(first));
  start_process();
  const TuneResult third = choose_it();
  EXPECT_EQ(measured, 0U);
  EXPECT_EQ(table(third), table(first));
  EXPECT_EQ(third.chosen, first.chosen);
}

TEST_F(ChooseCandidateTest, MeasuresOnlyNewCandidates) {
  const TuneResult first = choose_it();
  start_process();
  add_candidate();
  const TuneResult second = choose_it();
  EXPECT_EQ(measured, 2U) << "and the default with it";
  ASSERT_EQ(second.candidates.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(second.candidates[i].median_us, first.candidates[i].median_us);
  EXPECT_GT(second.candidates[3].median_us, 0);
  emitted.sources.erase(emitted.sources.begin() + 1);
  emitted.schedules.erase(emitted.schedules.begin() + 1);
  EXPECT_EQ(choose_it().candidates[2].median_us, second.candidates[3].median_us);
  EXPECT_EQ(measured, 0U) << "one that is gone changes nothing";
}

TEST_F(ChooseCandidateTest, MeasuresAgainForAnotherMachineOrCompiler) {
  choose_it();
  start_process();
  options.optimize_host = false;
  choose_it();
  EXPECT_EQ(measured, 3U);
  start_process();
  device.name = "another host";
  choose_it();
  EXPECT_EQ(measured, 3U);
}

TEST_F(ChooseCandidateTest, UsesTimingsOfANearbySize) {
  const TuneResult first = choose_it();
  start_process();
  symbols = {8192};
  const TuneResult near = choose_it();
  EXPECT_EQ(measured, 0U);
  EXPECT_EQ(near.summary, "tuned for n = 4096: " + first.summary);
  EXPECT_EQ(near.chosen, first.chosen);
  symbols = {40000};
  EXPECT_THAT(choose_it().summary, StartsWith("3 candidates, "));
  EXPECT_EQ(measured, 3U) << "that is not near";
  symbols = {32768};
  EXPECT_THAT(choose_it().summary, StartsWith("tuned for n = 40000: "));
}

TEST_F(ChooseCandidateTest, WideNeedsItsOwnTimings) {
  choose_it();
  options.tune = Tune::wide;
  choose_it();
  EXPECT_EQ(measured, 3U) << "a quick measurement is not enough";
  start_process();
  choose_it();
  EXPECT_EQ(measured, 0U) << "its own is";
  symbols = {8192};
  choose_it();
  EXPECT_EQ(measured, 3U) << "of this size alone";
  options.tune = Tune::quick;
  symbols = {4096};
  choose_it();
  EXPECT_EQ(measured, 0U);
}

TEST_F(ChooseCandidateTest, MeasuresAgainAfterDamage) {
  choose_it();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.path().extension() == ".entry") {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(100);
      file.put('!');
    }
  start_process();
  choose_it();
  EXPECT_EQ(measured, 3U);
  start_process();
  choose_it();
  EXPECT_EQ(measured, 0U);
}

TEST_F(ChooseCandidateTest, DropsAndReportsDifferingCandidatesInEveryProcess) {
  add_candidate("2.0f", "2.0000002f");
  std::vector<std::string> lines;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  choose_it();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("its result differs from the default's"));
  choose_it();
  EXPECT_EQ(lines.size(), 1U);
  start_process();
  const TuneResult result = choose_it();
  EXPECT_EQ(measured, 0U);
  EXPECT_TRUE(result.candidates[3].differs);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], lines[1]);
}

TEST_F(ChooseCandidateTest, ReportsAWrongDefaultAtAnyDebugLevel) {
  add_candidate("2.0f", "2.1f");
  std::swap(emitted.sources.front(), emitted.sources.back());
  std::vector<std::string> lines;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  choose_it();
  EXPECT_THAT(lines, Contains(HasSubstr("its result is wrong at n = 7: y: 7 of 7 elements")));
}

TEST_F(ChooseCandidateTest, SkipsFilteredCandidates) {
  options.cache.mode = CacheMode::off;
  compile_it();
  CompiledUnit known = *unit;
  known.cubins.assign(3, {.registers = 32, .bytes_in_flight = 64});
  known.cubins[1].spill_bytes = 4;
  unit = std::make_shared<const CompiledUnit>(known);
  const std::uint64_t before = measurements();
  const TuneResult result = choose_candidate(device, device.target, request(), options);
  EXPECT_EQ(measurements(), before + 2);
  EXPECT_EQ(result.candidates[1].problem,
            "not measured: it spills 4 bytes per thread, the default 0");
  EXPECT_THAT(table(result), HasSubstr("it spills 4 bytes"));
}

TEST_F(ChooseCandidateTest, ImportsTimingsFromAFile) {
  const TuneResult first = choose_it();
  const std::string path = folder.path() + "/tuned";
  const Device here(&device);
  export_tuning(here, path);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0644));
  start_process();
  options.cache.mode = CacheMode::off;
  EXPECT_EQ(import_tuning(here, path), 1U);
  EXPECT_EQ(table(choose_it()), table(first));
  EXPECT_EQ(measured, 0U);
}

TEST_F(ChooseCandidateTest, SkipsImportedCandidatesThatDoNotFitTheDevice) {
  options.cache.mode = CacheMode::off;
  emitted.sources[1].cluster = 16;
  compile_it();
  const TuningQuery query = query_of(device, device.target, request(), options);
  TunedSize size{.numbers = query.numbers, .sizes = query.sizes, .timings = {}};
  for (std::size_t i = 0; i < 3; ++i) {
    const double microseconds = i == 0 ? 100 : i == 1 ? 10 : 50;
    size.timings[query.candidates[i]] = {.median_us = microseconds,
                                         .lower_quartile_us = microseconds,
                                         .upper_quartile_us = microseconds,
                                         .gigabytes_per_second = 1,
                                         .reference_us = 100,
                                         .blocks = query.blocks[i],
                                         .rounds = 5,
                                         .launches = 2};
  }
  const TuningsByKernel file = {{query.kernel, {.sizes = {size}}}};
  device.tuning_store.get().import(file);
  EXPECT_EQ(choose_candidate(device, device.target, request(), options).chosen, 1);
  Driver silent = host::host_driver();
  silent.cuOccupancyMaxActiveClusters = nullptr;
  DeviceState other(silent, 0);
  other.tuning_store.get().import(file);
  const TuneResult result = choose_candidate(other, other.target, request(), options);
  EXPECT_EQ(result.chosen, 2);
  EXPECT_THAT(result.candidates[1].problem, HasSubstr("cannot tell if clusters of 16"));
}

TEST_F(ChooseCandidateTest, DoesNotForceCandidatesThatDoNotFitTheDevice) {
  emitted.sources[1].cluster = 16;
  options.force_candidate = 1;
  EXPECT_EQ(choose_it().chosen, 1);
  EXPECT_EQ(choose_it().summary, "candidate 1 was forced");
  host::inject_fault("cuOccupancyMaxActiveClusters", 1, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  const TuneResult result = choose_it();
  EXPECT_EQ(result.chosen, 0);
  EXPECT_TRUE(result.candidates[0].chosen);
  EXPECT_FALSE(result.candidates[1].chosen);
  EXPECT_THAT(result.summary,
              HasSubstr("candidate 1 was forced: host device has no room for a cluster of 16"));
}

TEST_F(ChooseCandidateTest, ReportsUnusableFiles) {
  const Device here(&device);
  choose_it();
  const std::string path = folder.path() + "/tuned";
  const auto error = [&] { return test::error_of([&] { import_tuning(here, path); }); };
  EXPECT_EQ(error(), "import_tuning: " + path + " cannot be read: No such file or directory");
  EXPECT_EQ(test::error_of([&] { export_tuning(here, folder.path() + "/none/tuned"); }),
            "export_tuning: " + folder.path() +
                "/none/tuned cannot be written: No such file or directory");
  std::ofstream(path) << "something else";
  EXPECT_EQ(error(),
            "import_tuning: " + path +
                " is not a tuning file: write one with export_tuning (sinter tune --export)");
  export_tuning(here, path);
  start_process();
  device.name = "another host";
  EXPECT_THAT(error(), AllOf(StartsWith("import_tuning: " + path + " was written on \""),
                             HasSubstr(", and this is \"another host, "),
                             HasSubstr("tune here, and export that")));
  EXPECT_EQ(device.tuning_store.get().all().size(), 0U);
}

TEST_F(ChooseCandidateTest, ExecutablesReuseTimingsAcrossProcesses) {
  Graph graph("root");
  const Extent n = graph.extent("n");
  graph.output("y", sqrt(graph.input("x", f32, {n, 64})));
  setenv("SINTER_CACHE", "read_write", 1);
  const auto compiled = [&] {
    const Executable executable = compile(graph, host_device(), options);
    executable.prepare({{"n", 100}});
    return executable.report();
  };
  const auto forget = [] {
    host_device().state()->tuning_store.replace(std::make_shared<TuningStore>());
  };
  forget();
  const Report first = compiled();
  forget();
  const std::uint64_t launches = host::calls("cuGraphLaunch");
  const Report second = compiled();
  setenv("SINTER_CACHE", "off", 1);
  ASSERT_GT(first.kernels[0].candidates.size(), 1U);
  EXPECT_EQ(host::calls("cuGraphLaunch"), launches);
  EXPECT_EQ(tuning_table(second), tuning_table(first));
}

}  // namespace
}  // namespace sinter::choose_candidate_test
