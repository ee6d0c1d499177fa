// ExternalMemory: memory of another library, which gets it back when no Array uses it any more.
#pragma once

#include <memory>

#include "runtime/device/device_state.h"
#include "runtime/driver/deferred_release.h"
#include "sinter/dlpack.h"

namespace sinter {

/// Owns a managed tensor of DLPack, and calls its deleter.
using ManagedTensorOwner = std::unique_ptr<void, void (*)(void*)>;

/// On the host device, kernels may access the memory while this exists. It may be destroyed only
/// after the device's work is done, as cuMemFree also waits for it.
struct ExternalMemory : DeferredRelease {
  ExternalMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes,
                 dlpack::Device producer_device, ManagedTensorOwner owner);
  /// Runs the deleter.
  ~ExternalMemory() override;

  bool is_releasable(const DeviceState* idle) const noexcept override { return idle == &device; }

  DeviceState& device;
  CUdeviceptr pointer;
  std::int64_t bytes;
  dlpack::Device producer_device;  ///< the device that the producer named
  bool is_registered = false;
  ManagedTensorOwner owner;
};

/// Creates ExternalMemory for Arrays to share. When the last Array is gone, this waits for the
/// device and runs the deleter. If a capture may forbid waiting, the release is deferred until the
/// next Device::synchronize.
std::shared_ptr<const ExternalMemory> share_external(DeviceState& device, CUdeviceptr pointer,
                                                     std::int64_t bytes,
                                                     dlpack::Device producer_device,
                                                     ManagedTensorOwner owner);

}  // namespace sinter
