// Looks up a kernel's function in a loaded module and sets its launch limits.
#pragma once

#include <string>

#include "codegen/text/source.h"
#include "runtime/cache/kernel_cache.h"

namespace sinter {

/// The function `entry` of `module`, with the shared memory and cluster size that `source` needs
/// enabled. Throws DriverError.
CompiledFunction load_function(const DeviceState& device, const Module& module,
                               const Source& source, const std::string& entry);

}  // namespace sinter
