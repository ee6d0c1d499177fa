// Process-wide counters at low cost: each thread counts in its own block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sinter {

enum class Count : std::uint8_t {
  kernel_hits,
  kernel_misses,
  compiles,
  kernels_evicted,
  plans,
  tunings,
  kernel_launches,
  graph_launches,
  graph_builds,
  patched_nodes,
  copies,
  copied_bytes,
  memory_hits,
  memory_misses,  // the last one
};

inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::memory_misses) + 1;

/// The counts of one thread, and of earlier threads that used the same block.
struct alignas(64) CountBlock {
  std::array<std::atomic<std::int64_t>, kCounts> counts{};
};

/// The block of this thread; null until it counts something.
inline thread_local constinit CountBlock* this_threads_counts = nullptr;
/// Assigns a block to this thread. Out of memory: returns a block that threads share, in which
/// counts may be lost.
CountBlock& take_count_block() noexcept;

inline void count(Count what, std::int64_t more = 1) {
  CountBlock* block = this_threads_counts;
  if (!block) [[unlikely]]
    block = &take_count_block();
  // No other thread writes to the block, so no atomic addition is needed.
  std::atomic<std::int64_t>& counter = block->counts[static_cast<std::size_t>(what)];
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// The sum over all threads, including those that have ended.
std::int64_t counted(Count what);

/// Counts device memory in use: positive when it is allocated, negative when it is released.
void count_memory(std::int64_t bytes);
/// The same for idle memory of the pools.
void count_idle_memory(std::int64_t bytes);

/// Device memory of the process, in bytes.
struct MemoryCounts {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< the most that was ever live
  std::int64_t idle_bytes = 0;  ///< allocated but unused, in addition to live_bytes
};
MemoryCounts memory_counts();

}  // namespace sinter
