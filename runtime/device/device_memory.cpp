#include "runtime/device/device_memory.h"

#include <optional>
#include <utility>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/logging/counting.h"
#include "runtime/support/fork_guard.h"

namespace sinter {

DeviceMemory::DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what)
    : device(device), bytes(bytes) {
  if (bytes == 0) return;  // the driver cannot allocate 0 bytes
  const CurrentContext current(device);
  pointer = device.memory_pool->allocate(bytes, bytes, what);
  count_memory(bytes);
}

DeviceMemory::DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what,
                           Pooled pooled)
    : device(device), bytes(bytes) {
  if (bytes == 0) return;
  const CurrentContext current(device);
  if (device.memory_pool->is_caching()) {
    block_ = device.memory_pool->take(bytes, pooled.stream, what);
    pointer = block_.mapped().pointer;
    use_.set_previous_uses(std::move(block_.mapped().after));
  } else {
    pointer = device.memory_pool->allocate(bytes, bytes, what);
  }
  count_memory(bytes);
}

DeviceMemory::~DeviceMemory() {
  if (!pointer) return;
  count_memory(-bytes);
  if (is_forked()) return;  // the memory belongs to the parent
  if (block_) {
    const CurrentContextNoThrow current(device);
    if (std::optional<std::vector<UsePoint>> end_points = use_.record_end_points(device)) {
      block_.mapped().after = *std::move(end_points);
      device.memory_pool->release(std::move(block_));
      return;
    }
  }
  device.memory_pool->free(pointer, block_ ? block_.mapped().bytes : bytes);
}

}  // namespace sinter
