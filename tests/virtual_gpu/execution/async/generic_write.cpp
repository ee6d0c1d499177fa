#include "tests/virtual_gpu/execution/async/generic_write.h"

#include <bit>

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

namespace handlers {

void proxy_fence(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  ActiveLaunch& launch = *warp.block->launch;
  if (!launch.async || !checks_races(launch)) return;
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    launch.async->proxies.fence(clock_of(warp, std::countr_zero(rest)), *launch.order,
                                details_of(operation).mode, operation.line);
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
