// Sections of a horizontally fused kernel that visit one unit of memory after the other. Each array
// consists of equal pieces, one per unit, and the first axes of a body count the units. The order
// within a unit is arbitrary. An image is a unit, in any layout. So is a channel of which a
// mirrored or transposed copy is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/horizontal/tile_axes.h"

namespace sinter {

/// Candidates for the number of units: the extents of the bodies' parallel axes, and the products
/// of their leading extents.
std::vector<std::int64_t> unit_counts(std::span<const Body> bodies);

/// Strips in which a kernel visits all positions of one unit before the next unit, if the units are
/// not its first axis. Only for row reductions and for pointwise kernels without tiles. strip is 0
/// if there are none.
struct UnitStrips {
  std::int64_t strip = 0;
  std::int64_t outer = 1;
};
UnitStrips strips_of_units(const Kernel& kernel, const Body& body, const Schedule& schedule,
                           std::int64_t units);

/// The axes of a kernel whose blocks cover the positions of `units` units in order. Returns nullopt
/// if its blocks cannot stay within a resident tile of some units.
std::optional<TileAxes> unit_axes_of(const Kernel& kernel, const Body& body,
                                     const Schedule& schedule, const Facts& facts,
                                     std::int64_t units);

/// The order in which a kernel visits units, and its accesses. An access is linear if each unit
/// accesses only its own piece of the array; channel_stride is then the size of a piece.
struct UnitVisit {
  TileAxes axes;
  std::vector<ResidentTileAccess> accesses;
};
/// Visits the units in the order of the body or of its strips. The order with more accesses that
/// stay in one unit wins. Returns nullopt if the kernel cannot visit one unit after the other.
std::optional<UnitVisit> visit_in_units(const Program& program, const Kernel& kernel,
                                        const Body& body, const Schedule& schedule,
                                        std::int64_t units);

}  // namespace sinter
