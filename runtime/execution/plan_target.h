// The Target that a program is planned for.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/device/device_state.h"
#include "sinter/options.h"

namespace sinter {

/// The GPU with this name or architecture (see Options::target); the first known GPU if `name` is
/// empty. Throws UserError if there is no such GPU.
const Target& target_named(const std::string& name);

/// The target of `device`. A GPU is its own target. The host device takes the target
/// `options.target`, or its default if that is empty. That is a GPU for options.also_nvrtc, because
/// NVRTC shall compile the schedule of a GPU. GPUs have the constants of `options.target_file`.
/// Throws UserError if `device` is a GPU and `options.target` is not empty.
Target plan_target(const DeviceState& device, const Options& options);

}  // namespace sinter
