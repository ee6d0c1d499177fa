#include "runtime/logging/counting.h"

#include <memory>
#include <mutex>
#include <vector>

namespace sinter {

namespace {

constinit CountBlock shared_block;

/// All blocks, and the blocks of ended threads, which new threads reuse.
struct Blocks {
  std::mutex mutex;
  std::vector<std::unique_ptr<CountBlock>> all;
  std::vector<CountBlock*> unused;
};

/// Never destroyed: a thread may still count while the process ends.
Blocks& blocks() {
  static auto* const the_blocks = new Blocks;
  return *the_blocks;
}

/// Returns the block for reuse when the thread ends.
struct BlockReturner {
  CountBlock* block = nullptr;
  ~BlockReturner() {
    if (!block) return;
    this_threads_counts = nullptr;
    const std::lock_guard lock(blocks().mutex);
    blocks().unused.push_back(block);
  }
};

}  // namespace

CountBlock& take_count_block() noexcept try {
  static thread_local BlockReturner returner;
  const std::lock_guard lock(blocks().mutex);
  CountBlock* block = nullptr;
  if (blocks().unused.empty()) {
    auto made = std::make_unique<CountBlock>();
    blocks().unused.reserve(blocks().all.size() + 1);  // so that BlockReturner allocates nothing
    blocks().all.push_back(std::move(made));
    block = blocks().all.back().get();
  } else {
    block = blocks().unused.back();
    blocks().unused.pop_back();
  }
  returner.block = block;
  this_threads_counts = block;
  return *block;
} catch (...) {
  return shared_block;
}

std::int64_t counted(Count what) {
  const std::lock_guard lock(blocks().mutex);
  const auto index = static_cast<std::size_t>(what);
  std::int64_t sum = shared_block.counts[index].load(std::memory_order_relaxed);
  for (const auto& block : blocks().all)
    sum += block->counts[index].load(std::memory_order_relaxed);
  return sum;
}

namespace {

std::atomic<std::int64_t> live_bytes = 0;
std::atomic<std::int64_t> peak_bytes = 0;
std::atomic<std::int64_t> idle_bytes = 0;

}  // namespace

void count_memory(std::int64_t bytes) {
  const std::int64_t live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

void count_idle_memory(std::int64_t bytes) {
  idle_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

MemoryCounts memory_counts() {
  return {.live_bytes = live_bytes.load(std::memory_order_relaxed),
          .peak_bytes = peak_bytes.load(std::memory_order_relaxed),
          .idle_bytes = idle_bytes.load(std::memory_order_relaxed)};
}

}  // namespace sinter
