#include "runtime/device/memory_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/device/device_state.h"
#include "runtime/logging/counting.h"
#include "runtime/support/fork_guard.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::size_t kMaxUnusedEvents = 256;
/// The most idle blocks whose events are queried for one allocation.
constexpr int kMaxQueriedBlocks = 4;
/// Retries while another thread returns memory to the driver, and the pause between them: 1 s in
/// all.
constexpr int kMaxRetries = 1000;
constexpr std::chrono::milliseconds kRetryPause(1);

/// Counts this thread while it holds blocks that are neither idle nor used.
class InTransit {
 public:
  explicit InTransit(std::atomic<int>& threads) : threads_(threads) { ++threads_; }
  ~InTransit() { --threads_; }
  InTransit(const InTransit&) = delete;
  InTransit& operator=(const InTransit&) = delete;

 private:
  std::atomic<int>& threads_;
};

/// An id that is unique per thread.
std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> next = 1;
  static thread_local const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

MemoryPool::~MemoryPool() {
  if (is_forked()) return;  // the memory belongs to the parent
  trim(0);
}

void MemoryPool::set_idle_limit(std::int64_t bytes) noexcept {
  idle_limit_.store(bytes, std::memory_order_relaxed);
  trim(bytes);
}

FreeList::Node MemoryPool::take(std::int64_t bytes, std::uint64_t stream, std::string_view what) {
  if (idle_bytes() >= bytes) {
    if (FreeList::Node found = take_idle(bytes, stream)) {
      count(Count::memory_hits);
      return found;
    }
  }
  count(Count::memory_misses);
  return allocate_block(bytes, what);
}

FreeList::Node MemoryPool::take_idle_if(std::int64_t bytes, auto suits) {
  // A block may be a quarter larger than the request. On the host device it must have the exact
  // size, since its guard must begin at the end of the array.
  const std::int64_t limit = device_.is_host ? bytes : bytes + bytes / 4 + 512;
  const std::lock_guard lock(mutex_);
  FreeList::Node found = idle_.take(bytes, limit, suits);
  if (found) count_idle(-found.mapped().bytes);
  return found;
}

FreeList::Node MemoryPool::take_completed(std::int64_t bytes) {
  const InTransit in_transit(in_transit_);
  // Blocks that were released first are the most likely to be done.
  std::array<FreeList::Node, kMaxQueriedBlocks> queried;
  for (FreeList::Node& block : queried)
    block = take_idle_if(bytes, [](const MemoryBlock&) { return true; });
  FreeList::Node completed;
  for (FreeList::Node& block : queried)
    if (block && !completed && is_completed(block.mapped())) completed = std::move(block);
  const std::lock_guard lock(mutex_);
  for (FreeList::Node& block : queried) {
    if (!block) continue;
    count_idle(block.mapped().bytes);
    idle_.reinsert(std::move(block));
  }
  return completed;
}

FreeList::Node MemoryPool::take_idle(std::int64_t bytes, std::uint64_t stream) {
  if (FreeList::Node ready = take_idle_if(bytes, [&](const MemoryBlock& block) {
        return std::ranges::all_of(
            block.after, [&](const UsePoint& point) { return stream && point.stream == stream; });
      }))
    return ready;
  if (FreeList::Node completed = take_completed(bytes)) return completed;
  if (stream) return {};
  // The stream is unknown, so the new user may have to wait for the block's last stream. Take only
  // blocks that this thread released, since it mostly continues on the same stream. Waiting for the
  // stream of another thread would serialize the two.
  return take_idle_if(
      bytes, [thread = this_thread()](const MemoryBlock& block) { return block.thread == thread; });
}

FreeList::Node MemoryPool::allocate_block(std::int64_t bytes, std::string_view what) {
  FreeList::Node block = FreeList::make_node();
  block.mapped().bytes = device_.is_host ? bytes : rounded_block_size(bytes);
  block.mapped().pointer = allocate(block.mapped().bytes, bytes, what);
  return block;
}

CUdeviceptr MemoryPool::allocate(std::int64_t bytes, std::int64_t requested,
                                 std::string_view what) {
  const Driver& driver = device_.driver;
  const CaptureModeGuard relaxed(driver);
  CUdeviceptr pointer = 0;
  const CUresult result = retry_after_trim(
      [&] { return driver.cuMemAlloc(&pointer, static_cast<std::size_t>(bytes)); });
  try {
    check(driver, result, "cuMemAlloc",
          [&] { return fmt::format("{} ({} bytes)", what, requested); });
  } catch (const DriverError& error) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY) throw;
    throw DriverError(
        fmt::format("{}; Arrays and Contexts hold {} bytes of this device, and none is idle: "
                    "release some, or use smaller sizes",
                    error.what(), bytes_in_use()),
        error.code());
  }
  from_driver_.fetch_add(bytes, std::memory_order_relaxed);
  return pointer;
}

void MemoryPool::free(CUdeviceptr pointer, std::int64_t bytes) noexcept {
  const CurrentContextNoThrow current(device_);
  from_driver_.fetch_sub(bytes, std::memory_order_relaxed);
  log_failed_release(device_.driver, device_.driver.cuMemFree(pointer), "cuMemFree");
  freed_.fetch_add(1, std::memory_order_release);
}

void MemoryPool::release(FreeList::Node block) noexcept {
  block.mapped().thread = this_thread();
  const std::int64_t bytes = block.mapped().bytes;
  const std::int64_t limit = idle_limit_.load(std::memory_order_relaxed);
  if (bytes > limit) return free(block.mapped().pointer, bytes);
  {
    const std::lock_guard lock(mutex_);
    count_idle(bytes);
    idle_.add(std::move(block));
  }
  if (idle_bytes() > limit) trim(limit);
}

bool MemoryPool::trim_for_retry(int tries, std::int64_t& freed) noexcept {
  // Read this first: blocks that another thread holds now may become idle or return to the driver
  // before the checks below.
  const bool is_in_transit = in_transit_ > 0;
  const bool was_trimmed = trim(0);
  const bool was_freed = freed != freed_.load(std::memory_order_acquire);
  freed = freed_.load(std::memory_order_acquire);
  if (tries == kMaxRetries) return false;
  if (was_trimmed || was_freed) return true;
  if (is_in_transit) std::this_thread::sleep_for(kRetryPause);
  return is_in_transit;
}

bool MemoryPool::trim(std::int64_t bytes_to_keep) noexcept {
  bool had_some = false;
  const InTransit in_transit(in_transit_);
  while (true) {
    FreeList::Node oldest;
    {
      const std::lock_guard lock(mutex_);
      if (idle_.bytes() > bytes_to_keep) oldest = idle_.take_oldest();
      if (oldest) count_idle(-oldest.mapped().bytes);
    }
    if (!oldest) return had_some;
    had_some = true;
    free(oldest.mapped().pointer, oldest.mapped().bytes);
  }
}

bool MemoryPool::is_completed(MemoryBlock& block) noexcept {
  const CaptureModeGuard relaxed(device_.driver);
  std::vector<UsePoint>& points = block.after;
  while (!points.empty()) {
    if (device_.driver.cuEventQuery(points.back().event->handle) != CUDA_SUCCESS) return false;
    std::shared_ptr<EventState> event = std::move(points.back().event);
    points.pop_back();
    // A Context may still use its event.
    if (event.use_count() > 1) continue;
    const std::lock_guard lock(mutex_);
    if (events_.size() < events_.capacity()) events_.push_back(std::move(event));
  }
  return true;
}

void MemoryPool::count_idle(std::int64_t change) noexcept {
  idle_bytes_.fetch_add(change, std::memory_order_relaxed);
  count_idle_memory(change);
}

std::shared_ptr<EventState> MemoryPool::take_event() {
  {
    const std::lock_guard lock(mutex_);
    events_.reserve(kMaxUnusedEvents);
    if (!events_.empty()) {
      std::shared_ptr<EventState> event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  return std::make_shared<EventState>(device_, CU_EVENT_DISABLE_TIMING,
                                      "the end of the use of an array");
}

}  // namespace sinter
