// Local panels: where what the phases of a joined kernel exchange mostly stays within a panel, a
// block takes its panel through all of these phases and waits for nobody but its own threads. What
// one of them makes for the next is kept in the panel too, and where nothing else reads it, it
// never comes to memory. What needs other panels follows behind a barrier of the grid.
//
// Panels have the shape outer × channels × rows (panels.h), or are neighbouring units
// (unit_walk.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// The local panels that `members` with `schedules` can keep; nullopt if there are none. `units`:
/// as PanelSchedule::units. `inner`: buffers that they write and nothing else reads.
std::optional<Panels> find_local_panels(const Program& program, std::span<const Kernel> members,
                                        std::span<const Body> bodies, std::span<const int> inner,
                                        std::span<const Schedule> schedules, std::int64_t units);

/// Of `panels`, the arrays that begin at multiples of 16 bytes in each panel of so many units.
Panels with_aligned_arrays(Panels panels, std::int64_t channels);

}  // namespace sinter
