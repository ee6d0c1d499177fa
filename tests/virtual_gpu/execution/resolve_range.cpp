// The first and the last address tell the places of those between them.
#include "tests/virtual_gpu/execution/resolve_range.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace sinter::virtual_gpu {
namespace {

/// The lanes with the lowest and the highest address.
struct Bounds {
  int lowest = 0, highest = 0;
  bool are_aligned = false;  ///< all addresses
};

Bounds bounds_of(Mask lanes, const LaneAddresses& addresses, int bytes) {
  const auto address = [&](int lane) { return addresses.of[static_cast<std::size_t>(lane)]; };
  const int first = std::countr_zero(lanes);
  Bounds result{.lowest = first, .highest = first};
  std::uint64_t low = address(first), high = low, bits = low;
  for (Mask rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    bits |= address(lane);
    if (address(lane) < low) low = address(result.lowest = lane);
    if (address(lane) > high) high = address(result.highest = lane);
  }
  result.are_aligned = (bits & (static_cast<std::uint64_t>(bytes) - 1)) == 0;
  return result;
}

std::optional<Place> place_of(const Warp& warp, const Operation& operation, int lane,
                              const LaneAddresses& addresses, int bytes) {
  try {
    return resolve(warp, operation, lane, addresses.of[static_cast<std::size_t>(lane)], bytes);
  } catch (const Violation&) {
    return std::nullopt;  // the error must name the first lane with a bad address
  }
}

}  // namespace

bool resolve_range(const Warp& warp, const Operation& operation, const LaneAddresses& addresses,
                   int bytes, Places& places) {
  const Bounds bounds = bounds_of(warp.mask, addresses, bytes);
  if (!bounds.are_aligned) return false;
  const auto low = place_of(warp, operation, bounds.lowest, addresses, bytes);
  if (!low || !low->shadow) return false;
  const auto high = bounds.highest == bounds.lowest
                        ? low
                        : place_of(warp, operation, bounds.highest, addresses, bytes);
  if (!high || high->shadow != low->shadow) return false;
  const std::uint64_t first = addresses.of[static_cast<std::size_t>(bounds.lowest)];
  // Addresses of different windows may name the same memory.
  if (high->offset - low->offset != addresses.of[static_cast<std::size_t>(bounds.highest)] - first)
    return false;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    const std::uint64_t distance = addresses.of[lane] - first;
    places[lane] = *low;
    places[lane].data += distance;
    places[lane].offset += distance;
    places[lane].address += distance;
  }
  return true;
}

}  // namespace sinter::virtual_gpu
