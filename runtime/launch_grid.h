// The grid of a launch: as large as its kernel asks for, and no larger than what is on the device
// at once where blocks wait for one another.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/source.h"
#include "runtime/device_state.h"

namespace sinter {

/// How many blocks of a cooperative kernel are on the device at once; 0 for a kernel that is none,
/// of which any number may be launched. `function` is `source`, loaded.
std::int64_t resident_blocks(const DeviceState& device, const Source& source, CUfunction function);

/// The blocks of a launch, no more than `resident` unless that is 0. None: nothing to launch.
std::int64_t launched_blocks(const Source& source, std::int64_t resident,
                             std::span<const std::int64_t> symbols);

/// Says of a launch or node that all its blocks must be on the device at once.
CUlaunchAttribute cooperative_attribute();
/// Of launches in a stream that may begin while the one in front of them ends (`programmatic
/// dependent launch`): what that saves is most of the time between two kernels.
CUlaunchAttribute early_start_attribute();

}  // namespace sinter
