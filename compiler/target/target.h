// A GPU described as data, and what follows from it without one: occupancy and bytes in flight.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sinter {

/// What schedules and predictions need to know of a GPU.
struct Target {
  std::string_view name;
  std::string_view arch;        ///< as NVRTC spells it: `sm_90`
  int compute_capability = 90;  ///< major * 10 + minor
  int sm_count = 0;
  int registers_per_sm = 65536;
  int max_threads_per_sm = 2048;
  int max_blocks_per_sm = 32;
  int max_registers_per_thread = 255;
  std::int64_t shared_per_sm = 0;            ///< bytes
  std::int64_t shared_per_block_opt_in = 0;  ///< bytes
  std::int64_t l2_bytes = 0;
  int max_cluster = 1;   ///< blocks of a cluster that every GPU with clusters can run; 1: none
  double bandwidth = 0;  ///< bytes per second that long streams reach
  std::int64_t bytes_in_flight = 0;  ///< per SM, needed to reach that
  double launch_seconds = 0;         ///< fixed cost of one kernel in a CUDA Graph
  double stream_launch_seconds = 0;  ///< the same in a stream
  double barrier_seconds = 0;        ///< of all blocks of a kernel
};

/// Every GPU that sinter knows by name; the first is the default.
std::span<const Target> known_targets();
/// The target for an architecture such as `sm_90`, or a name such as `h200`; nullptr if unknown.
const Target* find_target(std::string_view arch_or_name);

/// What a barrier of a cluster takes: assumed, not measured yet.
inline constexpr double kClusterBarrierSeconds = 0.7e-6;
/// Blocks of a cluster that some devices of the target can run: each has to be asked.
int largest_cluster(const Target& target);
/// Blocks of a kernel that are resident on one SM at once.
int blocks_per_sm(const Target& target, int threads, int registers, std::int64_t shared_bytes);

/// Instructions of single threads per second, at the clock that memory-bound kernels are seen to
/// run at.
double issue_rate(const Target& target);

}  // namespace sinter
