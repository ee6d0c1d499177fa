// Local tiles. If the values that phases exchange stay within one resident tile, a block runs its
// tile through all of these phases. It needs barriers of its own threads only. The exchanged values
// stay in the tile too. If nothing else reads such a value, it is never stored in memory. Sections
// that need other resident tiles follow after a grid barrier.
//
// Local tiles have the shape outer × channels × rows (resident_tiles.h), or consist of adjacent
// units (memory_units.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// The local tiles that `sections` with `schedules` can keep; nullopt if there are none. `units`:
/// see ResidentTileSchedule::units.
std::optional<ResidentTiles> find_local_tiles(const FusedSections& sections,
                                              std::span<const Schedule> schedules,
                                              std::int64_t units);

/// `resident_tiles` with only those arrays that start at a multiple of 16 bytes in every resident
/// tile of `channels` units. Without units: unchanged.
ResidentTiles with_aligned_arrays(ResidentTiles resident_tiles, std::int64_t channels);

}  // namespace sinter
