#include "runtime/compile_service/compile_service.h"

#include <fmt/format.h>

#include <chrono>
#include <unordered_set>

#include "runtime/cache/compiler_identity.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/compile_service/load_function.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "runtime/support/parallel.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::size_t kUnoptimizedKernelsPerRun = 48;

// The longest wait for the locks of entries that another process is making.
constexpr std::chrono::seconds kLongestWait{60};
// Raise it when the same code is compiled or stored differently.
constexpr int kCompileVersion = 2;

std::string code_of(std::span<const Source> sources) {
  std::string code;
  for (const Source& source : sources)
    code +=
        fmt::format("{} {} {} {}\n{}\n", source.threads, source.shared_bytes, source.has_barrier,
                    source.cluster, source.code_key.empty() ? source.text : source.code_key);
  return code;
}

}  // namespace

CompileUnit::CompileUnit(std::vector<Source> sources)
    : sources_(std::move(sources)), code_hash_(hash_of(code_of(sources_))) {}

CompileService::CompileService(const DeviceState& device) : device_(device) {}
CompileService::~CompileService() = default;

std::vector<CompileResult> CompileService::compile(std::span<const CompileUnit> units,
                                                   const CompileSettings& settings,
                                                   const std::stop_token& stop_token) {
  std::vector<KernelCache::Claim> claims;
  std::vector<Job> missing;
  std::vector<std::size_t> positions;  // indices of the missing units
  const std::shared_ptr<const KeyParts> parts = key_parts_for(settings);
  claims.reserve(units.size());
  std::vector<CompileResult> results(units.size(), {.unit = nullptr, .was_cached = true});
  try {
    for (const CompileUnit& unit : units) {
      claims.push_back(cache_.claim({.settings = parts->hash, .code = unit.code_hash()}));
      if (!claims.back().promise) continue;
      positions.push_back(claims.size() - 1);
      missing.push_back({.unit = &unit, .claim = claims.back()});
      const std::string code = code_of(unit.sources());
      if (!parts->host.empty()) missing.back().host = name_of(parts->host + code);
      if (!parts->cubin.empty()) missing.back().cubin = name_of(parts->cubin + code);
    }
  } catch (...) {  // fail all claims, so that no other thread waits for them
    for (const KernelCache::Claim& claim : claims)
      if (claim.promise) cache_.fail(claim, std::current_exception());
    throw;
  }
  // The units that others wait for come first, so that two calls never wait for each other.
  if (!missing.empty()) make(missing, settings, {.stop_token = stop_token});
  for (std::size_t i = 0; i < missing.size(); ++i)
    results[positions[i]].was_cached =
        !missing[i].is_host_compiled && !missing[i].is_cubin_compiled;
  for (std::size_t i = 0; i < results.size(); ++i) results[i].unit = claims[i].unit.get();
  return results;
}

std::shared_ptr<const CompileService::KeyParts> CompileService::key_parts_for(
    const CompileSettings& settings) {
  {
    const std::lock_guard lock(mutex_);
    if (key_parts_ && key_parts_->settings == settings) return key_parts_;
  }
  DiskCache& disk = disk_cache(settings.cache);
  const bool by_nvrtc = !device_.is_host || (settings.also_nvrtc && !nvrtc_identity(disk).empty());
  auto parts = std::make_shared<KeyParts>();
  parts->settings = settings;
  if (device_.is_host)
    parts->host = fmt::format("host kernels, way {}, {}\n", kCompileVersion,
                              host_build_identity(disk, settings.host));
  if (by_nvrtc)
    parts->cubin = fmt::format("cubin, way {}, {}\n", kCompileVersion,
                               nvrtc_build_identity(disk, settings.arch));
  parts->hash = hash_of(parts->host + parts->cubin);
  const std::lock_guard lock(mutex_);
  return key_parts_ = std::move(parts);
}

CompileCounters CompileService::counters() const {
  return {.hits = cache_.hits(),
          .misses = cache_.misses(),
          .compiles = compiles_,
          .evicted = cache_.evicted()};
}

/// Fulfils or fails every claim in all cases, so that no other thread waits for ever.
void CompileService::make(std::span<Job> missing, const CompileSettings& settings,
                          const Cancellation& cancellation) {
  std::exception_ptr error;
  try {
    fetch(missing, settings, DiskCache::Lookup::counted);
    std::vector<CacheName> names;
    for (const Job& job : missing)
      for (const std::optional<CacheName>& name : {job.host, job.cubin})
        if (name) names.push_back(*name);
    // NVRTC's reports on the host device are optional: without NVRTC they hold the reason.
    if (settings.also_nvrtc && nvrtc_identity(disk_cache(settings.cache)).empty())
      for (Job& job : missing)
        job.made->cubins.assign(job.unit->sources().size(), {.reason = nvrtc_problem()});
    if (!names.empty()) {
      // Another process may have made the units while this one waited for the lock.
      const CacheLock lock = disk_cache(settings.cache).lock(names, kLongestWait);
      fetch(missing, settings, DiskCache::Lookup::retry);
      compile_missing(missing, settings, cancellation);
    }
  } catch (...) {
    error = std::current_exception();
  }
  for (Job& job : missing) {
    if (error || job.error || job.cubin_error)
      cache_.fail(job.claim, error ? error : job.error ? job.error : job.cubin_error);
    else
      cache_.fulfil(job.claim, job.made);
  }
}

void CompileService::compile_missing(std::span<Job> missing, const CompileSettings& settings,
                                     const Cancellation& cancellation) {
  std::vector<std::function<void()>> runs;
  // Runs of the host compiler are the slowest, so they start first.
  const std::size_t max_kernels =
      settings.host.optimize ? kKernelsPerRun : kUnoptimizedKernelsPerRun;
  std::vector<Job*> part;
  const auto add_host_run = [&] {
    if (part.empty()) return;
    runs.push_back([this, &settings, &cancellation, part] {
      try {
        cancellation.check();
        compile_host(part, settings);
      } catch (...) {
        for (Job* job : part) job->error = std::current_exception();
      }
    });
    part.clear();
  };
  std::size_t kernels = 0;
  for (Job& job : missing) {
    if (!job.host) continue;
    part.push_back(&job);
    kernels += job.unit->sources().size();
    if (kernels < max_kernels) continue;
    add_host_run();
    kernels = 0;
  }
  add_host_run();
  for (Job& job : missing)
    if (job.cubin)
      runs.push_back([this, &settings, &cancellation, &job] {
        try {
          cancellation.check();
          compile_cubin(job, settings);
        } catch (...) {
          job.cubin_error = std::current_exception();
        }
      });
  run_parallel(runs);
}

void CompileService::compile_host(std::span<Job* const> jobs, const CompileSettings& settings) {
  std::vector<HostKernel> kernels;
  std::unordered_set<std::string> entries;  // equal names mean equal kernels
  for (const Job* job : jobs)
    for (const Source& source : job->unit->sources())
      if (entries.insert(source.entry).second)
        kernels.push_back({.entry = source.entry,
                           .text = source.text,
                           .threads = source.threads,
                           .has_barrier = source.has_barrier});
  ++compiles_;
  count(Count::compiles);
  const TraceSpan span("compile", [&] {
    return fmt::format("C++ compiler: {} and {} more functions", kernels[0].entry,
                       kernels.size() - 1);
  });
  const std::string prelude = HostCompiler::prelude_of(kernels);
  const HostImage image =
      host_compiler(disk_cache(settings.cache)).compile(prelude, kernels, settings.host);
  const auto module = std::make_shared<const Module>(device_, image.image.data(), kernels[0].entry);
  for (Job* job : jobs) {
    std::vector<std::string> names;
    for (const Source& source : job->unit->sources()) names.push_back(source.entry);
    job->is_host_compiled = true;
    job->made->module = module;
    job->made->milliseconds = image.milliseconds;
    load_functions(*job->made, *job->unit, names, /*reports=*/{});
  }
  store_host(jobs, HostCompiler::text(prelude, kernels), image, module, settings);
}

void CompileService::compile_cubin(Job& job, const CompileSettings& settings) {
  ++compiles_;
  count(Count::compiles);
  const TraceSpan span("compile", [&] {
    return fmt::format("NVRTC: {} and {} more functions", job.unit->sources()[0].entry,
                       job.unit->sources().size() - 1);
  });
  NvrtcUnit unit = compile_and_load(nvrtc_choice(), job.unit->sources(), settings.arch,
                                    [&](const NvrtcUnit& compiled) { load(job, compiled); });
  job.is_cubin_compiled = true;
  if (!device_.is_host) job.made->milliseconds = unit.milliseconds;
  store_cubin(job, unit, settings);
  keep(job, std::move(unit));
}

void CompileService::load(Job& job, const NvrtcUnit& unit) const {
  if (device_.is_host) return;
  job.made->module =
      std::make_shared<const Module>(device_, unit.image.data(), job.unit->sources()[0].entry);
  load_functions(*job.made, *job.unit, unit.entries, unit.reports);
}

void CompileService::keep(Job& job, NvrtcUnit unit) {
  job.made->cubins = std::move(unit.reports);
  job.made->ptx = std::move(unit.ptx);
  job.made->image = std::move(unit.image);
}

void CompileService::load_functions(CompiledUnit& made, const CompileUnit& unit,
                                    std::span<const std::string> entries,
                                    std::span<const CubinReport> reports) const {
  made.functions.clear();
  for (std::size_t i = 0; i < entries.size(); ++i)
    made.functions.push_back(load_function(device_, *made.module, unit.sources()[i], entries[i],
                                           reports.empty() ? CubinReport() : reports[i]));
}

}  // namespace sinter
