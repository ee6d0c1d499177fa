// Checks that a device still works in this process.
#pragma once

#include <string>

#include "runtime/device/device_state.h"
#include "sinter/error.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// The device's error after a fatal kernel failure, such as CUDA_ERROR_ILLEGAL_ADDRESS. After such
/// an error the device does not work again in this process. Empty if the device works.
inline std::string device_error(const Device& device) {
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
