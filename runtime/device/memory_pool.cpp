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

constexpr std::size_t kMostEvents = 256;
/// How many blocks are asked whether they are still in use before another way is taken.
constexpr int kMostAsked = 4;
/// How often the driver is asked for memory that another thread is giving to it, and how long after
/// one another.
constexpr int kMostTries = 1000;
constexpr std::chrono::milliseconds kPause(1);

/// For as long as a thread holds blocks that are neither idle nor used.
class Between {
 public:
  explicit Between(std::atomic<int>& threads) : threads_(threads) { ++threads_; }
  ~Between() { --threads_; }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;

 private:
  std::atomic<int>& threads_;
};

/// A number of its own for each thread.
std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> next = 1;
  static thread_local const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

MemoryPool::~MemoryPool() {
  if (is_forked()) return;  // what is there is the parent's
  trim(0);
}

void MemoryPool::keep_at_most(std::int64_t bytes) noexcept {
  most_idle_.store(bytes, std::memory_order_relaxed);
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
  // A quarter more than is asked for is no great waste. The host device has guards behind memory,
  // which must lie where an array ends.
  const std::int64_t most = device_.is_host ? bytes : bytes + bytes / 4 + 512;
  const std::lock_guard lock(mutex_);
  FreeList::Node found = idle_.take(bytes, most, suits);
  if (found) count_idle(-found.mapped().bytes);
  return found;
}

FreeList::Node MemoryPool::take_ended(std::int64_t bytes) {
  const Between between(between_);
  // Those that were given back first are the likeliest to be done.
  std::array<FreeList::Node, kMostAsked> asked;
  for (FreeList::Node& one : asked)
    one = take_idle_if(bytes, [](const MemoryBlock&) { return true; });
  FreeList::Node ended;
  for (FreeList::Node& one : asked)
    if (one && !ended && has_ended(one.mapped())) ended = std::move(one);
  const std::lock_guard lock(mutex_);
  for (FreeList::Node& one : asked) {
    if (!one) continue;
    count_idle(one.mapped().bytes);
    idle_.put_back(std::move(one));
  }
  return ended;
}

FreeList::Node MemoryPool::take_idle(std::int64_t bytes, std::uint64_t stream) {
  if (FreeList::Node ready = take_idle_if(bytes, [&](const MemoryBlock& block) {
        return std::ranges::all_of(
            block.after, [&](const UsePoint& point) { return stream && point.stream == stream; });
      }))
    return ready;
  if (FreeList::Node ended = take_ended(bytes)) return ended;
  if (stream) return {};
  // Who does not say on which stream may wait on that which used it before. A thread mostly goes on
  // with its stream; waiting for another thread's would tie the two together.
  return take_idle_if(
      bytes, [thread = this_thread()](const MemoryBlock& block) { return block.thread == thread; });
}

FreeList::Node MemoryPool::allocate_block(std::int64_t bytes, std::string_view what) {
  FreeList::Node block = FreeList::make_node();
  block.mapped().bytes = device_.is_host ? bytes : block_bytes(bytes);
  block.mapped().pointer = allocate(block.mapped().bytes, bytes, what);
  return block;
}

CUdeviceptr MemoryPool::allocate(std::int64_t bytes, std::int64_t asked, std::string_view what) {
  const Driver& driver = device_.driver;
  const CaptureModeGuard relaxed(driver);
  CUdeviceptr pointer = 0;
  const CUresult result =
      with_room([&] { return driver.cuMemAlloc(&pointer, static_cast<std::size_t>(bytes)); });
  try {
    check(driver, result, "cuMemAlloc", [&] { return fmt::format("{} ({} bytes)", what, asked); });
  } catch (const DriverError& error) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY) throw;
    throw DriverError(
        fmt::format("{}; Arrays and Contexts hold {} bytes of this device, and none lies idle: let "
                    "go of some, or take smaller sizes",
                    error.what(), bytes_in_use()),
        error.code());
  }
  from_driver_.fetch_add(bytes, std::memory_order_relaxed);
  return pointer;
}

void MemoryPool::free(CUdeviceptr pointer, std::int64_t bytes) noexcept {
  const ReleaseContext current(device_);
  from_driver_.fetch_sub(bytes, std::memory_order_relaxed);
  log_failed_release(device_.driver, device_.driver.cuMemFree(pointer), "cuMemFree");
  freed_.fetch_add(1, std::memory_order_release);
}

void MemoryPool::give_back(FreeList::Node block) noexcept {
  block.mapped().thread = this_thread();
  const std::int64_t bytes = block.mapped().bytes;
  const std::int64_t most = most_idle_.load(std::memory_order_relaxed);
  if (bytes > most) return free(block.mapped().pointer, bytes);
  {
    const std::lock_guard lock(mutex_);
    count_idle(bytes);
    idle_.add(std::move(block));
  }
  if (idle_bytes() > most) trim(most);
}

bool MemoryPool::makes_room(int tries, std::int64_t& freed) noexcept {
  // Looked at first: what another thread held before may lie idle, or be the driver's, afterwards.
  const bool is_on_its_way = between_ > 0;
  const bool was_trimmed = trim(0);
  const bool was_freed = freed != freed_.load(std::memory_order_acquire);
  freed = freed_.load(std::memory_order_acquire);
  if (tries == kMostTries) return false;
  if (was_trimmed || was_freed) return true;
  if (is_on_its_way) std::this_thread::sleep_for(kPause);
  return is_on_its_way;
}

bool MemoryPool::trim(std::int64_t bytes_to_keep) noexcept {
  bool had_some = false;
  const Between between(between_);
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

bool MemoryPool::has_ended(MemoryBlock& block) noexcept {
  const CaptureModeGuard relaxed(device_.driver);
  std::vector<UsePoint>& points = block.after;
  while (!points.empty()) {
    if (device_.driver.cuEventQuery(points.back().event->handle) != CUDA_SUCCESS) return false;
    std::shared_ptr<EventState> event = std::move(points.back().event);
    points.pop_back();
    // Others may hold an event that a Context records.
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
    events_.reserve(kMostEvents);
    if (!events_.empty()) {
      std::shared_ptr<EventState> event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  auto event = std::make_shared<EventState>(device_, /*handle=*/nullptr);
  check(device_.driver, device_.driver.cuEventCreate(&event->handle, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate", "the end of what uses an array");
  return event;
}

}  // namespace sinter
