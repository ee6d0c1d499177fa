// Decides which kernels may start before earlier launches of their stream have ended.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "codegen/text/source.h"
#include "sinter/report.h"

namespace sinter {

/// True if a launch on a GPU may begin before earlier launches have ended. The kernel must wait for
/// them itself, and its machine code `code` must have no load in front of the wait.
///
/// The emitted text alone is no proof. A load of read-only memory (`ld.global.nc`) promises that
/// nothing writes the memory while the kernel runs. ptxas moves such loads in front of the wait.
/// The prelude's exit behind the wait prevents this in all known kernels, but PTX does not promise
/// it. Therefore a kernel without a report on machine code does not start early. The driver
/// compiles the PTX of such kernels when it loads them, and sinter does not see the result.
bool may_start_early(const Source& source, const CubinReport& code);

/// The report on the machine code of kernel `entry` in a stored image, without spills. Empty for
/// PTX, and for cubins that cannot be read.
CubinReport read_machine_code(std::span<const std::byte> image, std::string_view entry);

}  // namespace sinter
