// The grid of a launch: as large as its kernel asks for, and no larger than what is on the device
// at once where blocks wait for one another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "codegen/text/source.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// How many blocks of a cooperative kernel are on the device at once; 0: not even one has room.
std::int64_t blocks_at_once(const DeviceState& device, const Source& source, CUfunction function);
/// The same, or 0 for a kernel that is none,
/// of which any number may be launched. `function` is `source`, loaded.
std::int64_t resident_blocks(const DeviceState& device, const Source& source, CUfunction function);

/// The blocks of a launch, no more than `resident` unless that is 0. None: nothing to launch.
std::int64_t launched_blocks(const Source& source, std::int64_t resident,
                             std::span<const std::int64_t> symbols);

/// Why the device cannot run all blocks of a cluster of `source` at once; empty: it can. Asked of
/// sizes alone that not every GPU with clusters runs.
std::string why_no_cluster(const DeviceState& device, const Source& source, CUfunction function);
/// Whether the function must be told that its clusters may be of such a size.
bool has_large_cluster(const Source& source);

/// What a launch says besides its shape.
struct LaunchAttributes {
  std::array<CUlaunchAttribute, 2> list;
  unsigned count = 0;

  std::span<const CUlaunchAttribute> view() const { return {list.data(), count}; }
};
/// That all blocks of a kernel must be on the device at once, or those of each cluster.
LaunchAttributes node_attributes(const Source& source);
/// The same of a launch in a stream, and whether it may begin while the one in front of it ends
/// (`programmatic dependent launch`): what that saves is most of the time between two kernels.
LaunchAttributes stream_attributes(const Source& source);

}  // namespace sinter
