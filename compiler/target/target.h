// Describes GPUs as data and derives occupancy from that data, so that planning needs no device.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

/// In Target::active_clusters: the number is not known.
inline constexpr int kUnknownClusters = -1;

/// The properties of a GPU that schedules and cost predictions use.
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
  int max_cluster = 1;  ///< portable cluster size in blocks; 1: no clusters
  /// Clusters of 2, 4, 8 and 16 blocks that the GPU runs at once, with one block per SM.
  std::array<int, 4> active_clusters = {kUnknownClusters, kUnknownClusters, kUnknownClusters,
                                        kUnknownClusters};
  double bandwidth = 0;              ///< achievable bytes per second for long streams
  std::int64_t bytes_in_flight = 0;  ///< per SM, needed to reach `bandwidth`
  // From published runs of RRZE-HPC/gpu-benches on an H200 (gpu-small-kernels). Assumptions for
  // other GPUs.
  double launch_seconds = 1.3e-6;         ///< fixed cost of one kernel in a CUDA Graph
  double stream_launch_seconds = 2.5e-6;  ///< fixed cost of one kernel in a stream
  double barrier_seconds = 1.2e-6;        ///< one grid-wide barrier
  // Assumptions, until bench/measure_gpu has measured them (measured_constants.h).
  double cluster_barrier_seconds = 0.7e-6;  ///< one barrier of a cluster
  /// Blocks of a cooperative launch stay and take one piece of work after another. They lose this
  /// fraction of the memory bandwidth.
  double cooperative_loss = 0.01;
  double tile_copy_seconds = 1e-6;  ///< a block waits so long for its copy of a resident tile
  double tile_speedup = 4;          ///< speed of work on resident tiles, relative to memory
  /// Schedules are for the host device's CPU: blocks of one thread with long vectors
  /// (cpu_candidates.h). The other properties serve fusion, which decides as for a GPU.
  bool is_cpu = false;
};

/// Every GPU that sinter knows by name; the first is the default.
std::span<const Target> known_targets();
/// The CPU of the host device, under the name `cpu`.
const Target& cpu_target();
/// Every architecture that find_target accepts.
std::vector<std::string_view> known_archs();
/// Every architecture and name that find_target accepts.
std::vector<std::string_view> known_archs_and_names();
/// Returns the target for an architecture such as `sm_90` or a name such as `h200` or `cpu`;
/// nullptr if unknown. An architecture without a named GPU, such as `sm_103`, has a target of its
/// own.
const Target* find_target(std::string_view arch_or_name);
/// The compute capability of an architecture: 90 for `sm_90`. 0 if `arch` is not an architecture.
int compute_capability_of(std::string_view arch);
/// The target whose architecture is the newest that is not newer than `compute_capability`. The
/// first target if all are newer.
const Target& nearest_older_target(int compute_capability);

/// The bandwidth that long streams reach on a GPU whose data sheet states `peak`.
double reached_of_peak(double peak);

/// The largest cluster, in blocks, that some devices of the target support. The caller must query
/// each device.
int largest_cluster(const Target& target);
/// Clusters of `cluster` blocks, a power of two, that run at once with one block per SM. An
/// estimate if the target does not state the number. 0: the target has no such clusters.
int clusters_at_once(const Target& target, int cluster);
/// Blocks of a kernel that are resident on one SM at once.
int blocks_per_sm(const Target& target, int threads, int registers, std::int64_t shared_bytes);

/// Thread-level instructions per second of the whole GPU, at an assumed clock.
double issue_rate(const Target& target);

}  // namespace sinter
