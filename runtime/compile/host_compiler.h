// Compiles emitted kernels for the host device, with the system's C++ compiler.
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
  int threads = 1024;        // the most that a block may have
  bool has_barrier = false;  // calls block_barrier(), warp_xor() or what builds on them
};

/// How kernels are built.
struct HostBuild {
  bool count = false;    // loads and stores count their bytes
  bool optimize = true;  // false is built sooner and runs slower
  friend bool operator==(const HostBuild&, const HostBuild&) = default;
};

struct HostImage {
  std::vector<std::byte> image;  // a shared object, for cuModuleLoadData of the host driver
  double milliseconds = 0;
};

/// The path of the compiler of this name, or of the first that there is of $SINTER_HOST_CXX, c++,
/// g++ and clang++ where it is "". Throws CompileError if there is none.
std::string find_host_compiler(const std::string& name = {});

/// The processors that run what a compiler makes here: `x86-64-v3`.
std::string_view host_machine();
/// True if this machine runs what was made for `machine`.
bool runs_host_machine(std::string_view machine);

class HostCompiler {
 public:
  struct Options {
    /// A program's path or name; "" looks for $SINTER_HOST_CXX, c++, g++ and clang++ in turn.
    std::string command;
    /// What it calls itself; "" asks it.
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
  /// The prelude as far as `kernels` need it.
  static std::string prelude_of(std::span<const HostKernel> kernels);
  /// The translation unit that `compile` makes of them.
  static std::string text(std::string_view prelude, std::span<const HostKernel> kernels);
  /// Compiles such a text once more.
  HostImage compile_text(const std::string& text, const HostBuild& build) const;

  /// `g++ (Debian 12.2.0-14) 12.2.0`
  const std::string& name() const { return name_; }
  /// All that decides, beside source and HostBuild, what comes out: compiler, version, flags.
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
