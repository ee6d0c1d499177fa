#include "tests/virtual_gpu/execution/async/generic_write.h"

#include <bit>

#include "tests/virtual_gpu/execution/async/async_state.h"
#include "tests/virtual_gpu/execution/async/mbarriers.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

void note_generic_writes(const Warp& warp, const Operation& operation, const Places& places,
                         int bytes) {
  ActiveLaunch& launch = *warp.block->launch;
  const auto size = static_cast<std::uint64_t>(bytes);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place& place = places[static_cast<std::size_t>(lane)];
    if (!place.shadow) continue;  // local memory
    check_no_mbarrier(warp, operation, lane, place, size);
    if (checks_races(launch))
      launch.async->proxies.write(place.address, size,
                                  launch.order->stamp(clock_of(warp, lane), operation.line),
                                  place.is_shared);
  }
}

void note_generic_reads(const Warp& warp, const Operation& operation, const Places& places,
                        int bytes) {
  const ActiveLaunch& launch = *warp.block->launch;
  if (!checks_races(launch) || !launch.kernel->has_bulk_copies) return;
  const auto size = static_cast<std::uint64_t>(bytes);
  Mask rest = warp.mask;
  while (rest) {
    const Place& place = places[static_cast<std::size_t>(std::countr_zero(rest))];
    Mask same = 0;  // lanes that read the same bytes
    for (Mask others = rest; others; others &= others - 1) {
      const Place& other = places[static_cast<std::size_t>(std::countr_zero(others))];
      if (other.address == place.address && other.block == place.block)
        same |= Mask{1} << std::countr_zero(others);
    }
    rest &= ~same;
    if (place.is_shared && place.block == warp.block)
      warp.block->async->proxy_reads.read(
          place.offset, size, static_cast<std::uint32_t>(warp.index), same, operation.line);
  }
}

namespace handlers {

void proxy_fence(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  ActiveLaunch& launch = *warp.block->launch;
  if (!launch.async || !checks_races(launch)) return;
  const int spaces = details_of(operation).mode;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const ThreadClock& thread = clock_of(warp, lane);
    launch.async->proxies.fence(thread, *launch.order, spaces, operation.line);
    if (spaces & ProxyFence::kShared)
      warp.block->async->proxy_reads.fence(static_cast<std::uint32_t>(warp.index),
                                           static_cast<std::uint32_t>(lane),
                                           launch.order->stamp(thread, operation.line));
  }
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
