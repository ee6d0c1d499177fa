// The compile service: emitted sources in, loaded functions out. NVRTC for CUDA devices, the
// system's C++ compiler for the host device, each unit at most once per process, and of all
// processes that share a disk cache in one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "codegen/text/source.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/support/cancellation.h"
#include "runtime/support/weak_map.h"

namespace sinter {

/// What is compiled and cached as one: a kernel under each of its candidate schedules.
class CompileUnit {
 public:
  CompileUnit(std::vector<Source> sources);  // NOLINT: they are the unit

  const std::vector<Source>& sources() const { return sources_; }
  /// Of what the kernels do, whatever they are called.
  const TextHash& code_hash() const { return code_hash_; }

 private:
  std::vector<Source> sources_;
  TextHash code_hash_;
};

struct CompileSettings {
  std::string arch;         ///< for NVRTC: `sm_90`
  HostBuild host;           ///< host device: how kernels are built
  bool also_nvrtc = false;  ///< host device: compile by NVRTC too
  CacheOptions cache = {.mode = CacheMode::off};
  friend bool operator==(const CompileSettings&, const CompileSettings&) = default;
};

struct CompileResult {
  CompiledUnitPointer unit;
  bool was_cached = false;  ///< in memory, or on disk
};

class CompileService {
 public:
  explicit CompileService(const DeviceState& device);
  ~CompileService();

  /// Compiles what the cache does not have, in parallel, and waits for what other threads compile.
  /// Throws CompileError, and DriverError where a module cannot be loaded. From when `process_ends`
  /// is asked to stop no more runs of a compiler begin: that, and for who waits, throws Cancelled.
  std::vector<CompileResult> compile(std::span<const CompileUnit> units,
                                     const CompileSettings& settings,
                                     const std::stop_token& process_ends = {});

  CompileCounters counters() const;

 private:
  struct Job;
  /// What decides, beside the code of its kernels, what the compilers make of a unit.
  struct Heads {
    CompileSettings settings;
    std::string host;   ///< for the host compiler; empty: it has nothing to do
    std::string cubin;  ///< the same of NVRTC
    TextHash hash;      ///< of both
  };

  std::shared_ptr<const Heads> heads_of(const CompileSettings& settings);
  void make(std::span<Job> missing, const CompileSettings& settings,
            const Cancellation& cancellation);
  void compile_missing(std::span<Job> missing, const CompileSettings& settings,
                       const Cancellation& cancellation);
  void compile_host(std::span<Job* const> jobs, const CompileSettings& settings);
  void compile_cubin(Job& job, const CompileSettings& settings);
  /// The functions of `entries`, one for each source of the unit.
  void load_functions(CompiledUnit& made, const CompileUnit& unit,
                      std::span<const std::string> entries) const;
  /// Makes what NVRTC made part of the unit.
  void take(Job& job, NvrtcUnit unit) const;

  // What the disk cache has of them; compile_service_disk.cpp.
  void fetch(std::span<Job> jobs, const CompileSettings& settings, DiskCache::Look look);
  void fetch_host(Job& job, const CompileSettings& settings, DiskCache::Look look);
  void fetch_cubin(Job& job, const CompileSettings& settings, DiskCache::Look look) const;
  /// Null if it is not there.
  std::shared_ptr<const Module> fetch_object(const CacheName& name, const CompileUnit& unit,
                                             const CompileSettings& settings);
  void store_host(std::span<Job* const> jobs, const std::string& text, const HostImage& image,
                  std::shared_ptr<const Module> module, const CompileSettings& settings);
  void store_cubin(const Job& job, const NvrtcUnit& unit, const CompileSettings& settings) const;

  const DeviceState& device_;
  KernelCache cache_;
  std::atomic<std::int64_t> compiles_ = 0;
  std::mutex mutex_;  ///< of what follows
  /// Objects of the host device that are loaded, by what they are called on disk.
  WeakMap<CacheName, const Module> objects_;
  std::shared_ptr<const Heads> heads_;  ///< of the latest call
};

}  // namespace sinter
