#include "tests/virtual_gpu/execution/async/mbarriers.h"

#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/agent_text.h"
#include "tests/virtual_gpu/execution/async/agents.h"

namespace sinter::virtual_gpu {

namespace {

constexpr int kBytes = 8;

std::uint64_t user_of(const Warp& warp, int lane) {
  return std::uint64_t{warp.block->index} << 32 | thread_of(warp, lane);
}

/// PTX ISA manual, `fence.mbarrier_init`: it releases the initialisation, so that a relaxed barrier
/// of the cluster behind it is enough.
bool is_seen(const Warp& warp, int lane, const MBarrier& barrier) {
  const ActiveLaunch& launch = *warp.block->launch;
  if (!checks_races(launch) || launch.order->is_before(barrier.initialized, clock_of(warp, lane)))
    return true;
  return barrier.is_published && warp.block->cluster->phase > barrier.published_at &&
         !warp.owes_wait;
}

/// The bytes of an mbarrier are opaque. These resemble no number of a kernel.
void write_opaque(const Place& place) { std::memset(place.data, 0xb7, kBytes); }

/// Initialisation and invalidation are ordinary writes for the race check.
void write_object(const Warp& warp, const Operation& operation, int lane, const Place& place) {
  ThreadClock* const clock = checks_races(*warp.block->launch) ? &clock_of(warp, lane) : nullptr;
  check_copied(warp, operation, lane, place, kBytes, AccessKind::write, clock);
}

}  // namespace

std::uint64_t address_of(const MBarrier& barrier) { return kFirstAddress + barrier.offset; }

Place resolve_mbarrier(const Warp& warp, const Operation& operation, int lane,
                       const AddressOperand& operand, bool is_own) {
  const std::uint64_t address = addresses_of(warp, operand).of[static_cast<std::size_t>(lane)];
  const Place place = resolve(warp, operation, lane, operand.space, address, kBytes, kBytes);
  if (!place.is_shared)
    fail(warp, operation, lane, CheckKind::memory,
         fmt::format("the mbarrier at address {:#x} is not in shared memory", address));
  if (is_own && place.block != warp.block)
    fail(warp, operation, lane, CheckKind::memory,
         fmt::format("the mbarrier is in block {} of the cluster, the instruction needs one of its "
                     "own block",
                     place.block->rank));
  return place;
}

MBarrier& find_mbarrier(const Warp& warp, const Operation& operation, int lane,
                        const Place& place) {
  auto& mbarriers = place.block->async->mbarriers;
  const auto found = mbarriers.find(place.offset);
  if (found == mbarriers.end())
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("shared address {:#x} holds no mbarrier: mbarrier.init must precede its use",
                     kFirstAddress + place.offset));
  MBarrier& barrier = found->second;
  const ActiveLaunch& launch = *warp.block->launch;
  if (!is_seen(warp, lane, barrier))
    fail(warp, operation, lane, CheckKind::race,
         fmt::format("the use of the mbarrier at shared address {:#x} is not ordered after its "
                     "initialisation by {}, line {}",
                     address_of(barrier),
                     text_of_thread(launch, launch.order->position_of(barrier.initialized)),
                     barrier.initialized.line));
  if (checks_races(launch))
    barrier.users[user_of(warp, lane)] = launch.order->stamp(clock_of(warp, lane), operation.line);
  return barrier;
}

MBarrier& find_mbarrier(const Warp& warp, const Operation& operation, int lane,
                        const AddressOperand& operand, bool is_own) {
  return find_mbarrier(warp, operation, lane,
                       resolve_mbarrier(warp, operation, lane, operand, is_own));
}

void begin_mbarrier(const Warp& warp, const Operation& operation, int lane, const Place& place,
                    std::uint32_t count) {
  ActiveLaunch& launch = *warp.block->launch;
  check_no_mbarrier(warp, operation, lane, place, kBytes);
  write_object(warp, operation, lane, place);
  write_opaque(place);
  MBarrier& barrier = warp.block->async->mbarriers[place.offset];
  barrier.block = warp.block;
  barrier.offset = place.offset;
  check_rule(warp, operation, lane, barrier, barrier.counts.init(count));
  if (!checks_races(launch)) return;
  barrier.initialized = launch.order->stamp(clock_of(warp, lane), operation.line);
  barrier.carrier =
      launch.order->begin_block(launch.serial, UINT32_MAX - launch.async->carriers++, 1);
  barrier.arrivals_key = new_order_key(launch);
  barrier.done_key = new_order_key(launch);
}

void end_mbarrier(const Warp& warp, const Operation& operation, int lane, MBarrier& barrier) {
  const ActiveLaunch& launch = *warp.block->launch;
  if (barrier.pending_operations > 0)
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("{} asynchronous operations will still signal the mbarrier at shared address "
                     "{:#x}",
                     barrier.pending_operations, address_of(barrier)));
  for (const auto& [user, stamp] : barrier.users) {
    // `cuda::pipeline` orders the lanes of a warp by `match.sync` alone.
    if (user >> 32 == warp.block->index && stamp.thread / kLanes == thread_of(warp, lane) / kLanes)
      continue;
    if (!launch.order->is_before(stamp, clock_of(warp, lane)))
      fail(warp, operation, lane, CheckKind::race,
           fmt::format("the invalidation of the mbarrier at shared address {:#x} is not ordered "
                       "after its use by {}, line {}",
                       address_of(barrier),
                       text_of_thread(launch, launch.order->position_of(stamp)), stamp.line));
  }
  const std::uint64_t offset =
      barrier.offset;  // the map destroys the object before it needs the key
  warp.block->async->mbarriers.erase(offset);
}

void release_to(MBarrier& barrier, ThreadClock& thread, bool is_release) {
  const ActiveLaunch& launch = *barrier.block->launch;
  if (!checks_races(launch)) return;
  launch.order->strong_write(thread, barrier.arrivals_key, /*is_atomic=*/true, is_release);
}

void acquire_from(MBarrier& barrier, ThreadClock& thread, bool is_acquire) {
  const ActiveLaunch& launch = *barrier.block->launch;
  if (!checks_races(launch)) return;
  launch.order->strong_read(thread, barrier.done_key, is_acquire);
}

/// The carrier acquires the releases of the phase. Later arrivals release to a new key, so that a
/// wait for this phase learns nothing of them.
void advance_phase(MBarrier& barrier) {
  ActiveLaunch& launch = *barrier.block->launch;
  ++*launch.writes;
  if (!barrier.counts.advance()) return;
  barrier.is_observed = false;
  barrier.failed_polls = 0;
  barrier.complete.insert(barrier.complete.end(), barrier.signals.begin(), barrier.signals.end());
  barrier.signals.clear();
  if (!checks_races(launch)) return;
  ThreadClock& carrier = launch.order->thread(*barrier.carrier, 0);
  launch.order->strong_read(carrier, barrier.arrivals_key, /*is_acquire=*/true);
  launch.order->strong_write(carrier, barrier.done_key, /*is_atomic=*/false, /*is_release=*/true);
  barrier.arrivals_key = new_order_key(launch);
}

void observe_phase(MBarrier& barrier) {
  barrier.is_observed = true;
  for (const auto& copy : barrier.complete) copy->is_observed = true;
  barrier.complete.clear();
}

void check_no_mbarrier(const Warp& warp, const Operation& operation, int lane, const Place& place,
                       std::uint64_t bytes) {
  if (!place.is_shared || !place.block->async) return;
  const auto& mbarriers = place.block->async->mbarriers;
  const auto next = mbarriers.lower_bound(place.offset >= kBytes ? place.offset - kBytes + 1 : 0);
  if (next == mbarriers.end() || next->first >= place.offset + bytes) return;
  fail(warp, operation, lane, CheckKind::synchronization,
       fmt::format("shared address {:#x} holds an mbarrier since line {}: mbarrier.inval must "
                   "precede another use of its memory",
                   address_of(next->second), next->second.initialized.line));
}

void check_rule(const Warp& warp, const Operation& operation, int lane, const MBarrier& barrier,
                const std::string& problem) {
  if (problem.empty()) return;
  fail(warp, operation, lane, CheckKind::synchronization,
       fmt::format("mbarrier at shared address {:#x}: {}", address_of(barrier), problem));
}

}  // namespace sinter::virtual_gpu
