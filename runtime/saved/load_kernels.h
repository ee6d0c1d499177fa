// From the kernels of a saved file to variants that are ready to launch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/saved/saved_program.h"

namespace sinter {

/// Loads the images of `kernels` on `device`. `graph` is what their extents belong to, `functions`
/// what they call; `file` and `version`, of the sinter that wrote it, are for messages. Throws
/// UserError where the device cannot run what was planned for another of its architecture,
/// DriverError where the driver refuses an image.
std::vector<std::shared_ptr<const Variant>> load_variants(
    const DeviceState& device, SavedKernels kernels, const std::shared_ptr<Graph>& graph,
    const OpaqueFunctions& functions, const std::string& file, const std::string& version);

}  // namespace sinter
