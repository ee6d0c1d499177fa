// MemoryPool: the memory of Arrays and Contexts. It keeps released blocks, and reuses them for work
// that is ordered after their earlier uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/device/free_list.h"

namespace sinter {

struct DeviceState;

/// Usable from any thread. Driver calls are made without a lock, because work that the driver runs
/// may release memory.
class MemoryPool {
 public:
  explicit MemoryPool(DeviceState& device) : device_(device) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// True if released memory is kept.
  bool is_caching() const { return idle_limit_.load(std::memory_order_relaxed) > 0; }
  /// Sets the limit of idle bytes, and trims to it.
  void set_idle_limit(std::int64_t bytes) noexcept;

  /// Allocates `bytes` for `what`. The device's context must be current. Users of the block must
  /// wait for its points `after`; if `stream` is not 0, these are only on that stream. Throws
  /// DriverError if there is not enough memory even after all idle memory was released.
  FreeList::Node take(std::int64_t bytes, std::uint64_t stream, std::string_view what);
  /// Releases `block`, which work before the points `block.after` may still use.
  void release(FreeList::Node block) noexcept;
  /// Calls `call` and returns its result. If the driver is out of memory, gives idle memory to it
  /// and calls again.
  template <class Call>
  CUresult retry_after_trim(Call call) {
    std::int64_t freed = freed_.load(std::memory_order_acquire);
    CUresult result = call();
    for (int tries = 0; result == CUDA_ERROR_OUT_OF_MEMORY && trim_for_retry(tries, freed); ++tries)
      result = call();
    return result;
  }
  /// Allocates `bytes` from the driver. `requested` and `what` are for the error message.
  CUdeviceptr allocate(std::int64_t bytes, std::int64_t requested, std::string_view what);
  /// Returns memory to the driver, which waits for work that uses it.
  void free(CUdeviceptr pointer, std::int64_t bytes) noexcept;
  /// Returns idle memory to the driver until at most `bytes_to_keep` are left. True if any was
  /// returned.
  bool trim(std::int64_t bytes_to_keep) noexcept;

  std::int64_t idle_bytes() const { return idle_bytes_.load(std::memory_order_relaxed); }
  /// Bytes from the driver that are not idle.
  std::int64_t bytes_in_use() const {
    return from_driver_.load(std::memory_order_relaxed) - idle_bytes();
  }

  /// An event without timing. Throws DriverError.
  std::shared_ptr<EventState> take_event();

 private:
  FreeList::Node take_idle(std::int64_t bytes, std::uint64_t stream);
  /// A block whose uses have completed, as the driver reports.
  FreeList::Node take_completed(std::int64_t bytes);
  FreeList::Node take_idle_if(std::int64_t bytes, auto suits);
  FreeList::Node allocate_block(std::int64_t bytes, std::string_view what);
  /// Removes the points of `block` that have been reached; true if none is left.
  bool is_completed(MemoryBlock& block) noexcept;
  void count_idle(std::int64_t change) noexcept;
  /// Trims to 0. True if the driver may have more memory than at count `freed` of `freed_`. Updates
  /// `freed`.
  bool trim_for_retry(int tries, std::int64_t& freed) noexcept;

  DeviceState& device_;
  std::atomic<std::int64_t> idle_limit_ = 0;
  std::atomic<std::int64_t> idle_bytes_ = 0;
  std::atomic<std::int64_t> from_driver_ = 0;
  std::atomic<std::int64_t> freed_ = 0;  ///< counts returns of memory to the driver
  std::atomic<int> in_transit_ = 0;      ///< threads with blocks that are neither idle nor used
  std::mutex mutex_;                     ///< protects the fields below
  FreeList idle_;
  std::vector<std::shared_ptr<EventState>> events_;  ///< unused
};

}  // namespace sinter
