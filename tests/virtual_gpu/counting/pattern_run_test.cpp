// exploration
#include "tests/virtual_gpu/counting/pattern_run.h"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/body_building/build_body.h"
#include "compiler/tiling/coalescing.h"
#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"
#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu {

PatternRun run_pattern(const test::Pattern& pattern, const std::string& arch) {
  const test::Pattern small = test::small_pattern(pattern);
  Target target = small.target();
  if (arch != "sm_90") {
    target = *find_target(arch);
    for (const auto& [name, value] : small.chip) {
      if (name == "sm_count") target.sm_count = static_cast<int>(value);
      if (name == "bandwidth") target.bandwidth = 1e9 * static_cast<double>(value);
      if (name == "bytes_in_flight") target.bytes_in_flight = value;
    }
  }
  const test::ScratchFolder folder;
  const std::string file = folder.path() + "/counts.json";
  const std::string gpus = fmt::format("{} sms={}", arch, target.sm_count);
  const driver::VirtualDriver driver({{"VIRTUAL_GPUS", gpus.c_str()}, {"VIRTUAL_GPU_COUNTS", file.c_str()}});
  DeviceState device(*driver.operator->(), 0);
  target.arch = device.arch;
  device.target = target;
  const Graph graph = small.graph();
  std::vector<NamedSize> named;
  for (const auto& [name, value] : small.sizes) named.push_back({name, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  const test::RunResult result =
      test::run_graph(graph, Device(&device), random_inputs(graph, symbols, 1),
                      {.symbols = symbols, .options = {.tune = Tune::off, .ptx = true}});
  PatternRun run{.program = plan(graph, target, {.symbols = symbols}), .kernels = {}};
  std::ifstream lines(file);
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  std::size_t next = 0;
  for (const KernelReport& report : result.report.kernels)
    for (int i = 0; i < report.launches; ++i)
      run.kernels.push_back({report, next < all.size() ? all[next++] : nlohmann::json{}});
  EXPECT_EQ(next, all.size());
  return run;
}

namespace pattern_run_test {
namespace {

class CountedPatterns : public testing::TestWithParam<std::filesystem::path> {};

void show(const std::string& name, const std::string& arch, const PatternRun& run) {
  for (std::size_t i = 0; i < run.kernels.size(); ++i) {
    const auto& [r, c] = run.kernels[i];
    const auto get = [&](const char* a, const char* b) { return c[a][b].get<std::int64_t>(); };
    double wanted = 0, least = 0;
    std::string sched = r.schedule;
    if (i < run.program.kernels.size() && r.kind == "pointwise") {
      const Sectors s = sectors_of(body_of(run.program, run.program.kernels[i]), run.program.kernels[i].schedule, run.program.facts);
      wanted = s.requested; least = s.minimum;
    }
    const double shared = get("shared_loads", "transactions") + get("shared_stores", "transactions");
    const double best = get("shared_loads", "fewest") + get("shared_stores", "fewest");
    const double sreq = get("shared_loads", "requests") + get("shared_stores", "requests");
    fmt::print("T|{}|{}|{}|{}|read {}{} uniq {} req {}|write {}{} uniq {} req {}|min {}|sect {} of {} model {} of {}|smem {:.2f} of {:.2f} x{:.2f} n{}|local {} |{}\n",
               name, arch, r.kind, r.name, r.bytes_are_bounds ? "<=" : "", r.bytes_read,
               get("global_loads", "unique_bytes"), get("global_loads", "bytes"),
               r.writes_are_bounds ? "<=" : "", r.bytes_written,
               get("global_stores", "unique_bytes"), get("global_stores", "bytes"),
               r.minimal_bytes, get("global_loads", "transactions") + get("global_stores", "transactions"),
               get("global_loads", "fewest") + get("global_stores", "fewest"), wanted, least,
               sreq > 0 ? shared / sreq : 0, sreq > 0 ? best / sreq : 0, best > 0 ? shared / best : 0, sreq,
               c["local_accesses"].get<std::int64_t>(), sched);
  }
}

TEST_P(CountedPatterns, Show) {
  for (const auto& [form, pattern] : test::one_of_each_form(GetParam()))
    for (const char* arch : {"sm_90", "sm_80"})
      show(pattern.name, arch, run_pattern(pattern, arch));
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& test) {
  return test.param.stem().string();
}
INSTANTIATE_TEST_SUITE_P(Patterns, CountedPatterns, testing::ValuesIn(test::golden_graphs(SINTER_SOURCE_DIR "/tests/golden/patterns")), name_of);

}  // namespace
}  // namespace pattern_run_test
}  // namespace sinter::virtual_gpu
