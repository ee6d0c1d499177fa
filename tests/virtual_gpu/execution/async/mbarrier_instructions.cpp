// The mbarrier instructions (PTX ISA manual, section 9.7.13.15).
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/complete_copies.h"
#include "tests/virtual_gpu/execution/async/mbarriers.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

using handlers::AsyncFlags;

namespace {

/// The opaque state that an arrival returns: the phase in the low bits, then the pending arrivals,
/// and whether the arrival had `.noComplete`.
constexpr int kPendingShift = 42;
constexpr std::uint64_t kPhaseMask = (std::uint64_t{1} << kPendingShift) - 1;
constexpr std::uint64_t kNoComplete = std::uint64_t{1} << 63;
constexpr int kPollsUntilText = 1000;

std::uint64_t read_double_word(const Warp& warp, Slot slot, int lane) {
  std::uint64_t value;
  std::memcpy(&value, warp.source(slot) + lane * 8, sizeof value);
  return value;
}

void arrive_lane(Warp& warp, const Operation& operation, int lane) {
  const Details& details = details_of(operation);
  const int mode = details.mode;
  const Slot result = operation.results[0];
  MBarrier& barrier = find_mbarrier(warp, operation, lane, details.addresses[0], /*is_own=*/false);
  MBarrierCounts& counts = barrier.counts;
  const auto check = [&](const std::string& problem) {
    check_rule(warp, operation, lane, barrier, problem);
  };
  if (barrier.block != warp.block && result != kNoSlot)
    check("it is in another block, so the arrival has no result: its destination must be _");
  if (!barrier.is_observed)
    check(fmt::format("an arrival in phase {} needs a wait that returned true for phase {}",
                      counts.phase(), counts.phase() - 1));
  const std::uint64_t token = counts.phase() | std::uint64_t{counts.pending()} << kPendingShift |
                              (mode & AsyncFlags::kNoComplete ? kNoComplete : 0);
  const bool has_operand = operation.operands[0] != kNoSlot;
  const std::uint32_t operand = has_operand ? read_word(warp, operation.operands[0], lane) : 1;
  const bool expects = (mode & AsyncFlags::kExpects) != 0;
  const std::uint32_t count = expects ? 1 : operand;
  if (expects) check(counts.expect(operand));
  if (mode & AsyncFlags::kDrops) check(counts.drop(count));
  check(counts.arrive(count, (mode & AsyncFlags::kNoComplete) != 0));
  release_to(barrier, clock_of(warp, lane), !(mode & AsyncFlags::kRelaxed));
  advance_phase(barrier);
  if (result != kNoSlot) std::memcpy(warp.at(result) + lane * 8, &token, sizeof token);
}

/// True if the phase is complete. The manual allows the current phase and the one before it.
bool test_lane(const Warp& warp, const Operation& operation, int lane, const MBarrier& barrier) {
  const std::uint64_t current = barrier.counts.phase();
  if (details_of(operation).mode & AsyncFlags::kParity) {
    const std::uint32_t parity = read_word(warp, operation.operands[0], lane);
    if (parity > 1)
      check_rule(warp, operation, lane, barrier,
                 fmt::format("the parity of a phase is 0 or 1, not {}", parity));
    return parity != current % 2;
  }
  const std::uint64_t phase = read_double_word(warp, operation.operands[0], lane) & kPhaseMask;
  if (phase != current && phase + 1 != current)
    check_rule(
        warp, operation, lane, barrier,
        fmt::format("the state is of phase {}, but the current phase is {}", phase, current));
  return phase != current;
}

/// A warp that polls long waits for another one, as it does when it reads memory again and again.
/// Its lanes may poll at several places in turn.
void note_poll(Warp& warp, const Operation& operation, const MBarrier& barrier) {
  const MBarrierCounts& counts = barrier.counts;
  const std::uint64_t writes = *warp.block->launch->writes;
  const bool continues = warp.spun_at && warp.spun_at->execute == handlers::mbarrier_wait &&
                         warp.spun_writes == writes;
  warp.spun_at = &operation;
  warp.spun_writes = writes;
  warp.spins = continues ? warp.spins + 1 : 0;
  warp.yields = warp.spins > 4;
  if (warp.spins > 0 && warp.spins % kPollsUntilText == 0)
    warp.block->async->waits[warp.index] = fmt::format(
        "waits for phase {} of the mbarrier at shared address {:#x}, which lacks {} of {} arrivals "
        "and {} bytes",
        counts.phase(), address_of(barrier), counts.pending(), counts.expected(), counts.bytes());
}

}  // namespace

namespace handlers {

void mbarrier_init(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place place = resolve_mbarrier(warp, operation, lane, details_of(operation).addresses[0],
                                         /*is_own=*/true);
    begin_mbarrier(warp, operation, lane, place, read_word(warp, operation.operands[0], lane));
  }
}

void mbarrier_invalidate(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    end_mbarrier(warp, operation, lane,
                 find_mbarrier(warp, operation, lane, details_of(operation).addresses[0],
                               /*is_own=*/true));
  }
}

void mbarrier_arrive(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    arrive_lane(warp, operation, std::countr_zero(rest));
  warp.spins = 0;
}

void mbarrier_transact(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    MBarrier& barrier =
        find_mbarrier(warp, operation, lane, details.addresses[0], /*is_own=*/false);
    const std::uint32_t bytes = read_word(warp, operation.operands[0], lane);
    check_rule(warp, operation, lane, barrier,
               details.mode & AsyncFlags::kCompletes ? barrier.counts.complete(bytes)
                                                     : barrier.counts.expect(bytes));
    advance_phase(barrier);
  }
}

/// `try_wait` may return false before the phase is complete, so it is the same as `test_wait`.
void mbarrier_wait(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  Mask done = 0;
  MBarrier* waits_for = nullptr;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    MBarrier& barrier = find_mbarrier(warp, operation, lane, details.addresses[0], /*is_own=*/true);
    if (!test_lane(warp, operation, lane, barrier)) {
      waits_for = &barrier;
      continue;
    }
    done |= Mask{1} << lane;
    observe_phase(barrier);
    acquire_from(barrier, clock_of(warp, lane), !(details.mode & AsyncFlags::kRelaxed));
  }
  std::byte* const place = warp.at(operation.results[0]);
  Mask bits;
  std::memcpy(&bits, place, sizeof bits);
  bits = (bits & ~warp.mask) | done;
  std::memcpy(place, &bits, sizeof bits);
  if (!waits_for) {
    warp.spins = 0;
    return;
  }
  note_poll(warp, operation, *waits_for);
  advance_copies_of(*waits_for);
}

void mbarrier_pending_count(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t token = read_double_word(warp, operation.operands[0], lane);
    if (!(token & kNoComplete))
      fail(warp, operation, lane, CheckKind::arithmetic,
           "the state must be the result of an arrival with .noComplete");
    const auto count = static_cast<std::uint32_t>((token & ~kNoComplete) >> kPendingShift);
    std::memcpy(warp.at(operation.results[0]) + lane * 4, &count, sizeof count);
  }
}

void mbarrier_init_fence(LaneState& state, const Operation&) {
  Warp& warp = warp_of(state);
  if (!warp.block->async || !checks_races(*warp.block->launch)) return;
  for (auto& [offset, barrier] : warp.block->async->mbarriers) {
    const AccessStamp& init = barrier.initialized;
    const bool is_own = init.thread / kLanes == static_cast<std::uint32_t>(warp.index) &&
                        (warp.mask >> (init.thread % kLanes)) & 1;
    if (!is_own || barrier.is_published) continue;
    barrier.is_published = true;
    barrier.published_at = warp.block->cluster->phase;
  }
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
