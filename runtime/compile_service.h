// The compile service: emitted sources in, loaded functions out. NVRTC for CUDA devices, the
// system's C++ compiler for the host device, each unit at most once per process.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/source.h"
#include "runtime/host_compiler.h"
#include "runtime/kernel_cache.h"

namespace sinter {

/// What is compiled and cached as one: a kernel under each of its candidate schedules.
struct CompileUnit {
  std::vector<Source> sources;
};

struct CompileSettings {
  std::string arch;         ///< for NVRTC: `sm_90`
  HostBuild host;           ///< host device: how kernels are built
  bool also_nvrtc = false;  ///< host device: compile by NVRTC too
};

struct CompileResult {
  CompiledUnitPointer unit;
  bool was_cached = false;
};

class CompileService {
 public:
  explicit CompileService(const DeviceState& device);
  ~CompileService();

  /// Compiles what the cache does not have, in parallel, and waits for what other threads compile.
  /// Throws CompileError, and DriverError where a module cannot be loaded.
  std::vector<CompileResult> compile(std::span<const CompileUnit> units,
                                     const CompileSettings& settings);

  CompileCounters counters() const;

 private:
  struct Job;

  std::string key_of(const CompileUnit& unit, const CompileSettings& settings) const;
  void compile_missing(std::span<Job> missing, const CompileSettings& settings);
  void compile_host(std::span<Job> jobs, const CompileSettings& settings);
  void compile_cuda(Job& job, const CompileSettings& settings);
  void add_cubins(Job& job, const CompileSettings& settings);
  CompiledFunction load_function(const Module& module, const Source& source) const;

  const DeviceState& device_;
  KernelCache cache_;
  std::atomic<std::int64_t> compiles_ = 0;
};

}  // namespace sinter
