// OnDevice: calls of NVIDIA's libraries for one GPU.
#pragma once

#include "runtime/device/device_state.h"

namespace sinter {

/// While it exists, the device's context is current. A capture of the caller permits that a library
/// allocates memory and loads kernels.
struct OnDevice {
  explicit OnDevice(int device)
      : state(*cuda_device(device).state()), relaxed(state.driver), current(state) {}

  DeviceState& state;
  const CaptureModeGuard relaxed;
  const CurrentContext current;
};

}  // namespace sinter
