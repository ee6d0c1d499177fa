// OnDevice: calls of NVIDIA's libraries for one GPU.
#pragma once

#include <cstdlib>
#include <string>

#include <fmt/format.h>

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

/// The device in the keys of stored algorithms: `NVIDIA H200, sm_90, 132 SMs`.
inline std::string device_text(int device) {
  const DeviceState& state = *cuda_device(device).state();
  return fmt::format("{}, {}, {} SMs", state.name, state.arch, state.target.sm_count);
}

/// The other reasons for a choice of algorithm. Another number is another set of
/// rules, by which sinter excludes algorithms.
inline std::string selection_text() {
  const char* const tf32 = std::getenv("NVIDIA_TF32_OVERRIDE");
  return fmt::format("rules 1, NVIDIA_TF32_OVERRIDE {}", tf32 ? tf32 : "unset");
}

}  // namespace sinter
