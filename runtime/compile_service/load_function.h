// Looks up a kernel's function in a loaded module and sets its launch limits.
#pragma once

#include <string>

#include "codegen/text/source.h"
#include "runtime/cache/kernel_cache.h"

namespace sinter {

/// The function `entry` of `module`, with the shared memory and cluster size that `source` needs
/// enabled. On a GPU, the report `code` on its machine code decides whether launches start early;
/// an empty report means no. The host device checks each early start. Throws DriverError.
CompiledFunction load_function(const DeviceState& device, const Module& module,
                               const Source& source, const std::string& entry,
                               const CubinReport& code);

}  // namespace sinter
