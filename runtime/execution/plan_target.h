// What a program is planned for.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// The GPU of that name or architecture, as Options::target has it; the first that is known where
/// it is empty. Throws UserError for one that is not known.
const Target& target_named(const std::string& name);

/// What `device` is planned for: a GPU for itself, the host device for the GPU that it stands in
/// for, `name` or its usual one. Throws UserError where a GPU is given a name.
Target plan_target(const DeviceState& device, const std::string& name);

}  // namespace sinter
