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
  if (bytes == 0) return;  // the driver has no pointer to nothing
  const CurrentContext current(device);
  pointer = device.memory_pool->allocate(bytes, bytes, what);
  count_memory(bytes);
}

DeviceMemory::DeviceMemory(DeviceState& device, std::int64_t bytes, std::string_view what,
                           Pooled pooled)
    : device(device), bytes(bytes) {
  if (bytes == 0) return;
  const CurrentContext current(device);
  if (device.memory_pool->keeps()) {
    block_ = device.memory_pool->take(bytes, pooled.stream, what);
    pointer = block_.mapped().pointer;
    use_.set_former(std::move(block_.mapped().after));
  } else {
    pointer = device.memory_pool->allocate(bytes, bytes, what);
  }
  count_memory(bytes);
}

DeviceMemory::~DeviceMemory() {
  if (!pointer) return;
  count_memory(-bytes);
  if (is_forked()) return;  // what the device has is still the parent's
  if (block_) {
    const ReleaseContext current(device);
    if (std::optional<std::vector<UsePoint>> ends = use_.ends(device)) {
      block_.mapped().after = *std::move(ends);
      device.memory_pool->give_back(std::move(block_));
      return;
    }
  }
  device.memory_pool->free(pointer, block_ ? block_.mapped().bytes : bytes);
}

}  // namespace sinter
