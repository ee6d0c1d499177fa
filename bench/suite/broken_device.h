// Whether a device still works in this process.
#pragma once

#include <string>

#include "runtime/device/device_state.h"
#include "sinter/error.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// What the device answers since a kernel failed for good (CUDA_ERROR_ILLEGAL_ADDRESS and the like,
/// after which it does nothing more in this process); empty if it works.
inline std::string why_broken(const Device& device) {
  const DeviceState& state = *device.state();
  try {
    const CurrentContext current(state);
    check(state.driver, state.driver.cuCtxSynchronize(), "cuCtxSynchronize", "a benchmark");
  } catch (const DriverError& error) {
    return error.what();
  }
  return {};
}

}  // namespace sinter::suite
