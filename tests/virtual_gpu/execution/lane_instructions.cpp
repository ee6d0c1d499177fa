// Packing of vectors, exchanges between the lanes of a warp, and clocks.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/machine.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

using Words = std::array<std::uint32_t, kLanes>;

Words read_words(const Warp& warp, Slot slot) {
  Words words;
  std::memcpy(words.data(), warp.source(slot), sizeof words);
  return words;
}

void write_predicate(Warp& warp, Slot slot, Mask value) {
  Mask bits;
  std::memcpy(&bits, warp.at(slot), sizeof bits);
  bits = (bits & ~warp.mask) | (value & warp.mask);
  std::memcpy(warp.at(slot), &bits, sizeof bits);
}

void write_word(Warp& warp, Slot slot, int lane, std::uint32_t value) {
  std::memcpy(warp.at(slot) + lane * 4, &value, sizeof value);
}

/// The low bits of the values of the active lanes.
template <class T>
void write_lanes(Warp& warp, Slot slot, const std::array<std::uint64_t, kLanes>& values) {
  std::array<T, kLanes> lanes;
  for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = static_cast<T>(values[lane]);
  std::byte* const to = warp.at(slot);
  if (warp.mask == kAllLanes) {
    std::memcpy(to, lanes.data(), sizeof lanes);
    return;
  }
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    std::memcpy(to + lane * sizeof(T), &lanes[lane], sizeof(T));
  }
}

/// PTX ISA manual, `shfl.sync`, `vote.sync` and `bar.warp.sync`: all threads in `members` execute
/// the instruction with the same mask, or the result is undefined. Threads that have exited are not
/// awaited. Groups of lanes may have masks of their own. Returns the members that execute it, for
/// each lane.
Words check_members(const Warp& warp, const Operation& operation, Slot slot) {
  Words members = read_words(warp, slot);
  const Mask common = members[static_cast<std::size_t>(std::countr_zero(warp.mask))];
  if (std::ranges::all_of(members, [&](Mask mask) { return mask == common; }) &&
      (common & warp.live) == warp.mask) {  // the usual case
    members.fill(warp.mask);
    return members;
  }
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Mask mask = members[static_cast<std::size_t>(lane)];
    if (!((mask >> lane) & 1))
      fail(warp, operation, lane, CheckKind::synchronization,
           fmt::format("the lane's member mask {:#010x} lacks the lane itself", mask));
    const Mask missing = mask & warp.live & ~warp.mask;
    if (missing != 0)
      fail(warp, operation, lane, CheckKind::synchronization,
           fmt::format("the lanes {:#010x} of the member mask {:#010x} do not execute it", missing,
                       mask));
    for (Mask others = mask & warp.mask; others; others &= others - 1) {
      const int other = std::countr_zero(others);
      if (members[static_cast<std::size_t>(other)] != mask)
        fail(warp, operation, lane, CheckKind::synchronization,
             fmt::format(
                 "the lane's member mask is {:#010x}, that of its member lane {} is {:#010x}", mask,
                 other, members[static_cast<std::size_t>(other)]));
    }
  }
  for (Mask& mask : members) mask &= warp.mask;
  return members;
}

}  // namespace

namespace handlers {

void pack(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const bool is_wide = details.bytes * details.count == 8;
  std::array<std::uint64_t, kLanes> packed = {};
  for (int i = 0; i < details.count; ++i) {
    const Words words = read_words(warp, details.data[static_cast<std::size_t>(i)]);
    const std::uint64_t kept = details.bytes == 4 ? 0xffffffff : (1U << (8 * details.bytes)) - 1;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      packed[lane] |= (words[lane] & kept) << (8 * details.bytes * i);
  }
  if (is_wide)
    write_lanes<std::uint64_t>(warp, operation.results[0], packed);
  else
    write_lanes<std::uint32_t>(warp, operation.results[0], packed);
}

void unpack(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  std::array<std::uint64_t, kLanes> packed;
  if (details.bytes * details.count == 8)
    std::memcpy(packed.data(), warp.source(operation.operands[0]), sizeof packed);
  else
    std::ranges::copy(read_words(warp, operation.operands[0]), packed.begin());
  const std::uint64_t kept = details.bytes == 4 ? 0xffffffff : (1U << (8 * details.bytes)) - 1;
  for (int i = 0; i < details.count; ++i) {
    std::array<std::uint64_t, kLanes> parts;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      parts[lane] = (packed[lane] >> (8 * details.bytes * i)) & kept;
    write_lanes<std::uint32_t>(warp, details.data[static_cast<std::size_t>(i)], parts);
  }
}

/// The pseudocode of `shfl.sync` in the PTX ISA manual. `c` holds the clamp in bits 0 to 4 and the
/// segment mask in bits 8 to 12.
void shuffle(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const auto mode = static_cast<ShuffleMode>(details_of(operation).mode);
  const Words values = read_words(warp, operation.operands[0]);
  const Words distances = read_words(warp, operation.operands[1]);
  const Words limits = read_words(warp, operation.operands[2]);
  const Words members_of = check_members(warp, operation, operation.operands[3]);
  Mask in_range = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto at = static_cast<std::size_t>(lane);
    const int distance = static_cast<int>(distances[at] & 31);
    const int clamp = static_cast<int>(limits[at] & 31);
    const int segment = static_cast<int>((limits[at] >> 8) & 31);
    const int last = (lane & segment) | (clamp & ~segment & 31);
    const int first = lane & segment;
    int source = 0;
    bool is_valid = false;
    switch (mode) {
      case ShuffleMode::up: source = lane - distance, is_valid = source >= last; break;
      case ShuffleMode::down: source = lane + distance, is_valid = source <= last; break;
      case ShuffleMode::butterfly: source = lane ^ distance, is_valid = source <= last; break;
      case ShuffleMode::index:
        source = first | (distance & ~segment & 31), is_valid = source <= last;
        break;
    }
    if (!is_valid) source = lane;
    const Mask members = members_of[at];
    if (!((members >> source) & 1))
      fail(warp, operation, lane, CheckKind::synchronization,
           fmt::format("it reads lane {}, which is not among the members {:#010x} that run", source,
                       members));
    write_word(warp, operation.results[0], lane, values[static_cast<std::size_t>(source)]);
    in_range |= Mask{is_valid} << lane;
  }
  if (operation.results[1] != kNoSlot) write_predicate(warp, operation.results[1], in_range);
}

void vote(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Words members = check_members(warp, operation, operation.operands[1]);
  Mask predicate;
  std::memcpy(&predicate, warp.source(operation.operands[0]), sizeof predicate);
  if (operation.negated_operands & 1) predicate = ~predicate;
  const auto mode = static_cast<VoteMode>(details_of(operation).mode);
  Mask result = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Mask all = members[static_cast<std::size_t>(lane)];
    const Mask holds = predicate & all;
    if (mode == VoteMode::ballot) write_word(warp, operation.results[0], lane, holds);
    const bool value = mode == VoteMode::all   ? holds == all
                       : mode == VoteMode::any ? holds != 0
                                               : holds == all || holds == 0;
    result |= Mask{value} << lane;
  }
  if (mode != VoteMode::ballot) write_predicate(warp, operation.results[0], result);
}

/// `elect.sync`, section 9.7.13.14: the same leader each time for a mask. It is the lowest lane.
void elect(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Words members = check_members(warp, operation, operation.operands[0]);
  Mask leaders = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int leader = std::countr_zero(members[static_cast<std::size_t>(lane)]);
    leaders |= Mask{1} << leader;
    write_word(warp, operation.results[0], lane, static_cast<std::uint32_t>(leader));
  }
  write_predicate(warp, operation.results[1], leaders);
}

/// `match.sync`, section 9.7.13.10: the members with the lane's value, or whether all have the
/// same.
void match(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Words members = check_members(warp, operation, operation.operands[1]);
  const auto bytes = static_cast<std::size_t>(details.bytes);
  std::array<std::uint64_t, kLanes> values = {};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    std::memcpy(&values[lane], warp.source(operation.operands[0]) + lane * bytes, bytes);
  Mask all_match = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Mask all = members[static_cast<std::size_t>(lane)];
    Mask same = 0;
    for (Mask others = all; others; others &= others - 1) {
      const int other = std::countr_zero(others);
      if (values[static_cast<std::size_t>(other)] == values[static_cast<std::size_t>(lane)])
        same |= Mask{1} << other;
    }
    const bool has_all = same == all;
    all_match |= Mask{has_all} << lane;
    const bool needs_all = details.mode == static_cast<int>(MatchMode::all);
    write_word(warp, operation.results[0], lane, needs_all && !has_all ? 0 : same);
  }
  if (operation.results[1] != kNoSlot) write_predicate(warp, operation.results[1], all_match);
}

/// `redux.sync`, section 9.7.13.12: all members get the result.
void reduce_lanes(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Words members = check_members(warp, operation, operation.operands[1]);
  const Words values = read_words(warp, operation.operands[0]);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Mask others = members[static_cast<std::size_t>(lane)];
    std::uint64_t result = values[static_cast<std::size_t>(std::countr_zero(others))];
    for (others &= others - 1; others; others &= others - 1)
      result = details.combine(result, values[static_cast<std::size_t>(std::countr_zero(others))]);
    write_word(warp, operation.results[0], lane, static_cast<std::uint32_t>(result));
  }
}

/// `bar.warp.sync`, section 9.7.13.2: the members also see the memory accesses of each other.
void warp_barrier(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Words members = check_members(warp, operation, operation.operands[0]);
  for (Mask rest = warp.mask; rest;) {
    const Mask group = members[static_cast<std::size_t>(std::countr_zero(rest))];
    std::vector<std::uint32_t> threads;
    for (Mask lanes = group; lanes; lanes &= lanes - 1)
      threads.push_back(thread_of(warp, std::countr_zero(lanes)));
    warp.block->launch->order->barrier_of(*warp.block->clock, threads);
    rest &= ~group;
  }
}

void active_mask(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    write_word(warp, operation.results[0], std::countr_zero(rest), warp.mask);
}

void read_clock(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const std::uint64_t now = warp.block->launch->instructions;
  const auto bytes = static_cast<std::size_t>(details_of(operation).bytes);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    std::memcpy(
        warp.at(operation.results[0]) + static_cast<std::size_t>(std::countr_zero(rest)) * bytes,
        &now, bytes);
}

void hint(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  if (operation.results[0] == kNoSlot) return;
  constexpr std::uint64_t kPolicy = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    std::memcpy(warp.at(operation.results[0]) + std::countr_zero(rest) * 8, &kPolicy,
                sizeof kPolicy);
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
