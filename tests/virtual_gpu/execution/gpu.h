// Gpu: a device that executes launches of decoded kernels. The driver double owns one per device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"
#include "tests/virtual_gpu/checks/violation.h"
#include "tests/virtual_gpu/execution/counts.h"
#include "tests/virtual_gpu/isa/lane_state.h"
#include "tests/virtual_gpu/memory/global_memory.h"

namespace sinter::virtual_gpu {

struct Program;  // program/program.h: the decoded kernels of a module

/// The limits of a GPU that decide which blocks run at once.
struct GpuLimits {
  int compute_capability = 90;
  int sm_count = 4;
  int registers_per_sm = 65536;
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  std::int64_t shared_per_sm = 233472;
  std::int64_t shared_per_block = 232448;  ///< opt-in maximum
  bool has_clusters = true;
  int sms_per_gpc = 16;  ///< a cluster runs in one GPC
};

/// The order in which warps, blocks and lanes advance. The results must not depend on it.
enum class Schedule : std::uint8_t {
  fair,         ///< turns of a fixed number of instructions
  random,       ///< by a seed
  adversarial,  ///< by a seed, one warp or block far ahead of the others, late blocks, last first
};

struct GpuOptions {
  Schedule schedule = Schedule::fair;
  std::uint64_t seed = 0;
  Approximations approximations;
  bool checks_memory = true;
  bool checks_initialization = true;
  bool checks_races = true;
};

struct Index3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchRequest {
  std::shared_ptr<const Program> program;
  int entry = 0;  ///< index of the kernel in the program
  Index3 grid, block, cluster;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;  ///< laid out as the kernel's `.param` variables
  bool is_cooperative = false;
  /// The launch may begin before its predecessors `waits_for` have ended.
  std::vector<std::uint32_t> waits_for = {};
  std::function<bool(std::uint32_t earlier)> is_ordered;  ///< see HappensBefore::begin_launch
};

/// Executes launches. All functions are called by one thread at a time.
class Gpu {
 public:
  Gpu(GpuLimits limits, GpuOptions options, GlobalMemory& memory, HappensBefore& order);
  ~Gpu();

  /// Loads the variables of a module: allocates and initialises them.
  std::shared_ptr<const Program> load(std::string ptx);

  /// The blocks of a kernel that are resident on one SM at once. Registers are those that ptxas
  /// would need at least: `maxnreg` and launch bounds only; so the figure is an upper bound.
  int blocks_per_sm(const Program& program, int entry, int threads, std::int64_t shared) const;
  /// The clusters of a launch that are resident at once.
  int active_clusters(const LaunchRequest& request) const;

  /// Starts a launch and returns its serial number. Throws Violation if it can never run: a
  /// cooperative grid or a cluster that does not fit.
  std::uint32_t start(LaunchRequest request);
  /// True if every block of the launch has executed `griddepcontrol.launch_dependents` or ended,
  /// so that a dependent launch may begin.
  bool lets_dependents_start(std::uint32_t launch) const;
  bool is_done(std::uint32_t launch) const;
  /// The instructions that the warps of all launches have executed so far.
  std::uint64_t executed_instructions() const;
  /// Runs blocks of the started launches for a while. Throws Violation on a broken rule; the device
  /// is then unusable, as after a fault on a GPU. Returns false if nothing is left to run.
  bool run_some();

  /// The counts of a finished launch.
  const LaunchCounts& counts(std::uint32_t launch) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sinter::virtual_gpu
