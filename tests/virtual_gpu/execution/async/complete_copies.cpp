#include "tests/virtual_gpu/execution/async/complete_copies.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/mbarriers.h"

namespace sinter::virtual_gpu {

namespace {

constexpr int kPollsUntilCopies = 2;

void move_bytes(const AsyncCopy& copy) {
  if (copy.byte_mask == 0xffff) {
    if (copy.copied > 0) std::memmove(copy.to, copy.from, copy.copied);
    std::memset(copy.to + copy.copied, 0, copy.bytes - copy.copied);
    return;
  }
  for (std::uint32_t i = 0; i < copy.bytes; ++i)
    if ((copy.byte_mask >> (i % 16)) & 1) copy.to[i] = copy.from[i];
}

const Warp& warp_of(const AsyncCopy& copy) {
  return copy.block->warps[copy.thread / static_cast<std::uint32_t>(kLanes)];
}
int lane_of(const AsyncCopy& copy) { return static_cast<int>(copy.thread % kLanes); }

bool signals(const AsyncCopy& copy, const MBarrier& barrier) {
  return copy.barrier == &barrier || std::ranges::any_of(copy.arrivals, [&](const auto& one) {
           return one->barrier == &barrier;
         });
}

/// Performs the pending copies for which the predicate holds.
template <class Predicate>
void complete_if(ActiveLaunch& launch, Predicate holds) {
  CopyList& pending = launch.async->pending;
  const CopyList all = pending;  // a completed copy changes the list
  for (const auto& copy : all)
    if (!copy->is_done && holds(*copy)) complete_copy(launch, copy);
  std::erase_if(pending, [](const auto& copy) { return copy->is_done; });
}

}  // namespace

void begin_async(ActiveLaunch& launch) {
  if (launch.kernel->is_asynchronous)
    launch.async = std::make_shared<AsyncLaunch>(launch.options->seed + launch.serial);
}

void begin_async(Block& block) {
  if (!block.launch->async) return;
  block.async = std::make_shared<AsyncBlock>();
  block.async->threads.resize(static_cast<std::size_t>(block.launch->threads));
}

void arrive_asynchronously(const Warp& warp, const Operation& operation, int lane,
                           AsyncArrival& arrival) {
  MBarrier& barrier = *arrival.barrier;
  --barrier.pending_operations;
  check_rule(warp, operation, lane, barrier, barrier.counts.arrive(1));
  advance_phase(barrier);
}

void complete_copy(ActiveLaunch& launch, const std::shared_ptr<AsyncCopy>& copy) {
  if (copy->is_done) return;
  copy->is_done = true;
  move_bytes(*copy);
  ++*launch.writes;
  if (MBarrier* const barrier = copy->barrier) {
    --barrier->pending_operations;
    if (copy->writer) release_to(*barrier, *copy->writer, /*is_release=*/true);
    barrier->signals.push_back(copy);
    check_rule(warp_of(*copy), *copy->operation, lane_of(*copy), *barrier,
               barrier->counts.complete(copy->bytes));
    advance_phase(*barrier);
  }
  for (const auto& arrival : copy->arrivals) {
    if (copy->writer) release_to(*arrival->barrier, *copy->writer, /*is_release=*/true);
    if (--arrival->copies == 0)
      arrive_asynchronously(warp_of(*copy), *copy->operation, lane_of(*copy), *arrival);
  }
  copy->arrivals.clear();
}

void issue_copy(ActiveLaunch& launch, const std::shared_ptr<AsyncCopy>& copy) {
  const Schedule schedule = launch.options->schedule;
  if (schedule == Schedule::fair ||
      (schedule == Schedule::random && launch.async->random() % 4 == 0))
    return complete_copy(launch, copy);
  launch.async->pending.push_back(copy);
}

void advance_copies(ActiveLaunch& launch) {
  if (!launch.async || launch.options->schedule != Schedule::random) return;
  complete_if(launch, [&](const AsyncCopy&) { return launch.async->random() % 4 == 0; });
}

void advance_copies_of(MBarrier& barrier) {
  if (++barrier.failed_polls < kPollsUntilCopies) return;
  complete_if(*barrier.block->launch,
              [&](const AsyncCopy& copy) { return signals(copy, barrier); });
}

void end_async(Block& block) {
  ActiveLaunch& launch = *block.launch;
  if (!launch.async) return;
  CopyList& bulk = launch.async->bulk_copies;
  std::erase_if(bulk, [](const auto& copy) { return copy->is_observed; });
  for (const auto& copy : bulk)
    if (copy->shared_source == &block || copy->shared_target == &block)
      fail(
          warp_of(*copy), *copy->operation, lane_of(*copy), CheckKind::synchronization,
          fmt::format("the block ends, but no thread has waited for this copy, which {} its shared "
                      "memory",
                      copy->shared_source == &block ? "reads" : "writes"));
  complete_if(launch, [&](const AsyncCopy& copy) { return copy.block == &block; });
}

}  // namespace sinter::virtual_gpu
