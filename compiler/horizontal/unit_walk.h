// Sections of a horizontally fused kernel that go through units of memory one after the other,
// whatever they do within one: arrays consist of so many pieces of equal size, and the first so
// many places of a body's axes tell which of them it is at. An image is such a unit, in any layout;
// so is a channel of which a mirrored or turned copy is made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/horizontal/tile_walk.h"

namespace sinter {

/// The numbers of units that bodies may go through: what their first axes have of places, or one
/// axis has.
std::vector<std::int64_t> numbers_of_units(std::span<const Body> bodies);

/// The strips in which a kernel of rows or single elements goes through all that one of `units` has
/// before it comes to the next one, where these are an axis behind others; none: strip is 0.
struct UnitStrips {
  std::int64_t strip = 0;
  std::int64_t outer = 1;
};
UnitStrips strips_of_units(const Kernel& kernel, const Body& body, const Schedule& schedule,
                           std::int64_t units);

/// A kernel that deals out the places of `units` one behind the other; nullopt if its blocks do not
/// each stay within some of them.
std::optional<TileWalk> walk_of_units(const Kernel& kernel, const Body& body,
                                      const Schedule& schedule, const Facts& facts,
                                      std::int64_t units);

/// What such a kernel accesses. Where a unit only finds elements of its own piece of an array, the
/// access is linear: channel_stride is the size of a piece.
std::vector<ResidentTileAccess> accesses_in_units(const Program& program, const Kernel& kernel,
                                                  const Body& body, std::int64_t units);

}  // namespace sinter
