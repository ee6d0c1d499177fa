// LaunchCounts: what a launch executed and how it used memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sinter::virtual_gpu {

/// Accesses of one space and direction, without atomics.
struct MemoryCounts {
  std::uint64_t requests = 0;  ///< instructions of a warp
  std::uint64_t bytes = 0;     ///< of active lanes
  /// Global: distinct sectors of 32 bytes per request, added up. Shared: wavefronts, added up.
  std::uint64_t transactions = 0;
  /// The transactions of the same requests at best. Global: if the distinct bytes of each request
  /// were contiguous and aligned. Shared: without bank conflicts, one per 128 bytes of a warp.
  std::uint64_t fewest = 0;
  std::uint64_t unique_bytes = 0;  ///< global: distinct bytes in the whole launch
};

struct LaunchCounts {
  std::string kernel = {};
  std::uint64_t blocks = 0;
  /// Executed instructions of threads, by InstructionClass: `arithmetic`, `memory`, …
  std::map<std::string, std::uint64_t> instructions = {};
  MemoryCounts global_loads = {}, global_stores = {}, shared_loads = {}, shared_stores = {};
  std::uint64_t atomics = 0;         ///< of threads
  std::uint64_t local_accesses = 0;  ///< of threads
};

}  // namespace sinter::virtual_gpu
