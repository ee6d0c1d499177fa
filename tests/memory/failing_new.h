// Control of the test program's operator new, which counts allocations and fails on request.
#pragma once

#include <cstdint>

namespace sinter::test {

enum class Failing {
  once,         ///< only the n-th allocation
  from_then_on  ///< the n-th allocation and all later ones
};

/// Starts to count the allocations of all threads, and makes the n-th one fail.
void fail_allocation(std::int64_t nth, Failing how = Failing::once);

struct AllocationCounts {
  std::int64_t allocations = 0;  ///< since fail_allocation
  bool has_failed = false;       ///< true if at least one of them failed
};
/// Stops the failures that fail_allocation started.
AllocationCounts stop_failing();

/// The memory that is currently allocated.
struct LiveMemory {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  friend auto operator<=>(const LiveMemory&, const LiveMemory&) = default;
};
LiveMemory live_memory();

}  // namespace sinter::test
