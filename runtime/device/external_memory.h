// Memory that another library made and that we give back when no Array is left in it.
#pragma once

#include <memory>

#include "runtime/device/device_state.h"
#include "runtime/driver/deferred_release.h"
#include "sinter/dlpack.h"

namespace sinter {

/// A managed tensor of DLPack, with how to call its deleter; null if that may not be called.
using ManagedTensorOwner = std::unique_ptr<void, void (*)(void*)>;

/// On the host device, the memory counts as the device's for as long as this lives. To be let go
/// when the device has been waited for, as freeing memory of ours does.
struct ExternalMemory : DeferredRelease {
  ExternalMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes, dlpack::Device place,
                 ManagedTensorOwner owner);
  /// Lets the deleter run.
  ~ExternalMemory() override;

  bool is_releasable(const DeviceState* idle) const noexcept override { return idle == &device; }

  DeviceState& device;
  CUdeviceptr pointer;
  std::int64_t bytes;
  dlpack::Device place;  ///< as its maker called it
  bool is_lent = false;
  ManagedTensorOwner owner;
};

/// The same, for Arrays to share: with the last of them the device is waited for and the deleter
/// runs. Where that is one of what is released later, a capture may be under way that waiting would
/// spoil: the memory then goes when somebody waits for the device.
std::shared_ptr<const ExternalMemory> share_external(DeviceState& device, CUdeviceptr pointer,
                                                     std::int64_t bytes, dlpack::Device place,
                                                     ManagedTensorOwner owner);

}  // namespace sinter
