#include "runtime/device/external_memory.h"

#include "runtime/driver/context_guard.h"
#include "runtime/driver/host/execution/memory.h"

namespace sinter {

namespace {

void release_external(ExternalMemory* memory) noexcept {
  if (memory->bytes > 0) {
    if (is_releasing()) return defer_release(memory);
    const CurrentContextNoThrow current(memory->device);
    const Driver& driver = memory->device.driver;
    const CUresult result = driver.cuCtxSynchronize();
    // A capture on the device forbids waiting for it.
    if (is_of_captures(result)) return defer_release(memory);
    log_failed_release(driver, result, "cuCtxSynchronize");
  }
  const ContextGuard kept(memory->device.driver);  // the deleter belongs to another library
  delete memory;
}

}  // namespace

ExternalMemory::ExternalMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes,
                               dlpack::Device producer_device, ManagedTensorOwner owner)
    : DeferredRelease(device.driver),
      device(device),
      pointer(pointer),
      bytes(bytes),
      producer_device(producer_device),
      owner(std::move(owner)) {
  if (device.is_host && bytes > 0)
    is_registered = host::lend_memory(pointer, static_cast<std::size_t>(bytes));
}

ExternalMemory::~ExternalMemory() {
  if (is_registered) host::take_back_memory(pointer, static_cast<std::size_t>(bytes));
}

std::shared_ptr<const ExternalMemory> share_external(DeviceState& device, CUdeviceptr pointer,
                                                     std::int64_t bytes,
                                                     dlpack::Device producer_device,
                                                     ManagedTensorOwner owner) {
  return {new ExternalMemory(device, pointer, bytes, producer_device, std::move(owner)),
          &release_external};
}

}  // namespace sinter
