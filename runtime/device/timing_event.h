// Events with timing.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/device/device_state.h"

namespace sinter {

/// Creates an event with timing. `context` describes its purpose in errors.
inline std::unique_ptr<EventState> make_timing_event(DeviceState& device,
                                                     std::string_view context) {
  auto event = std::make_unique<EventState>(device, /*handle=*/nullptr);
  check(device.driver, device.driver.cuEventCreate(&event->handle, CU_EVENT_DEFAULT),
        "cuEventCreate", context);
  return event;
}

}  // namespace sinter
