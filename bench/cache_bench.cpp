// Measures the disk cache and saved executables. Goals: a process that finds 100 kernels in the
// cache has them ready 100 ms after its start, without loading NVRTC or the host compiler. A hit
// takes at most 1 ms. 100 kernels with a cold cache take at most 1.1 times the compiler's own time
// on all cores. As JSON: --benchmark_out=FILE --benchmark_out_format=json.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "compiler/plan.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/execution/make_variant.h"
#include "runtime/support/process.h"
#include "sinter/sinter.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter {
namespace {

constexpr int kKernels = 100;

/// Graph `number` of a family in which every graph has a different kernel.
Graph graph_of(int number) {
  Graph graph("kernel");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, 1024});
  const Tensor h = tanh(x * (number + 0.5)) + x;
  graph.output("y", number % 2 == 0 ? h : h - mean(h, {-1}, Keep::yes));
  return graph;
}

/// Plans all graphs one after the other, compiles their kernels or finds them in `cache`, and loads
/// them.
void compile_all(const CacheOptions& cache, bool also_nvrtc) {
  for (int i = 0; i < kKernels; ++i)
    sinter::compile(graph_of(i), host_device(),
                    {.tune = Tune::off, .cache = cache, .also_nvrtc = also_nvrtc})
        .prepare({{"rows", 4096}});
}

std::vector<CompileUnit> all_units() {
  std::vector<CompileUnit> units;
  for (int i = 0; i < kKernels; ++i) {
    const Program program = plan(graph_of(i), known_targets()[0], {.symbols = {4096}});
    units.emplace_back(emit_candidates(program, program.kernels[0], 1).sources);
  }
  return units;
}

/// The seconds that a new process of this program takes for `task` with the cache in `folder`.
double seconds_of(const std::string& task, const std::string& folder) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = run_process(std::vector<std::string>{"/proc/self/exe", task, folder},
                                           "", std::chrono::minutes(5));
  ensure(result.exit_code == 0, "a task of the benchmark fails: " + result.output);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool has_opened_nvrtc() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libnvrtc") != std::string::npos) return true;
  return false;
}

/// Measures a process that runs `task` from start to exit. Before, a process fills the folder.
void warm_process(benchmark::State& state, const std::string& fill, const std::string& task) {
  const test::ScratchFolder folder;
  seconds_of(fill, folder.path());
  for (auto _ : state) state.SetIterationTime(seconds_of(task, folder.path()));
  state.counters["nothing_ms"] = seconds_of("--nothing", folder.path()) * 1e3;
}

std::string saved_path(const std::string& folder, int number) {
  return fmt::format("{}/{}.sinterx", folder, number);
}

void save_all(const std::string& folder) {
  for (int i = 0; i < kKernels; ++i) {
    const Executable executable =
        sinter::compile(graph_of(i), host_device(), {.tune = Tune::off, .optimize_host = false});
    executable.prepare({{"rows", 4096}});
    executable.save(saved_path(folder, i));
  }
}

void count_per_kernel(benchmark::State& state) {
  state.counters["per_kernel"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kKernels,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Measures a disk cache hit only: read, check, unpack and load.
void hit(benchmark::State& state, bool also_nvrtc) {
  const test::ScratchFolder folder;
  const std::vector<CompileUnit> units = all_units();
  const CompileSettings settings{
      .arch = "sm_90", .also_nvrtc = also_nvrtc, .cache = {.directory = folder.path() + "/cache"}};
  for (const CompileUnit& unit : units)
    CompileService(*host_device().state()).compile({&unit, 1}, settings);
  for (auto _ : state) {
    CompileService service(*host_device().state());
    for (const CompileUnit& unit : units)
      ensure(service.compile({&unit, 1}, settings)[0].was_cached, "a kernel is not in the cache");
  }
  count_per_kernel(state);
}

/// Measures a hit for a unit that the service already has in memory.
void hit_in_memory(benchmark::State& state) {
  const std::vector<CompileUnit> units = all_units();
  const CompileSettings settings{.host = {.optimize = false}};
  CompileService service(*host_device().state());
  service.compile(units, settings);
  for (auto _ : state)
    for (const CompileUnit& unit : units)
      benchmark::DoNotOptimize(service.compile({&unit, 1}, settings));
  ensure(service.counters().misses == kKernels, "a kernel is not in the cache");
  count_per_kernel(state);
}

/// Compiles all kernels with NVRTC and a cold cache. `over_compiler` is the time divided by the
/// reported compile times spread over all cores.
void cold_cubins(benchmark::State& state) {
  if (!nvrtc().nvrtc) return state.SkipWithError(nvrtc().reason.c_str());
  const std::vector<CompileUnit> units = all_units();
  double seconds = 0;
  double compilers = 0;
  for (auto _ : state) {
    const test::ScratchFolder folder;
    const CompileSettings settings{.arch = "sm_90",
                                   .host = {.optimize = false},
                                   .also_nvrtc = true,
                                   .cache = {.directory = folder.path() + "/cache"}};
    CompileService service(*host_device().state());
    // The host compiler's part is done before the timer starts.
    CompileSettings host_only = settings;
    host_only.also_nvrtc = false;
    CompileService(*host_device().state()).compile(units, host_only);
    const auto start = std::chrono::steady_clock::now();
    for (const CompileResult& result : service.compile(units, settings))
      compilers += result.unit->cubins[0].compile_ms * 1e-3;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(seconds);
  }
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  state.counters["over_compiler"] = seconds / (compilers / cores);
}

BENCHMARK_CAPTURE(warm_process, host, "--fill", "--find")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(warm_process, host_and_cubins, "--fill-cubins", "--find-cubins")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(warm_process, load, "--save", "--load")
    ->Name("load_process")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(hit_in_memory)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(hit, host, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hit, host_and_cubins, true)->Unit(benchmark::kMillisecond);
BENCHMARK(cold_cubins)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

/// Runs a task that `seconds_of` started, and returns the exit status.
int run_task(const std::string& task, const std::string& folder) {
  if (task == "--nothing") return 0;
  if (task == "--save") return save_all(folder), 0;
  if (task == "--load") {
    for (int i = 0; i < kKernels; ++i) load(saved_path(folder, i), host_device());
    const Counters done = counters({.cache = {.mode = CacheMode::off}});
    return done.plans == 0 && done.kernels.compiles == 0 && !has_opened_nvrtc() ? 0 : 1;
  }
  compile_all({.directory = folder + "/cache"}, task.ends_with("-cubins"));
  const DiskCounters counters = disk_cache({.directory = folder + "/cache"}).counters();
  if (!task.starts_with("--find")) return counters.stored >= kKernels ? 0 : 1;
  if (counters.misses > 0 || has_opened_nvrtc()) {
    fmt::print("{} misses; NVRTC is {}\n", counters.misses, has_opened_nvrtc() ? "open" : "closed");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace sinter

int main(int count, char** words) {
  const std::string task = count > 2 ? words[1] : "";
  for (const std::string_view known : {"--nothing", "--fill", "--find", "--save", "--load"})
    if (task.starts_with(known)) return sinter::run_task(task, words[2]);
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
