// Branches and the ends of threads.
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/machine.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu::handlers {

void branch(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Mask stays = warp.active & ~warp.mask;
  add_fragment(warp, warp.position, stays);  // behind the branch
  warp.active = warp.mask;
  warp.position = details_of(operation).target;
}

/// PTX ISA manual, `brx.idx`: an index outside of the table is undefined.
void branch_indexed(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const std::byte* const indices = warp.source(operation.operands[0]);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::uint32_t index;
    std::memcpy(&index, indices + lane * 4, sizeof index);
    if (index >= details.targets.size())
      fail(warp, operation, lane, CheckKind::arithmetic,
           fmt::format("index {} is outside of a table of {} labels", index,
                       details.targets.size()));
    add_fragment(warp, details.targets[index], Mask{1} << lane);
  }
  warp.active = 0;
  warp.position = INT32_MAX;
  switch_fragment(warp);
}

void exit(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  exit_lanes(warp, operation, warp.mask);
}

void trap(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  fail(warp, operation, std::countr_zero(warp.mask), CheckKind::memory, "the kernel trapped");
}

}  // namespace sinter::virtual_gpu::handlers
