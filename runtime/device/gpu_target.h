// Describes a GPU for the planner, by what its driver reports.
#pragma once

#include "compiler/target/target.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// The compute capability of `device`: 90 for 9.0.
int compute_capability(const Driver& driver, CUdevice device);

/// The target of a GPU: the nearest known GPU (nearest_target.h), with everything that the driver
/// reports. `device` needs its name, architecture and context.
Target gpu_target(const DeviceState& device);

}  // namespace sinter
