// Memory that another library made and that we give back when no Array is left in it.
#pragma once

#include <memory>

#include "runtime/device_state.h"
#include "sinter/dlpack.h"

namespace sinter {

/// A managed tensor of DLPack, with how to call its deleter; null if that may not be called.
using ManagedTensorOwner = std::unique_ptr<void, void (*)(void*)>;

/// On the host device, the memory counts as the device's for as long as this lives.
struct ForeignMemory {
  ForeignMemory(DeviceState& device, CUdeviceptr pointer, std::int64_t bytes, dlpack::Device place,
                ManagedTensorOwner owner);
  /// Waits for the device, as freeing memory of ours does, and lets the deleter run.
  ~ForeignMemory();
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;

  DeviceState& device;
  CUdeviceptr pointer;
  std::int64_t bytes;
  dlpack::Device place;  ///< as its maker called it
  bool is_lent = false;
  ManagedTensorOwner owner;
};

}  // namespace sinter
