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

/// PTX ISA manual, `shfl.sync` and `vote.sync`: all threads in `members` execute the instruction
/// with the same mask, or the result is undefined. Threads that have exited are not awaited.
/// Returns the members that execute it.
Mask check_members(const Warp& warp, const Operation& operation, Slot slot) {
  const Words members = read_words(warp, slot);
  const int first = std::countr_zero(warp.mask);
  const Mask mask = members[static_cast<std::size_t>(first)];
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (members[static_cast<std::size_t>(lane)] != mask || !((mask >> lane) & 1))
      fail(warp, operation, lane, CheckKind::synchronization,
           fmt::format("the lane's member mask is {:#010x}, it needs {:#010x} and the lane itself",
                       members[static_cast<std::size_t>(lane)], mask));
  }
  const Mask missing = mask & warp.live & ~warp.mask;
  if (missing != 0)
    fail(warp, operation, first, CheckKind::synchronization,
         fmt::format("the lanes {:#010x} of the member mask {:#010x} do not execute it", missing,
                     mask));
  return mask & warp.mask;
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
  const Mask members = check_members(warp, operation, operation.operands[3]);
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
  const Mask members = check_members(warp, operation, operation.operands[1]);
  Mask predicate;
  std::memcpy(&predicate, warp.source(operation.operands[0]), sizeof predicate);
  if (operation.negated_operands & 1) predicate = ~predicate;
  predicate &= members;
  const auto mode = static_cast<VoteMode>(details_of(operation).mode);
  if (mode == VoteMode::ballot) {
    for (Mask rest = warp.mask; rest; rest &= rest - 1)
      write_word(warp, operation.results[0], std::countr_zero(rest), predicate);
    return;
  }
  const bool value = mode == VoteMode::all   ? predicate == members
                     : mode == VoteMode::any ? predicate != 0
                                             : predicate == members || predicate == 0;
  write_predicate(warp, operation.results[0], value ? kAllLanes : 0);
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
