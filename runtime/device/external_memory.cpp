#include "runtime/device/external_memory.h"

#include "runtime/driver/context_guard.h"
#include "runtime/driver/host/execution/memory.h"

namespace sinter {

namespace {

void let_go_foreign(ExternalMemory* memory) noexcept {
  if (memory->bytes > 0) {
    if (is_releasing()) return defer_release(memory);
    const ReleaseContext current(memory->device);
    const Driver& driver = memory->device.driver;
    const CUresult result = driver.cuCtxSynchronize();
    // While a stream of the device is being captured nobody may wait for it.
    if (is_of_captures(result)) return defer_release(memory);
    log_failed_release(driver, result, "cuCtxSynchronize");
  }
  const ContextGuard kept(memory->device.driver);  // the deleter is not ours
  delete memory;
}

}  // namespace

ExternalMemory::ExternalMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes,
                               dlpack::Device place, ManagedTensorOwner owner)
    : DeferredRelease(device.driver),
      device(device),
      pointer(pointer),
      bytes(bytes),
      place(place),
      owner(std::move(owner)) {
  if (device.is_host && bytes > 0)
    is_lent = host::lend_memory(pointer, static_cast<std::size_t>(bytes));
}

ExternalMemory::~ExternalMemory() {
  if (is_lent) host::take_back_memory(pointer, static_cast<std::size_t>(bytes));
}

std::shared_ptr<const ExternalMemory> share_external(DeviceState& device, CUdeviceptr pointer,
                                                     std::int64_t bytes, dlpack::Device place,
                                                     ManagedTensorOwner owner) {
  return {new ExternalMemory(device, pointer, bytes, place, std::move(owner)), &let_go_foreign};
}

}  // namespace sinter
