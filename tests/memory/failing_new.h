// Operator new of the test program: counted, and made to fail where a test says so.
#pragma once

#include <cstdint>

namespace sinter::test {

enum class Failing {
  once,         ///< the n-th allocation alone
  from_then_on  ///< and all that come after it
};

/// Counts allocations, of all threads, from now on and lets the n-th one fail.
void fail_allocation(std::int64_t nth, Failing how = Failing::once);

struct Asked {
  std::int64_t allocations = 0;  ///< since then
  bool has_failed = false;       ///< one of them
};
/// Ends that.
Asked stop_failing();

/// What is allocated now.
struct LiveMemory {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  friend auto operator<=>(const LiveMemory&, const LiveMemory&) = default;
};
LiveMemory live_memory();

}  // namespace sinter::test
