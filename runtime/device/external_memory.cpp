#include "runtime/device/external_memory.h"

#include "runtime/driver/context_guard.h"
#include "runtime/driver/host/execution/memory.h"

namespace sinter {

namespace {

void let_go_foreign(ForeignMemory* memory) noexcept {
  if (memory->bytes > 0) {
    if (is_releasing()) return release_later(memory);
    const ReleaseContext current(memory->device);
    const Driver& driver = memory->device.driver;
    const CUresult result = driver.cuCtxSynchronize();
    // While a stream of the device is being captured nobody may wait for it.
    if (is_of_captures(result)) return release_later(memory);
    log_failed_release(driver, result, "cuCtxSynchronize");
  }
  const KeptContext kept(memory->device.driver);  // the deleter is not ours
  delete memory;
}

}  // namespace

ForeignMemory::ForeignMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes,
                             dlpack::Device place, ManagedTensorOwner owner)
    : ReleasedLater(device.driver),
      device(device),
      pointer(pointer),
      bytes(bytes),
      place(place),
      owner(std::move(owner)) {
  if (device.is_host && bytes > 0)
    is_lent = host::lend_memory(pointer, static_cast<std::size_t>(bytes));
}

ForeignMemory::~ForeignMemory() {
  if (is_lent) host::take_back_memory(pointer, static_cast<std::size_t>(bytes));
}

std::shared_ptr<const ForeignMemory> share_foreign(DeviceState& device, CUdeviceptr pointer,
                                                   std::int64_t bytes, dlpack::Device place,
                                                   ManagedTensorOwner owner) {
  return {new ForeignMemory(device, pointer, bytes, place, std::move(owner)), &let_go_foreign};
}

}  // namespace sinter
