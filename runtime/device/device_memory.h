// DeviceMemory: owns device memory from the pool or from the driver.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/device/free_list.h"
#include "runtime/device/memory_use.h"

namespace sinter {

/// Selects memory of the pool, which can be reused in stream order while earlier work still runs.
struct Pooled {
  std::uint64_t stream = 0;  ///< StreamState::id of the first stream to use it; 0: unknown
};

/// Owns device memory. The destructor releases it.
class DeviceMemory {
 public:
  /// Allocates from the driver. Releasing the memory waits for work that uses it.
  DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what);
  /// Allocates from the pool, or from the driver if the pool keeps nothing. The caller must report
  /// work that uses the memory, with the functions below.
  DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what, Pooled pooled);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// See MemoryUse. These do nothing for memory of the driver, whose release waits for all work.
  void begin_use(const std::shared_ptr<StreamState>& stream) const {
    if (block_) use_.begin(device, stream);
  }
  void end_use(const StreamState& stream) const noexcept {
    if (block_) use_.end(device, stream);
  }
  void end_use_at(const StreamState& stream, const std::shared_ptr<EventState>& mark) const {
    if (block_) use_.end_at(stream, mark);
  }
  void await_previous_uses() const {
    if (block_) use_.await_previous_uses(device);
  }
  void stop_tracking() const {
    if (block_) use_.stop_tracking(device);
  }
  bool is_pooled() const { return static_cast<bool>(block_); }

  DeviceState& device;
  CUdeviceptr pointer = 0;  ///< 0 for no bytes
  std::int64_t bytes = 0;

 private:
  FreeList::Node block_;  ///< the pool's block; empty: memory of the driver
  mutable MemoryUse use_;
};

}  // namespace sinter
