// The memory of a device that Arrays and Contexts come and go in: what is given back is kept, and
// used again by work that is ordered behind what used it.
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

/// Usable from any thread. Calls of the driver are made with nothing locked: work that it runs may
/// give memory back.
class MemoryPool {
 public:
  explicit MemoryPool(DeviceState& device) : device_(device) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// True if what is given back is kept.
  bool keeps() const { return most_idle_.load(std::memory_order_relaxed) > 0; }
  /// The most bytes that lie idle from now on.
  void keep_at_most(std::int64_t bytes) noexcept;

  /// `bytes` for `what`, with the device's context current. `after` of the block says what its
  /// users have to wait for, which is nothing but work on stream `stream` if that is known (not 0).
  /// Throws DriverError where even without what lies idle there is not enough.
  FreeList::Node take(std::int64_t bytes, std::uint64_t stream, std::string_view what);
  /// Takes `block` back, which `block.after` may still use.
  void give_back(FreeList::Node block) noexcept;
  /// What `call`, which the driver may need memory for, returns: where it has none left, after it
  /// was given what lies idle.
  template <class Call>
  CUresult with_room(Call call) {
    std::int64_t freed = freed_.load(std::memory_order_acquire);
    CUresult result = call();
    for (int tries = 0; result == CUDA_ERROR_OUT_OF_MEMORY && makes_room(tries, freed); ++tries)
      result = call();
    return result;
  }
  /// `bytes` of the driver's, of which `asked` are for `what`.
  CUdeviceptr allocate(std::int64_t bytes, std::int64_t asked, std::string_view what);
  /// Gives it to the driver, which waits for what uses it.
  void free(CUdeviceptr pointer, std::int64_t bytes) noexcept;
  /// Gives idle memory to the driver until at most `bytes_to_keep` are left; true if there was any.
  bool trim(std::int64_t bytes_to_keep) noexcept;

  std::int64_t idle_bytes() const { return idle_bytes_.load(std::memory_order_relaxed); }
  /// What the driver gave us and does not lie idle.
  std::int64_t bytes_in_use() const {
    return from_driver_.load(std::memory_order_relaxed) - idle_bytes();
  }

  /// An event without times, for a point in the work of a stream. Throws DriverError.
  std::shared_ptr<EventState> take_event();

 private:
  FreeList::Node take_idle(std::int64_t bytes, std::uint64_t stream);
  /// One that nothing uses any more, as the driver says.
  FreeList::Node take_ended(std::int64_t bytes);
  FreeList::Node take_idle_if(std::int64_t bytes, auto suits);
  FreeList::Node allocate_block(std::int64_t bytes, std::string_view what);
  /// Forgets the points of `block` that have been passed; true if none is left.
  bool has_ended(MemoryBlock& block) noexcept;
  void count_idle(std::int64_t change) noexcept;
  /// True if the driver may have more memory than when it was `freed` times given some, which
  /// becomes how often it was by now.
  bool makes_room(int tries, std::int64_t& freed) noexcept;

  DeviceState& device_;
  std::atomic<std::int64_t> most_idle_ = 0;
  std::atomic<std::int64_t> idle_bytes_ = 0;
  std::atomic<std::int64_t> from_driver_ = 0;
  std::atomic<std::int64_t> freed_ = 0;  ///< how often the driver was given memory
  std::atomic<int> between_ = 0;         ///< threads with blocks that are neither idle nor used
  std::mutex mutex_;                     ///< of what follows
  FreeList idle_;
  std::vector<std::shared_ptr<EventState>> events_;  ///< unused
};

}  // namespace sinter
