// LaunchCounts: what a launch executed and how it used memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sinter::virtual_gpu {

/// Accesses of one space and direction.
struct MemoryCounts {
  std::uint64_t requests = 0;  ///< instructions of a warp
  std::uint64_t bytes = 0;     ///< of active lanes
  /// Global: distinct sectors of 32 bytes per request, added up. Shared: wavefronts, added up; a
  /// request without bank conflicts has one per 128 bytes.
  std::uint64_t transactions = 0;
};

struct LaunchCounts {
  std::string kernel = {};
  std::uint64_t blocks = 0;
  /// Executed instructions of threads, by InstructionClass: `arithmetic`, `memory`, …
  std::map<std::string, std::uint64_t> instructions = {};
  MemoryCounts global_loads = {}, global_stores = {}, shared_loads = {}, shared_stores = {};
  std::uint64_t atomics = 0;
  std::uint64_t local_accesses = 0;  ///< of threads
};

}  // namespace sinter::virtual_gpu
