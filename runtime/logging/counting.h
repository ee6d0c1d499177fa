// Counting what the process does, at next to no cost: each thread counts for itself.
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
  memory_misses,
  how_many,  // the number of those before
};

/// What one thread has counted, and those that had this place before it.
struct alignas(64) CountBlock {
  std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Count::how_many)> counts{};
};

/// Null until the thread counts something.
inline thread_local constinit CountBlock* this_threads_counts = nullptr;
/// One for this thread; without memory for it, one that threads share, where counts may be lost.
CountBlock& take_count_block() noexcept;

inline void count(Count what, std::int64_t more = 1) {
  CountBlock* block = this_threads_counts;
  if (!block) [[unlikely]]
    block = &take_count_block();
  // No other thread writes here.
  std::atomic<std::int64_t>& place = block->counts[static_cast<std::size_t>(what)];
  place.store(place.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// Of all threads, also of those that have ended.
std::int64_t counted(Count what);

/// Device memory that we have taken: to be called for what is taken and, negative, given back.
void count_memory(std::int64_t bytes);
/// The same of what lies idle.
void count_idle_memory(std::int64_t bytes);

/// Device memory of the process, in bytes.
struct MemoryCounts {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< the most that was ever live
  std::int64_t idle_bytes = 0;  ///< allocated, and used by nothing
};
MemoryCounts memory_counts();

}  // namespace sinter
