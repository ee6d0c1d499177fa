// Makes variants that are ready to launch from the kernels of a saved file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/saved/saved_program.h"

namespace sinter {

/// Loads the images of `kernels` on `device`. Their extents belong to `graph`. Their opaque calls
/// use `functions`, and keep choices of libraries in `algorithms`. `file` and `version` (of the
/// sinter that wrote it) are for messages.
///
/// Throws UserError if a kernel was planned for a larger GPU of the architecture and cannot run on
/// the device. Throws DriverError if the driver refuses an image.
std::vector<std::shared_ptr<const Variant>> load_variants(
    const DeviceState& device, SavedKernels kernels, const std::shared_ptr<Graph>& graph,
    const OpaqueFunctions& functions, const std::string& file, const std::string& version,
    const std::shared_ptr<AlgorithmStore>& algorithms);

}  // namespace sinter
