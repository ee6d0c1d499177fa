// The compile service turns emitted sources into loaded functions: by NVRTC for CUDA devices, by
// the system's C++ compiler for the host device. Each unit is compiled at most once per process. Of
// all processes that share a disk cache, one compiles it.
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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

namespace sinter {

/// The unit of compiling and caching: one kernel under each of its candidate schedules.
class CompileUnit {
 public:
  CompileUnit(std::vector<Source> sources);  // NOLINT: sources convert to their unit

  const std::vector<Source>& sources() const { return sources_; }
  /// The hash of the code without names.
  const TextHash& code_hash() const { return code_hash_; }

 private:
  std::vector<Source> sources_;
  TextHash code_hash_;
};

struct CompileSettings {
  std::string arch;         ///< for NVRTC: `sm_90`, or `compute_90` for PTX
  HostBuild host;           ///< host device: build options
  bool also_nvrtc = false;  ///< host device: also compile with NVRTC, for reports
  bool ptx = false;         ///< GPUs: PTX instead of machine code
  CacheOptions cache = {.mode = CacheMode::off};
  friend bool operator==(const CompileSettings&, const CompileSettings&) = default;
};

struct CompileResult {
  CompiledUnitPointer unit;
  bool was_cached = false;  ///< found in memory or on disk
};

class CompileService {
 public:
  explicit CompileService(const DeviceState& device);
  ~CompileService();

  /// Compiles the units that the caches lack, in parallel, and waits for units that other threads
  /// compile. Returns one result per unit. Throws CompileError, and DriverError if a module cannot
  /// be loaded. After a stop request on `stop_token` no compiler run begins: this call, and
  /// others that wait for its units, throw Cancelled.
  std::vector<CompileResult> compile(std::span<const CompileUnit> units,
                                     const CompileSettings& settings,
                                     const std::stop_token& stop_token = {});

  CompileCounters counters() const;

 private:
  /// A unit that one call must make, because it is missing from the kernel cache in memory.
  struct Job {
    const CompileUnit* unit = nullptr;
    KernelCache::Claim claim;
    std::shared_ptr<CompiledUnit> made = std::make_shared<CompiledUnit>();
    // Set by the call. Both compilers may work on the unit at once, in separate threads.
    bool is_host_compiled = false;
    bool is_cubin_compiled = false;
    std::exception_ptr error;
    std::exception_ptr cubin_error;
    // The names of the disk cache entries that are still missing: the host compiler's and NVRTC's.
    std::optional<CacheName> host = {};
    std::optional<CacheName> cubin = {};
  };
  /// The parts of a unit's key other than its code: compilers, options and preludes.
  struct KeyParts {
    CompileSettings settings;
    std::string host;   ///< of the host compiler; empty: it is not used
    std::string cubin;  ///< of NVRTC; empty: it is not used
    TextHash hash;      ///< of both
  };

  std::shared_ptr<const KeyParts> key_parts_for(const CompileSettings& settings);
  void make(std::span<Job> missing, const CompileSettings& settings,
            const Cancellation& cancellation);
  void compile_missing(std::span<Job> missing, const CompileSettings& settings,
                       const Cancellation& cancellation);
  void compile_host(std::span<Job* const> jobs, const CompileSettings& settings);
  void compile_cubin(Job& job, const CompileSettings& settings);
  /// Loads the functions `entries`, one per source of the unit, into `made`. `reports` are on their
  /// machine code; empty on the host device.
  void load_functions(CompiledUnit& made, const CompileUnit& unit,
                      std::span<const std::string> entries,
                      std::span<const CubinReport> reports) const;
  /// Loads the functions of NVRTC's output on a CUDA device.
  void load(Job& job, const NvrtcUnit& unit) const;
  /// Moves NVRTC's output into the unit.
  static void keep(Job& job, NvrtcUnit unit);

  // Lookups and stores in the disk cache; compile_service_disk.cpp.
  void fetch(std::span<Job> jobs, const CompileSettings& settings, DiskCache::Lookup lookup);
  void fetch_host(Job& job, const CompileSettings& settings, DiskCache::Lookup lookup);
  void fetch_cubin(Job& job, const CompileSettings& settings, DiskCache::Lookup lookup) const;
  /// Adds to `objects_`. The caller holds `mutex_`.
  void add_object(const CacheName& name, const std::shared_ptr<const Module>& module);
  /// The loaded shared object of that entry; null if there is no entry.
  std::shared_ptr<const Module> fetch_object(const CacheName& name, const CompileUnit& unit,
                                             const CompileSettings& settings);
  void store_host(std::span<Job* const> jobs, const std::string& text, const HostImage& image,
                  const std::shared_ptr<const Module>& module, const CompileSettings& settings);
  void store_cubin(const Job& job, const NvrtcUnit& unit, const CompileSettings& settings) const;

  const DeviceState& device_;
  KernelCache cache_;
  std::atomic<std::int64_t> compiles_ = 0;
  std::mutex mutex_;  ///< guards the members below
  /// Loaded shared objects of the host device, by the names of their disk cache entries.
  std::map<CacheName, std::weak_ptr<const Module>> objects_;
  std::size_t max_objects_ = 64;               ///< beyond it, unloaded ones are removed
  std::shared_ptr<const KeyParts> key_parts_;  ///< of the latest settings
};

}  // namespace sinter
