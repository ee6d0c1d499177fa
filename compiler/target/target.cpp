#include "compiler/target/target.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "compiler/target/gpu_constants.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr int kMaxThreadsPerBlock = 1024;
/// Each SM has four partitions; each holds a quarter of the SM's registers.
constexpr int kPartitions = 4;
constexpr int kRegisterGranularity = 256;  ///< per warp

/// Fraction of the data sheet's bandwidth that long streams reach. CUB's DeviceTransform moves
/// 12.9 GB in 2.907 ms on an H200 (NVIDIA/cccl PR #2086). An assumption for other GPUs.
constexpr double kReached = 4.43 / 4.8;

// Clusters of 2, 4, 8 and 16 blocks on H100 SXM. Measured: clusters of 8 reach 120 of 132 SMs
// (NVIDIA/cutlass issue 1921, accel-sim/gpu-app-collection PR 87). The other numbers assume GPCs
// that agree with this: one of 14, four of 16 and three of 18 SMs. GPCs have an even number of SMs,
// at most 18 (NVIDIA's H100 white paper). Dies differ, so the runtime asks each device.
constexpr std::array<int, 4> kClustersOfGh100 = {66, 31, 15, 7};

// From NVIDIA's documents: the limits of each chip (CUDA C++ Programming Guide, technical
// specifications per compute capability), and its SMs, L2 and bandwidth (data sheets). From CUB's
// tuning of DeviceTransform (`cc_to_min_bytes_in_flight` in NVIDIA/cccl): the bytes in flight of
// A100, H100, H200 and B200. Those of other GPUs are assumptions.
// clang-format off
constexpr Target kTargets[] = {
    {.name = "h200", .arch = "sm_90", .compute_capability = 90, .sm_count = 132, .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 50 * kMiB, .max_cluster = kPortableCluster, .active_clusters = kClustersOfGh100, .bandwidth = 4.43e12, .bytes_in_flight = 48 * kKiB},
    {.name = "h100", .arch = "sm_90", .compute_capability = 90, .sm_count = 132, .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 50 * kMiB, .max_cluster = kPortableCluster, .active_clusters = kClustersOfGh100, .bandwidth = kReached * 3.35e12, .bytes_in_flight = 32 * kKiB},
    {.name = "h100_pcie", .arch = "sm_90", .compute_capability = 90, .sm_count = 114, .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 50 * kMiB, .max_cluster = kPortableCluster, .bandwidth = kReached * 2.0e12, .bytes_in_flight = 32 * kKiB},
    {.name = "gh200", .arch = "sm_90", .compute_capability = 90, .sm_count = 132, .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 50 * kMiB, .max_cluster = kPortableCluster, .active_clusters = kClustersOfGh100, .bandwidth = kReached * 4.0e12, .bytes_in_flight = 40 * kKiB},
    {.name = "a100", .arch = "sm_80", .compute_capability = 80, .sm_count = 108, .shared_per_sm = 167936, .shared_per_block_opt_in = 166912,
     .l2_bytes = 40 * kMiB, .bandwidth = kReached * 2.039e12, .bytes_in_flight = 16 * kKiB},
    {.name = "a100_40gb", .arch = "sm_80", .compute_capability = 80, .sm_count = 108, .shared_per_sm = 167936, .shared_per_block_opt_in = 166912,
     .l2_bytes = 40 * kMiB, .bandwidth = kReached * 1.555e12, .bytes_in_flight = 16 * kKiB},
    {.name = "b200", .arch = "sm_100", .compute_capability = 100, .sm_count = 148, .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 126 * kMiB, .max_cluster = kPortableCluster, .bandwidth = kReached * 8.0e12, .bytes_in_flight = 64 * kKiB},
    {.name = "rtx_5090", .arch = "sm_120", .compute_capability = 120, .sm_count = 170, .max_threads_per_sm = 1536, .max_blocks_per_sm = 24,
     .shared_per_sm = 102400, .shared_per_block_opt_in = 101376,
     .l2_bytes = 96 * kMiB, .max_cluster = kPortableCluster, .bandwidth = kReached * 1.792e12, .bytes_in_flight = 16 * kKiB},
    {.name = "rtx_4090", .arch = "sm_89", .compute_capability = 89, .sm_count = 128, .max_threads_per_sm = 1536, .max_blocks_per_sm = 24,
     .shared_per_sm = 102400, .shared_per_block_opt_in = 101376,
     .l2_bytes = 72 * kMiB, .bandwidth = kReached * 1.008e12, .bytes_in_flight = 16 * kKiB},
    {.name = "l40s", .arch = "sm_89", .compute_capability = 89, .sm_count = 142, .max_threads_per_sm = 1536, .max_blocks_per_sm = 24,
     .shared_per_sm = 102400, .shared_per_block_opt_in = 101376,
     .l2_bytes = 96 * kMiB, .bandwidth = kReached * 0.864e12, .bytes_in_flight = 16 * kKiB},
    {.name = "a10", .arch = "sm_86", .compute_capability = 86, .sm_count = 72, .max_threads_per_sm = 1536, .max_blocks_per_sm = 16,
     .shared_per_sm = 102400, .shared_per_block_opt_in = 101376,
     .l2_bytes = 6 * kMiB, .bandwidth = kReached * 0.6e12, .bytes_in_flight = 16 * kKiB},
    {.name = "t4", .arch = "sm_75", .compute_capability = 75, .sm_count = 40, .max_threads_per_sm = 1024, .max_blocks_per_sm = 16,
     .shared_per_sm = 65536, .shared_per_block_opt_in = 65536,
     .l2_bytes = 4 * kMiB, .bandwidth = kReached * 0.32e12, .bytes_in_flight = 12 * kKiB},
};

// Architectures of GPUs that have no name here. The limits are from the CUDA C++ Programming Guide
// and from cuda_occupancy.h. The sizes are from the data sheet of one product: Jetson AGX Orin,
// B300, Jetson AGX Thor and GB10. Those of sm_88 are assumptions.
constexpr Target kArchTargets[] = {
    {.name = "sm_87", .arch = "sm_87", .compute_capability = 87, .sm_count = 16, .max_threads_per_sm = 1536, .max_blocks_per_sm = 16,
     .shared_per_sm = 167936, .shared_per_block_opt_in = 166912,
     .l2_bytes = 4 * kMiB, .bandwidth = kReached * 0.2048e12, .bytes_in_flight = 12 * kKiB},
    {.name = "sm_88", .arch = "sm_88", .compute_capability = 88, .sm_count = 16, .max_threads_per_sm = 1536, .max_blocks_per_sm = 16,
     .shared_per_sm = 102400, .shared_per_block_opt_in = 101376,
     .l2_bytes = 4 * kMiB, .bandwidth = kReached * 0.2048e12, .bytes_in_flight = 12 * kKiB},
    {.name = "sm_103", .arch = "sm_103", .compute_capability = 103, .sm_count = 148, .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 126 * kMiB, .max_cluster = kPortableCluster, .bandwidth = kReached * 8.0e12, .bytes_in_flight = 64 * kKiB},
    {.name = "sm_110", .arch = "sm_110", .compute_capability = 110, .sm_count = 20, .max_threads_per_sm = 1536, .max_blocks_per_sm = 24,
     .shared_per_sm = 233472, .shared_per_block_opt_in = 232448,
     .l2_bytes = 32 * kMiB, .max_cluster = kPortableCluster, .bandwidth = kReached * 0.273e12, .bytes_in_flight = 12 * kKiB},
    {.name = "sm_121", .arch = "sm_121", .compute_capability = 121, .sm_count = 48, .max_threads_per_sm = 1536, .max_blocks_per_sm = 24,
     .shared_per_sm = 102400, .shared_per_block_opt_in = 101376,
     .l2_bytes = 24 * kMiB, .max_cluster = kPortableCluster, .bandwidth = kReached * 0.273e12, .bytes_in_flight = 12 * kKiB},
};
// clang-format on

// The H200 without clusters, so that fusion decides alike. A grid-wide barrier never pays: blocks
// would wait as fibers for what a second launch does at less cost.
constexpr Target kCpu = [] {
  Target cpu = kTargets[0];
  cpu.name = "cpu";
  cpu.max_cluster = 1;
  cpu.active_clusters.fill(kUnknownClusters);
  cpu.barrier_seconds = 1;
  cpu.is_cpu = true;
  return cpu;
}();

constexpr std::span<const Target> kAllTargets[] = {kTargets, kArchTargets};

/// Warps whose registers fit one SM; 0 if one block does not fit.
int warps_by_registers(const Target& target, int warps_per_block, int registers) {
  const std::int64_t per_warp = round_up(std::int64_t{registers} * kWarp, kRegisterGranularity);
  // The driver checks a launch as if each block allocated registers evenly in all partitions.
  const bool fits = per_warp * round_up(warps_per_block, kPartitions) <= target.registers_per_sm;
  if (!fits || registers > target.max_registers_per_thread) return 0;
  return static_cast<int>(target.registers_per_sm / kPartitions / per_warp) * kPartitions;
}

int blocks_by_shared(const Target& target, std::int64_t shared_bytes) {
  if (shared_bytes > target.shared_per_block_opt_in) return 0;
  // The driver reserves 1 KiB of shared memory per block from compute capability 8.0 on.
  const bool is_ampere_or_later = target.compute_capability >= 80;
  const std::int64_t reserved = is_ampere_or_later ? kKiB : 0;
  const std::int64_t allocated = round_up(shared_bytes + reserved, is_ampere_or_later ? 128 : 256);
  if (allocated == 0) return target.max_blocks_per_sm;
  return static_cast<int>(target.shared_per_sm / allocated);
}

}  // namespace

std::span<const Target> known_targets() { return kTargets; }

const Target& cpu_target() { return kCpu; }

std::vector<std::string_view> known_archs() {
  std::vector<std::string_view> known;
  for (const std::span<const Target> targets : kAllTargets)
    for (const Target& target : targets)
      if (!std::ranges::count(known, target.arch)) known.push_back(target.arch);
  return known;
}

std::vector<std::string_view> known_archs_and_names() {
  std::vector<std::string_view> known;
  for (const std::span<const Target> targets : kAllTargets)
    for (const Target& target : targets)
      for (const std::string_view word : {target.arch, target.name})
        if (!std::ranges::count(known, word)) known.push_back(word);
  known.push_back(kCpu.name);
  return known;
}

const Target* find_target(std::string_view arch_or_name) {
  if (arch_or_name == kCpu.name) return &kCpu;
  for (const std::span<const Target> targets : kAllTargets)
    for (const Target& target : targets)
      if (target.name == arch_or_name || target.arch == arch_or_name) return &target;
  return nullptr;
}

int compute_capability_of(std::string_view arch) {
  const std::size_t digits = arch.find('_') + 1;  // 0 if there is none
  int number = 0;
  if (digits > 0) std::from_chars(arch.data() + digits, arch.data() + arch.size(), number);
  return number;
}

const Target& nearest_older_target(int compute_capability) {
  const Target* nearest = nullptr;
  for (const std::span<const Target> targets : kAllTargets)
    for (const Target& target : targets)
      if (target.compute_capability <= compute_capability &&
          (!nearest || target.compute_capability > nearest->compute_capability))
        nearest = &target;
  return nearest ? *nearest : kTargets[0];
}

double reached_of_peak(double peak) { return kReached * peak; }

int largest_cluster(const Target& target) {
  // Consumer chips support only the portable cluster size.
  constexpr int kWithLarge[] = {90, 100, 103};
  const bool has_large = std::ranges::count(kWithLarge, target.compute_capability) > 0 &&
                         target.max_cluster == kPortableCluster;
  return has_large ? 2 * target.max_cluster : target.max_cluster;
}

int clusters_at_once(const Target& target, int cluster) {
  if (cluster == 1) return target.sm_count;
  if (cluster > largest_cluster(target)) return 0;
  const int stated =
      target.active_clusters[static_cast<std::size_t>(std::countr_zero(unsigned(cluster))) - 1];
  if (stated != kUnknownClusters) return std::min(stated, target.sm_count / cluster);
  // A cluster stays within one GPC. An assumption: GPCs have 18 SMs, except the last one.
  constexpr int kSmsPerGpc = 18;
  return target.sm_count / kSmsPerGpc * (kSmsPerGpc / cluster) +
         target.sm_count % kSmsPerGpc / cluster;
}

int blocks_per_sm(const Target& target, int threads, int registers, std::int64_t shared_bytes) {
  if (threads < 1 || threads > kMaxThreadsPerBlock) return 0;
  const int warps_per_block = (threads + kWarp - 1) / kWarp;
  const int by_warps = target.max_threads_per_sm / kWarp / warps_per_block;
  const int by_registers =
      registers == 0 ? by_warps
                     : warps_by_registers(target, warps_per_block, registers) / warps_per_block;
  return std::min(
      {target.max_blocks_per_sm, by_warps, by_registers, blocks_by_shared(target, shared_bytes)});
}

double issue_rate(const Target& target) {
  // Assumptions: a clock below the maximum, and the lanes of compute capability 8.6 and later.
  constexpr double kClock = 1.7e9;
  constexpr double kLanesPerSm = 128;
  return target.sm_count * kLanesPerSm * kClock;
}

}  // namespace sinter
