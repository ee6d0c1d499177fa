// What recording and planning a graph cost per node, from 1,000 to 100,000 nodes: at most 2 us and
// 1 KiB is the goal, and four times the nodes should take at most five times as long (`growth`).
// As JSON: --benchmark_out=FILE --benchmark_out_format=json.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include "compiler/plan.h"
#include "tests/support/large_graphs.h"

namespace sinter {
namespace {

Program record_and_plan(const test::GraphFamily& family, std::size_t nodes) {
  return plan(family.record(nodes), *find_target("h200"), {.symbols = family.symbols});
}

/// A line of /proc/self/status, in bytes.
double memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024;
  return 0;
}

/// What the largest resident set gains, in a process of its own whose heap is as good as empty.
double peak_bytes(const test::GraphFamily& family, std::size_t nodes) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    record_and_plan(family, 10);  // the tables that every graph shares
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    const double before = memory("VmRSS");
    benchmark::DoNotOptimize(record_and_plan(family, nodes));
    const double gained = memory("VmHWM") - before;
    const bool is_written = write(ends[1], &gained, sizeof gained) == sizeof gained;
    _exit(is_written ? 0 : 1);
  }
  double gained = 0;
  if (read(ends[0], &gained, sizeof gained) != sizeof gained) gained = 0;
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return gained;
}

void record_and_plan(benchmark::State& state, const test::GraphFamily& family) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const double bytes = peak_bytes(family, nodes);
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
  state.counters["bytes_per_node"] = bytes / static_cast<double>(nodes);
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

/// How many times as long four times the nodes take.
void growth(benchmark::State& state, const test::GraphFamily& family) {
  constexpr std::size_t kNodes = 25'000;
  const auto seconds = [&](std::size_t nodes) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(record_and_plan(family, nodes));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double few = 0;
  double many = 0;
  for (auto _ : state) {
    few += seconds(kNodes);
    many += seconds(4 * kNodes);
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
        ->Unit(benchmark::kMillisecond);
  return 0;
}();

}  // namespace
}  // namespace sinter
