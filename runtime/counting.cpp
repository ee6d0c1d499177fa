#include "runtime/counting.h"

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/disk_cache/disk_cache.h"
#include "runtime/options_table.h"
#include "sinter/counters.h"

namespace sinter {

namespace {

constinit CountBlock shared_block;

/// All blocks, and those whose thread has ended: another goes on with them.
struct Blocks {
  std::mutex mutex;
  std::vector<std::unique_ptr<CountBlock>> all;
  std::vector<CountBlock*> unused;
};

/// Never destroyed: threads may still count while the process ends.
Blocks& blocks() {
  static auto* const the_blocks = new Blocks;
  return *the_blocks;
}

/// Gives the block back when the thread ends.
struct GiveBack {
  CountBlock* block = nullptr;
  ~GiveBack() {
    if (!block) return;
    this_threads_counts = nullptr;
    const std::lock_guard lock(blocks().mutex);
    blocks().unused.push_back(block);
  }
};

}  // namespace

CountBlock& take_count_block() noexcept try {
  static thread_local GiveBack give_back;
  const std::lock_guard lock(blocks().mutex);
  CountBlock* block = nullptr;
  if (blocks().unused.empty()) {
    auto made = std::make_unique<CountBlock>();
    blocks().unused.reserve(blocks().all.size() + 1);  // giving it back takes no memory
    blocks().all.push_back(std::move(made));
    block = blocks().all.back().get();
  } else {
    block = blocks().unused.back();
    blocks().unused.pop_back();
  }
  give_back.block = block;
  this_threads_counts = block;
  return *block;
} catch (...) {
  return shared_block;
}

std::int64_t counted(Count what) {
  const std::lock_guard lock(blocks().mutex);
  const auto place = static_cast<std::size_t>(what);
  std::int64_t sum = shared_block.counts[place].load(std::memory_order_relaxed);
  for (const auto& block : blocks().all)
    sum += block->counts[place].load(std::memory_order_relaxed);
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

Counters counters(const Options& options) {
  return {.kernels = {.hits = counted(Count::kernel_hits),
                      .misses = counted(Count::kernel_misses),
                      .compiles = counted(Count::compiles),
                      .evicted = counted(Count::kernels_evicted)},
          .disk = disk_cache(with_environment(options).cache).counters(),
          .plans = counted(Count::plans),
          .tunings = counted(Count::tunings),
          .kernel_launches = counted(Count::kernel_launches),
          .graph_launches = counted(Count::graph_launches),
          .graph_builds = counted(Count::graph_builds),
          .patched_nodes = counted(Count::patched_nodes),
          .copies = counted(Count::copies),
          .copied_bytes = counted(Count::copied_bytes),
          .device_bytes = live_bytes.load(std::memory_order_relaxed),
          .peak_device_bytes = peak_bytes.load(std::memory_order_relaxed),
          .idle_device_bytes = idle_bytes.load(std::memory_order_relaxed),
          .memory_hits = counted(Count::memory_hits),
          .memory_misses = counted(Count::memory_misses)};
}

std::string counters_json(const Counters& counters) {
  using Json = nlohmann::ordered_json;
  Json reasons = Json::array();
  for (const DiskCounters::Reason& reason : counters.disk.reasons)
    reasons.push_back({{"text", reason.text}, {"count", reason.count}});
  const Json json = {{"kernels",
                      {{"hits", counters.kernels.hits},
                       {"misses", counters.kernels.misses},
                       {"compiles", counters.kernels.compiles},
                       {"evicted", counters.kernels.evicted}}},
                     {"disk",
                      {{"hits", counters.disk.hits},
                       {"misses", counters.disk.misses},
                       {"stored", counters.disk.stored},
                       {"evicted", counters.disk.evicted},
                       {"reasons", reasons},
                       {"last_failure", counters.disk.last_failure},
                       {"directory", counters.disk.directory},
                       {"why_off", counters.disk.why_off}}},
                     {"plans", counters.plans},
                     {"tunings", counters.tunings},
                     {"kernel_launches", counters.kernel_launches},
                     {"graph_launches", counters.graph_launches},
                     {"graph_builds", counters.graph_builds},
                     {"patched_nodes", counters.patched_nodes},
                     {"copies", counters.copies},
                     {"copied_bytes", counters.copied_bytes},
                     {"device_bytes", counters.device_bytes},
                     {"peak_device_bytes", counters.peak_device_bytes},
                     {"idle_device_bytes", counters.idle_device_bytes},
                     {"memory_hits", counters.memory_hits},
                     {"memory_misses", counters.memory_misses}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace sinter
