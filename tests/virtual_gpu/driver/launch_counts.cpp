#include "tests/virtual_gpu/driver/launch_counts.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::virtual_gpu::driver {

namespace {

constexpr std::uint64_t kLaunchNs = 2000;
constexpr std::uint64_t kSectorBytes = 32;
constexpr std::uint64_t kBytesPerNs = 1000;      ///< 1 TB/s
constexpr std::uint64_t kLanesPerSmAndNs = 128;  ///< instructions of threads

std::string as_json(const MemoryCounts& counts) {
  return fmt::format(
      "{{\"requests\":{},\"bytes\":{},\"transactions\":{},\"fewest\":{},\"unique_bytes\":{}}}",
      counts.requests, counts.bytes, counts.transactions, counts.fewest, counts.unique_bytes);
}

}  // namespace

std::string counts_as_json(const LaunchCounts& counts, int device) {
  std::string instructions;
  for (const auto& [name, count] : counts.instructions)
    instructions += fmt::format("{}\"{}\":{}", instructions.empty() ? "" : ",", name, count);
  // The names of kernels and classes are identifiers, which need no escapes.
  return fmt::format(
      "{{\"kernel\":\"{}\",\"device\":{},\"blocks\":{},\"instructions\":{{{}}},"
      "\"global_loads\":{},\"global_stores\":{},\"shared_loads\":{},\"shared_stores\":{},"
      "\"atomics\":{},\"local_accesses\":{}}}",
      counts.kernel, device, counts.blocks, instructions, as_json(counts.global_loads),
      as_json(counts.global_stores), as_json(counts.shared_loads), as_json(counts.shared_stores),
      counts.atomics, counts.local_accesses);
}

std::uint64_t kernel_nanoseconds(const LaunchCounts& counts, const GpuLimits& limits) {
  const std::uint64_t bytes =
      (counts.global_loads.transactions + counts.global_stores.transactions) * kSectorBytes;
  std::uint64_t instructions = 0;
  for (const auto& [name, count] : counts.instructions) instructions += count;
  const std::uint64_t lanes = kLanesPerSmAndNs * static_cast<std::uint64_t>(limits.sm_count);
  return kLaunchNs + std::max(bytes / kBytesPerNs, instructions / lanes);
}

std::uint64_t copy_nanoseconds(std::size_t bytes) { return kLaunchNs + bytes / kBytesPerNs; }

}  // namespace sinter::virtual_gpu::driver
