#include "runtime/foreign_memory.h"

#include "runtime/host_driver/memory.h"

namespace sinter {

ForeignMemory::ForeignMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes,
                             dlpack::Device place, ManagedTensorOwner owner)
    : device(device), pointer(pointer), bytes(bytes), place(place), owner(std::move(owner)) {
  if (device.is_host && bytes > 0)
    is_lent = host::lend_memory(pointer, static_cast<std::size_t>(bytes));
}

ForeignMemory::~ForeignMemory() {
  if (bytes == 0) return;
  const ReleaseContext current(device);
  log_failed_release(device.driver, device.driver.cuCtxSynchronize(), "cuCtxSynchronize");
  if (is_lent) host::take_back_memory(pointer, static_cast<std::size_t>(bytes));
}

}  // namespace sinter
