// HostCompiler: compiles emitted kernels for the host device with the system's C++ compiler.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/process.h"

namespace sinter {

/// One emitted kernel: `extern "C" __global__ void <entry>(…)`.
struct HostKernel {
  std::string entry;
  std::string text;
  int threads = 1024;        // upper bound of a block's threads
  bool has_barrier = false;  // calls block_barrier(), warp_xor() or functions that use them
};

/// Build settings of kernels.
struct HostBuild {
  bool count = false;     // loads and stores count their bytes
  bool optimize = true;   // false compiles faster and runs slower
  bool portable = false;  // for saved files: at most x86-64-v3, also on newer processors
  friend bool operator==(const HostBuild&, const HostBuild&) = default;
};

struct HostImage {
  std::vector<std::byte> image;  // a shared object, for cuModuleLoadData of the host driver
  double milliseconds = 0;
};

/// The path of the compiler `name`. If that is "": of $SINTER_HOST_CXX if it is set, else of the
/// first of c++, g++ and clang++. Throws CompileError if there is none.
std::string find_host_compiler(const std::string& name = {});

/// The instruction set that this machine compiles kernels for: `x86-64-v4` with AVX-512,
/// `x86-64-v3` with AVX2, else `x86-64`. A level instead of -march=native, so that machines of one
/// level can share a cache. Kernels give equal bits on all levels.
std::string_view host_machine();
/// The instruction set of builds that are `portable`: at most `x86-64-v3`.
std::string_view portable_host_machine();
/// True if this machine can run kernels that were compiled for `machine`.
bool runs_host_machine(std::string_view machine);

/// Starting the compiler costs as much as compiling a few kernels, so kernels share a run.
inline constexpr std::size_t kKernelsPerRun = 16;

class HostCompiler {
 public:
  struct Options {
    /// A program's path or name; "" searches as find_host_compiler does.
    std::string command;
    /// The first line of its --version; "" runs it to find out.
    std::string name;
    std::chrono::milliseconds time_limit = std::chrono::minutes(2);  ///< per kernel
  };

  /// Throws CompileError if there is no compiler.
  HostCompiler();
  explicit HostCompiler(const Options& options);

  /// Compiles the prelude and all kernels as one translation unit. Throws CompileError. Any number
  /// of threads may compile at once.
  HostImage compile(std::string_view prelude, std::span<const HostKernel> kernels,
                    const HostBuild& build = {}) const;
  /// The parts of the prelude that `kernels` need.
  static std::string prelude_of(std::span<const HostKernel> kernels);
  /// The translation unit that `compile` compiles.
  static std::string text(std::string_view prelude, std::span<const HostKernel> kernels);
  /// Compiles a text that `text` returned. Throws CompileError.
  HostImage compile_text(const std::string& text, const HostBuild& build) const;

  /// `g++ (Debian 12.2.0-14) 12.2.0`
  const std::string& name() const { return name_; }
  /// Everything except source and HostBuild that determines the image: compiler, version, flags.
  const std::string& version() const { return version_; }

 private:
  ProcessResult run(const std::string& text, const HostBuild& build,
                    const std::string& folder) const;

  std::string command_;
  std::chrono::milliseconds time_limit_;
  std::string name_;
  std::string version_;
};

}  // namespace sinter
