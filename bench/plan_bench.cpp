// Measures the cost of recording and planning per node, for graphs of 1,000 to 100,000 nodes.
// Goals: at most 2 us and 1 KiB of memory per node (`bytes_per_node`). Four times the nodes should
// take at most five times as long (`growth`). `code_bytes` are the pages of the program that were
// loaded meanwhile. As JSON: --benchmark_out=FILE --benchmark_out_format=json.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/plan.h"
#include "tests/support/graphs/large_graphs.h"

namespace sinter {
namespace {

Program record_and_plan(const test::GraphFamily& family, std::size_t nodes) {
  return plan(family.record(nodes), *find_target("h200"), {.symbols = family.symbols});
}

/// A field of /proc/self/status, converted from KiB to bytes.
double memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024;
  return 0;
}

/// The increase of the peak resident set, in bytes.
struct PeakIncrease {
  double memory = 0;
  double code = 0;  ///< pages of the program; independent of the number of nodes
};

/// Measures in this process, which must have done nothing else: free heap memory of earlier graphs
/// would hide a part of the increase.
PeakIncrease measure_peak(const test::GraphFamily& family, std::size_t nodes) {
  record_and_plan(family, 10);  // the tables that every graph shares
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = memory("VmRSS"), code_before = memory("RssFile");
  benchmark::DoNotOptimize(record_and_plan(family, nodes));
  const double code = memory("RssFile") - code_before;
  return {.memory = memory("VmHWM") - before - code, .code = code};
}

constexpr const char* kPeak = "--peak";

/// Runs measure_peak in a new process of this program.
PeakIncrease peak_bytes(const test::GraphFamily& family, std::size_t nodes) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format("'{}' {} {} {}", self, kPeak, family.name, nodes);
  PeakIncrease increase;
  std::FILE* const answer = popen(command.c_str(), "r");
  if (!answer || std::fscanf(answer, "%lf %lf", &increase.memory, &increase.code) != 2)
    increase = {};
  if (answer) pclose(answer);
  return increase;
}

void record_and_plan(benchmark::State& state, const test::GraphFamily& family) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const PeakIncrease increase = peak_bytes(family, nodes);
  std::size_t kernels = 0;
  PlanWork work;
  for (auto _ : state) {
    const Program program = record_and_plan(family, nodes);
    kernels = program.kernels.size();
    work = program.work;
  }
  state.counters["per_node"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(nodes),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_node"] = increase.memory / static_cast<double>(nodes);
  state.counters["code_bytes"] = increase.code;
  state.counters["kernels"] = static_cast<double>(kernels);
  const auto per_node = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(nodes);
  };
  state.counters["candidates_scored"] = per_node(work.candidates_scored);
  state.counters["cycle_check_visits"] = per_node(work.cycle_check_visits);
  state.counters["bodies_built"] = per_node(work.bodies_built);
  state.counters["values_built"] = per_node(work.values_built);
  state.counters["kernels_scheduled"] = static_cast<double>(work.kernels_scheduled);
}

/// The time for four times the nodes divided by the time for `state.range(0)` nodes.
void growth(benchmark::State& state, const test::GraphFamily& family) {
  const auto few_nodes = static_cast<std::size_t>(state.range(0));
  const auto seconds = [&](std::size_t nodes) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(record_and_plan(family, nodes));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double few = 0;
  double many = 0;
  for (auto _ : state) {
    few += seconds(few_nodes);
    many += seconds(4 * few_nodes);
  }
  state.counters["growth"] = many / few;
}

const int kRegistered = [] {
  for (const test::GraphFamily& family : test::graph_families())
    benchmark::RegisterBenchmark(
        std::string(family.name).c_str(),
        [family](benchmark::State& state) { record_and_plan(state, family); })
        ->Unit(benchmark::kMillisecond)
        ->Arg(1'000)
        ->Arg(4'000)
        ->Arg(10'000)
        ->Arg(25'000)
        ->Arg(100'000);
  for (const test::GraphFamily& family : test::graph_families())
    benchmark::RegisterBenchmark((std::string(family.name) + "/growth").c_str(),
                                 [family](benchmark::State& state) { growth(state, family); })
        ->Unit(benchmark::kMillisecond)
        ->Arg(1'000)
        ->Arg(6'250)
        ->Arg(25'000);
  return 0;
}();

/// Runs the command `--peak FAMILY NODES` and returns the exit status.
int answer_peak(const std::string& called, const std::string& nodes) {
  for (const test::GraphFamily& family : test::graph_families()) {
    if (family.name != called) continue;
    const PeakIncrease increase = measure_peak(family, std::stoul(nodes));
    fmt::print("{} {}\n", increase.memory, increase.code);
    return 0;
  }
  return 1;
}

}  // namespace
}  // namespace sinter

int main(int count, char** arguments) {
  if (count == 4 && arguments[1] == std::string_view(sinter::kPeak))
    return sinter::answer_peak(arguments[2], arguments[3]);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
