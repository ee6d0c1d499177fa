#include "runtime/compile_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "codegen/prelude.h"
#include "runtime/launch_grid.h"
#include "runtime/nvrtc_units.h"
#include "runtime/parallel.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kDefaultSharedBytes = 48 << 10;
// A compiler run costs about as much as a few kernels, so that few are not worth one of their own.
constexpr std::size_t kKernelsPerRun = 16;
constexpr std::size_t kUnoptimizedKernelsPerRun = 48;

const HostCompiler& host_compiler() {
  static const HostCompiler compiler;
  return compiler;
}

int function_attribute(const Driver& driver, CUfunction function, CUfunction_attribute which,
                       std::string_view kernel) {
  int value = 0;
  check(driver, driver.cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute",
        [&] { return fmt::format("kernel {}", kernel); });
  return value;
}

}  // namespace

/// A unit that this call must make.
struct CompileService::Job {
  const CompileUnit* unit = nullptr;
  std::string key;
  KernelCache::Claim claim;
  std::shared_ptr<CompiledUnit> made = std::make_shared<CompiledUnit>();
  std::exception_ptr error;
  std::exception_ptr cubin_error;
};

CompileService::CompileService(const DeviceState& device) : device_(device) {}
CompileService::~CompileService() = default;

std::vector<CompileResult> CompileService::compile(std::span<const CompileUnit> units,
                                                   const CompileSettings& settings) {
  std::vector<CompileResult> results;
  std::vector<KernelCache::Claim> claims;
  std::vector<Job> missing;
  for (const CompileUnit& unit : units) {
    std::string key = key_of(unit, settings);
    claims.push_back(cache_.claim(key));
    results.push_back({.unit = nullptr, .was_cached = !claims.back().duty});
    if (claims.back().duty)
      missing.push_back({.unit = &unit, .key = std::move(key), .claim = claims.back()});
  }
  // What others wait for first, then what we wait for: so no two calls wait for one another.
  if (!missing.empty()) compile_missing(missing, settings);
  for (std::size_t i = 0; i < results.size(); ++i) results[i].unit = claims[i].unit.get();
  return results;
}

CompileCounters CompileService::counters() const {
  return {.hits = cache_.hits(), .misses = cache_.misses(), .compiles = compiles_};
}

std::string CompileService::key_of(const CompileUnit& unit, const CompileSettings& settings) const {
  const bool by_nvrtc = !device_.is_host || (settings.also_nvrtc && why_no_nvrtc().empty());
  std::string key = fmt::format("{}\n{}\ncount {}, optimize {}\n",
                                device_.is_host ? host_compiler().version() : "",
                                by_nvrtc ? nvrtc_version() + " " + settings.arch : "",
                                settings.host.count, settings.host.optimize);
  for (const Source& source : unit.sources)
    key += fmt::format("{} {} {} {}\n{}\n", source.threads, source.shared_bytes, source.has_barrier,
                       source.cluster, source.code.empty() ? source.text : source.code);
  return key;
}

void CompileService::compile_missing(std::span<Job> missing, const CompileSettings& settings) {
  std::vector<std::function<void()>> runs;
  const auto add_run = [&](std::span<Job> jobs, std::exception_ptr Job::*error, auto compile) {
    runs.push_back([jobs, error, compile] {
      try {
        compile(jobs);
      } catch (...) {
        for (Job& job : jobs) job.*error = std::current_exception();
      }
    });
  };
  const std::size_t most = settings.host.optimize ? kKernelsPerRun : kUnoptimizedKernelsPerRun;
  // The slowest runs first.
  for (std::size_t first = 0; device_.is_host && first < missing.size();) {
    std::size_t count = 0;
    std::size_t kernels = 0;
    while (first + count < missing.size() && kernels < most)
      kernels += missing[first + count++].unit->sources.size();
    add_run(missing.subspan(first, count), &Job::error,
            [this, &settings](std::span<Job> part) { compile_host(part, settings); });
    first += count;
  }
  for (Job& job : missing) {
    if (!device_.is_host)
      add_run(std::span(&job, 1), &Job::error,
              [this, &settings](std::span<Job> part) { compile_cuda(part[0], settings); });
    else if (settings.also_nvrtc)
      add_run(std::span(&job, 1), &Job::cubin_error,
              [this, &settings](std::span<Job> part) { add_cubins(part[0], settings); });
  }
  run_parallel(runs);
  for (Job& job : missing) {
    if (job.error || job.cubin_error)
      cache_.fail(job.key, job.claim, job.error ? job.error : job.cubin_error);
    else
      cache_.fulfil(job.claim, job.made);
  }
}

void CompileService::compile_host(std::span<Job> jobs, const CompileSettings& settings) {
  std::vector<HostKernel> kernels;
  std::unordered_set<std::string> entries;  // equal kernels have equal names
  for (const Job& job : jobs)
    for (const Source& source : job.unit->sources)
      if (entries.insert(source.entry).second)
        kernels.push_back({.entry = source.entry,
                           .text = source.text,
                           .threads = source.threads,
                           .has_barrier = source.has_barrier});
  ++compiles_;
  const HostImage image =
      host_compiler().compile(prelude_text(Prelude::host), kernels, settings.host);
  const auto module = std::make_shared<const Module>(device_, image.image.data(), kernels[0].entry);
  for (Job& job : jobs) {
    job.made->module = module;
    job.made->milliseconds = image.milliseconds;
    for (const Source& source : job.unit->sources)
      job.made->functions.push_back(load_function(*module, source));
  }
}

void CompileService::compile_cuda(Job& job, const CompileSettings& settings) {
  ++compiles_;
  NvrtcUnit compiled = compile_unit(job.unit->sources, settings.arch);
  const auto module =
      std::make_shared<const Module>(device_, compiled.image.data(), job.unit->sources[0].entry);
  job.made->module = module;
  job.made->milliseconds = compiled.milliseconds;
  job.made->ptx = std::move(compiled.ptx);
  job.made->image = std::move(compiled.image);
  for (const Source& source : job.unit->sources)
    job.made->functions.push_back(load_function(*module, source));
}

void CompileService::add_cubins(Job& job, const CompileSettings& settings) {
  if (const std::string why_not = why_no_nvrtc(); !why_not.empty()) {
    job.made->cubins.assign(job.unit->sources.size(), {.why_not = why_not});
    return;
  }
  ++compiles_;
  NvrtcUnit compiled = compile_unit(job.unit->sources, settings.arch);
  job.made->cubins = std::move(compiled.reports);
  job.made->ptx = std::move(compiled.ptx);
  job.made->image = std::move(compiled.image);
}

CompiledFunction CompileService::load_function(const Module& module, const Source& source) const {
  const CurrentContext current(device_);
  const Driver& driver = device_.driver;
  CompiledFunction function;
  check(driver, driver.cuModuleGetFunction(&function.handle, module.handle, source.entry.c_str()),
        "cuModuleGetFunction", source.entry);
  if (!device_.is_host) {
    function.registers =
        function_attribute(driver, function.handle, CU_FUNC_ATTRIBUTE_NUM_REGS, source.entry);
    function.spill_bytes = function_attribute(driver, function.handle,
                                              CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, source.entry);
  }
  if (source.shared_bytes > kDefaultSharedBytes)
    check(
        driver,
        driver.cuFuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  static_cast<int>(source.shared_bytes)),
        "cuFuncSetAttribute", [&] {
          return fmt::format("{} bytes of shared memory for {}", source.shared_bytes, source.entry);
        });
  if (has_large_cluster(source))
    check(driver,
          driver.cuFuncSetAttribute(function.handle,
                                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
          "cuFuncSetAttribute", [&] {
            return fmt::format("clusters of {} blocks for {}", source.cluster, source.entry);
          });
  return function;
}

}  // namespace sinter
