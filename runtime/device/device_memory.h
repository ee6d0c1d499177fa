// Device memory that we allocate, for as long as somebody holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/device/free_list.h"
#include "runtime/device/memory_use.h"

namespace sinter {

/// Memory that may be used again while work that is under way uses it, in the order of streams.
struct Pooled {
  std::uint64_t stream = 0;  ///< StreamState::id of the first that will use it; 0: not known
};

/// Device memory that we allocated; given back with the last Array in it.
class DeviceMemory {
 public:
  /// The driver's, which waits for what uses it when it is given back.
  DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what);
  /// The pool's, unless that keeps nothing: whoever puts work on a stream says so below.
  DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what, Pooled pooled);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// As MemoryUse has them; they do nothing where the driver waits.
  void begin_use(const std::shared_ptr<StreamState>& stream) const {
    if (block_) use_.begin(device, stream);
  }
  void end_use(const StreamState& stream) const noexcept {
    if (block_) use_.end(device, stream);
  }
  void end_use_at(const StreamState& stream, const std::shared_ptr<EventState>& mark) const {
    if (block_) use_.end_at(stream, mark);
  }
  void await_former() const {
    if (block_) use_.await_former(device);
  }
  void let_out() const {
    if (block_) use_.let_out(device);
  }
  bool is_pooled() const { return static_cast<bool>(block_); }

  DeviceState& device;
  CUdeviceptr pointer = 0;  ///< 0 for no bytes
  std::int64_t bytes = 0;

 private:
  FreeList::Node block_;  ///< of the pool; empty: the driver's
  mutable MemoryUse use_;
};

}  // namespace sinter
