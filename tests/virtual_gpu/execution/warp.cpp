// Execution of one warp: the loop over operations, divergence, and the end of threads.
#include <algorithm>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/complete_copies.h"
#include "tests/virtual_gpu/execution/machine.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

void find_meeting(Warp& warp) {
  warp.meeting = INT32_MAX;
  for (const Fragment& fragment : warp.waiting)
    warp.meeting = std::min(warp.meeting, fragment.position);
}

std::string text_of(const Index3& index) {
  return fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

/// The position of the linear thread index in a block.
Index3 thread_position(const Index3& block, std::uint32_t thread) {
  return {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
}

}  // namespace

void add_fragment(Warp& warp, std::int32_t position, Mask lanes) {
  if (lanes == 0) return;
  for (Fragment& fragment : warp.waiting)
    if (fragment.position == position) {
      fragment.lanes |= lanes;
      return;
    }
  warp.waiting.push_back({.position = position, .lanes = lanes});
  warp.meeting = std::min(warp.meeting, position);
}

void switch_fragment(Warp& warp) {
  add_fragment(warp, warp.position, warp.active);
  const auto lowest = std::ranges::min_element(warp.waiting, {}, &Fragment::position);
  warp.position = lowest->position;
  warp.active = lowest->lanes;
  warp.waiting.erase(lowest);
  find_meeting(warp);
}

namespace {

/// Threads of a warp make progress apart from each other (PTX ISA manual, section 3.1). So lanes
/// that poll an mbarrier let the other lanes of the warp run. False if there are none.
bool park_fragment(Warp& warp) {
  if (warp.waiting.empty() || warp.spun_at->execute != handlers::mbarrier_wait) return false;
  warp.parked.push_back({.position = warp.position, .lanes = warp.active});
  warp.active = 0;
  warp.position = INT32_MAX;
  switch_fragment(warp);
  return true;
}

/// True if the instruction needs lanes of the warp that poll. They meet the others at it later.
bool awaits_parked(const Warp& warp, const Operation& operation, Mask mask) {
  if (mask == warp.live) return false;
  for (const Execute execute :
       {handlers::block_barrier, handlers::barrier_arrive, handlers::barrier_reduction,
        handlers::cluster_arrive, handlers::cluster_wait, handlers::warp_barrier, handlers::shuffle,
        handlers::vote, handlers::match, handlers::reduce_lanes, handlers::elect})
    if (operation.execute == execute) return true;
  return false;
}

void unpark_fragments(Warp& warp) {
  for (const Fragment& fragment : warp.parked)
    add_fragment(warp, fragment.position, fragment.lanes);
  warp.parked.clear();
}

}  // namespace

void exit_lanes(Warp& warp, const Operation& operation, Mask lanes) {
  warp.live &= ~lanes;
  warp.active &= ~lanes;
  if (warp.live == 0) {
    warp.state = WarpState::done;
    if (--warp.block->live_warps == 0) {
      end_async(*warp.block);
      check_end_of_block(warp, operation);
    }
    complete_barriers(*warp.block);
  } else if (warp.active == 0) {
    unpark_fragments(warp);
    const Fragment next = *std::ranges::min_element(warp.waiting, {}, &Fragment::position);
    std::erase_if(warp.waiting,
                  [&](const Fragment& fragment) { return fragment.position == next.position; });
    warp.position = next.position;
    warp.active = next.lanes;
    find_meeting(warp);
  }
}

void run_warp(Warp& warp, int budget) {
  ActiveLaunch& launch = *warp.block->launch;
  const Operation* const operations = launch.kernel->operations.data();
  std::uint64_t* const executed = launch.executed.data();
  warp.yields = false;
  unpark_fragments(warp);
  int rest = budget;
  while (rest-- > 0) {
    if (warp.position >= warp.meeting) switch_fragment(warp);
    const Operation& operation = operations[warp.position];
    Mask mask = warp.active;
    if (operation.guard != kNoSlot) {
      Mask guard;
      std::memcpy(&guard, warp.source(operation.guard), sizeof guard);
      mask &= operation.guard_is_negated ? ~guard : guard;
    }
    if (!warp.parked.empty() && awaits_parked(warp, operation, mask)) break;
    executed[warp.position] +=
        static_cast<unsigned>(mask == kAllLanes ? kLanes : std::popcount(mask));
    ++warp.position;
    if (mask == 0) continue;
    warp.mask = mask;
    operation.execute(warp, operation);
    if (warp.yields && park_fragment(warp)) warp.yields = false;
    if (warp.state != WarpState::ready || warp.yields) break;
  }
  launch.instructions += static_cast<std::uint64_t>(budget - rest);
}

void fail(const Warp& warp, const Operation& operation, int lane, CheckKind kind,
          const std::string& problem) {
  const Block& block = *warp.block;
  const ActiveLaunch& launch = *block.launch;
  throw Violation(
      kind, fmt::format("kernel {}, block {}, thread {}, line {} ({}): {}", launch.kernel->name,
                        text_of(block.position),
                        text_of(thread_position(launch.request.block, thread_of(warp, lane))),
                        operation.line, line_of(launch.request.program->module, operation.line),
                        problem));
}

}  // namespace sinter::virtual_gpu
