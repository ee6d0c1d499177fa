// Local tiles: where what the phases of a horizontally fused kernel exchange mostly stays within a
// resident tile, a block takes its resident tile through all of these phases and waits for nobody
// but its own threads. What one of them makes for the next is kept in the resident tile too, and
// where nothing else reads it, it never comes to memory. What needs other resident tiles follows
// behind a barrier of the grid.
//
// ResidentTiles have the shape outer × channels × rows (resident tiles.h), or are neighbouring
// units (unit_walk.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// The local tiles that `sections` with `schedules` can keep; nullopt if there are none. `units`:
/// as ResidentTileSchedule::units. `inner`: buffers that they write and nothing else reads.
std::optional<ResidentTiles> find_local_tiles(
    const Program& program, std::span<const Kernel> sections, std::span<const Body> bodies,
    std::span<const int> inner, std::span<const Schedule> schedules, std::int64_t units);

/// Of `resident tiles`, the arrays that begin at multiples of 16 bytes in each resident tile of so
/// many units.
ResidentTiles with_aligned_arrays(ResidentTiles resident_tiles, std::int64_t channels);

}  // namespace sinter
