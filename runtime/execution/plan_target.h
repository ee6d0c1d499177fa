// The Target that a program is planned for.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// The GPU with this name or architecture (see Options::target); the first known GPU if `name` is
/// empty. Throws UserError if there is no such GPU.
const Target& target_named(const std::string& name);

/// The target of `device`. A GPU is its own target. The host device takes the GPU `name`, or its
/// default GPU if `name` is empty. Throws UserError if `device` is a GPU and `name` is not empty.
Target plan_target(const DeviceState& device, const std::string& name);

}  // namespace sinter
