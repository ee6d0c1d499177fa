// Loads, stores and atomics.
#include <bit>
#include <cstring>

#include "tests/virtual_gpu/counting/count_access.h"
#include "tests/virtual_gpu/execution/async/generic_write.h"
#include "tests/virtual_gpu/execution/check_access.h"
#include "tests/virtual_gpu/execution/resolve_range.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

Places places_of(Warp& warp, const Operation& operation, int bytes) {
  const LaneAddresses addresses = addresses_of(warp, details_of(operation));
  Places places;
  Mask shared = 0, local = 0;
  const bool are_adjacent = resolve_range(warp, operation, addresses, bytes, places);
  if (are_adjacent && places[static_cast<std::size_t>(std::countr_zero(warp.mask))].is_shared)
    shared = warp.mask;
  for (Mask rest = are_adjacent ? 0 : warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    places[static_cast<std::size_t>(lane)] =
        resolve(warp, operation, lane, addresses.of[static_cast<std::size_t>(lane)], bytes);
    const Place& place = places[static_cast<std::size_t>(lane)];
    shared |= Mask{place.is_shared} << lane;
    local |= Mask{!place.shadow} << lane;
  }
  // Generic addresses of one instruction may be in different spaces.
  const Mask all = warp.mask;
  for (const Mask part : {all & ~(shared | local), shared, local}) {
    if (part == 0) continue;
    warp.mask = part;
    check_access(warp, operation, places, bytes);
    count_access(warp, operation, places, bytes);
  }
  warp.mask = all;
  return places;
}

/// The value of an element in a register: extended by its sign or by zeros.
std::uint64_t read_element(const std::byte* from, const Details& details) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, static_cast<std::size_t>(details.bytes));
  if (!details.sign_extends) return value;
  const int shift = 64 - 8 * details.bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

/// Calls `visit` with a value of the type of the elements.
template <class Visit>
void with_element_type(const Details& details, Visit visit) {
  const bool is_signed = details.sign_extends;
  switch (details.bytes) {
    case 1: return is_signed ? visit(std::int8_t{}) : visit(std::uint8_t{});
    case 2: return is_signed ? visit(std::int16_t{}) : visit(std::uint16_t{});
    case 4: return is_signed ? visit(std::int32_t{}) : visit(std::uint32_t{});
    default: return visit(std::uint64_t{});
  }
}

void write_register(Warp& warp, Slot slot, int lane, std::uint64_t value, bool is_wide) {
  if (is_wide)
    std::memcpy(warp.at(slot) + lane * 8, &value, 8);
  else
    std::memcpy(warp.at(slot) + lane * 4, &value, 4);
}

std::uint64_t read_register(const Warp& warp, Slot slot, int lane, bool is_wide) {
  std::uint64_t value = 0;
  const std::byte* const from = warp.source(slot) + lane * (is_wide ? 8 : 4);
  std::memcpy(&value, from, is_wide ? 8 : 4);
  return value;
}

/// Fences of `.release` and `.acquire`, and the values that strong accesses hand on.
void synchronize(const Warp& warp, const Details& details, const Places& places) {
  HappensBefore& order = *warp.block->launch->order;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    ThreadClock& thread = clock_of(warp, lane);
    const std::uint64_t address = places[static_cast<std::size_t>(lane)].address;
    if (details.access == AccessKind::read || details.access == AccessKind::read_only)
      order.strong_read(thread, address, details.acquires);
    else
      order.strong_write(thread, address, details.access == AccessKind::atomic, details.releases,
                         details.acquires);
  }
}

/// Strong loads that return the same value again and again, while nothing writes, are a loop that
/// waits for another thread. So are atomics that swap nothing. The scheduler then runs other warps,
/// and detects deadlocks.
void note_spin(Warp& warp, const Operation& operation, std::uint64_t value) {
  const std::uint64_t writes = *warp.block->launch->writes;
  if (warp.spun_at == &operation && warp.spun_value == value && warp.spun_writes == writes) {
    ++warp.spins;
    warp.yields = warp.spins > 4;
    return;
  }
  warp.spun_at = &operation;
  warp.spun_value = value;
  warp.spun_writes = writes;
  warp.spins = 0;
}

void note_write(Warp& warp, const Operation& operation, const Places& places) {
  warp.spins = 0;
  ++*warp.block->launch->writes;
  if (!warp.block->launch->async) return;
  const Details& details = details_of(operation);
  note_generic_writes(warp, operation, places, details.bytes * details.count);
}

}  // namespace

namespace handlers {

void load(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Places places = places_of(warp, operation, details.bytes * details.count);
  for (int i = 0; i < details.count; ++i) {
    const Slot slot = details.data[static_cast<std::size_t>(i)];
    with_element_type(details, [&](auto element) {
      for (Mask rest = warp.mask; rest; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        const std::byte* const from = places[static_cast<std::size_t>(lane)].data;
        std::memcpy(&element, from + static_cast<std::size_t>(i) * sizeof element, sizeof element);
        write_register(warp, slot, lane, static_cast<std::uint64_t>(element), details.is_wide);
      }
    });
  }
  if (warp.block->async) note_generic_reads(warp, operation, places, details.bytes * details.count);
  if (!details.is_strong) return;
  std::uint64_t hash = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const std::byte* const from = places[static_cast<std::size_t>(std::countr_zero(rest))].data;
    for (int i = 0; i < details.count; ++i)
      hash = hash * 31 + read_element(from + i * details.bytes, details);
  }
  synchronize(warp, details, places);
  note_spin(warp, operation, hash);
}

void load_parameter(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const std::byte* const from =
      warp.block->launch->request.parameters.data() + static_cast<std::size_t>(details.offset);
  for (int i = 0; i < details.count; ++i) {
    const std::uint64_t value = read_element(from + i * details.bytes, details);
    for (Mask rest = warp.mask; rest; rest &= rest - 1)
      write_register(warp, details.data[static_cast<std::size_t>(i)], std::countr_zero(rest), value,
                     details.is_wide);
  }
}

void load_parameter_at(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const LaneAddresses addresses = addresses_of(warp, details);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::byte* const from =
        resolve(warp, operation, lane, addresses.of[static_cast<std::size_t>(lane)],
                details.bytes * details.count)
            .data;
    for (int i = 0; i < details.count; ++i)
      write_register(warp, details.data[static_cast<std::size_t>(i)], lane,
                     read_element(from + i * details.bytes, details), details.is_wide);
  }
}

void store(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Places places = places_of(warp, operation, details.bytes * details.count);
  for (int i = 0; i < details.count; ++i) {
    const Slot slot = details.data[static_cast<std::size_t>(i)];
    with_element_type(details, [&](auto element) {
      for (Mask rest = warp.mask; rest; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        std::byte* const to = places[static_cast<std::size_t>(lane)].data;
        element = static_cast<decltype(element)>(read_register(warp, slot, lane, details.is_wide));
        std::memcpy(to + static_cast<std::size_t>(i) * sizeof element, &element, sizeof element);
      }
    });
  }
  note_write(warp, operation, places);
  if (details.is_strong) synchronize(warp, details, places);
}

void atomic(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Places places = places_of(warp, operation, details.bytes);
  const bool is_wide = details.bytes == 8;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* const at = places[static_cast<std::size_t>(lane)].data;
    const std::uint64_t old = read_element(at, details);
    const auto combine =
        places[static_cast<std::size_t>(lane)].is_shared ? details.combine_shared : details.combine;
    const std::uint64_t value =
        combine(old, read_register(warp, operation.operands[0], lane, is_wide));
    std::memcpy(at, &value, static_cast<std::size_t>(details.bytes));
    write_register(warp, operation.results[0], lane, old, is_wide);
  }
  note_write(warp, operation, places);
  synchronize(warp, details, places);
}

/// Each element is an atomic operation of its own. Only global memory has such vectors.
void vector_atomic(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Places places = places_of(warp, operation, details.bytes * details.count);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place& place = places[static_cast<std::size_t>(lane)];
    if (place.is_shared || !place.shadow)
      fail(warp, operation, lane, CheckKind::memory,
           "an atomic operation on a vector needs an address of global memory");
    std::array<std::uint64_t, 8> old = {};
    for (int i = 0; i < details.count; ++i) {
      const auto element = static_cast<std::size_t>(i);
      std::byte* const at = place.data + i * details.bytes;
      old[element] = read_element(at, details);
      const std::uint64_t value = details.combine(
          old[element], read_register(warp, details.data[element], lane, /*is_wide=*/false));
      std::memcpy(at, &value, static_cast<std::size_t>(details.bytes));
    }
    for (int i = 0; i < details.count; ++i)
      if (const Slot slot = details.old_values[static_cast<std::size_t>(i)]; slot != kNoSlot)
        write_register(warp, slot, lane, old[static_cast<std::size_t>(i)], /*is_wide=*/false);
  }
  note_write(warp, operation, places);
  synchronize(warp, details, places);
}

void compare_and_swap(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const Places places = places_of(warp, operation, details.bytes);
  const bool is_wide = details.bytes == 8;
  bool has_swapped = false;
  std::uint64_t hash = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* const at = places[static_cast<std::size_t>(lane)].data;
    const std::uint64_t old = read_element(at, details);
    const std::uint64_t expected = read_register(warp, operation.operands[0], lane, is_wide);
    // Of a register, an element of 16 bits is the low half.
    if (old == (details.bytes == 2 ? expected & 0xffff : expected)) {
      const std::uint64_t value = read_register(warp, operation.operands[1], lane, is_wide);
      std::memcpy(at, &value, static_cast<std::size_t>(details.bytes));
      has_swapped = true;
    }
    write_register(warp, operation.results[0], lane, old, is_wide);
    hash = hash * 31 + old;
  }
  synchronize(warp, details, places);
  if (has_swapped)
    note_write(warp, operation, places);
  else
    note_spin(warp, operation, hash);
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
