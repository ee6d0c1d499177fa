// From a loaded module to a kernel's function, ready to launch.
#pragma once

#include <string>

#include "codegen/text/source.h"
#include "runtime/cache/kernel_cache.h"

namespace sinter {

/// The function `entry` of `module`, which is `source`, allowed the shared memory and clusters that
/// this takes. Throws DriverError.
CompiledFunction load_function(const DeviceState& device, const Module& module,
                               const Source& source, const std::string& entry);

}  // namespace sinter
