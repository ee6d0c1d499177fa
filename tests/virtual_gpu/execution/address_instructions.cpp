// Conversions between generic addresses and those of shared and local memory.
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/machine.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

std::uint64_t read_address(const Warp& warp, Slot slot, int lane) {
  std::uint64_t value;
  std::memcpy(&value, warp.source(slot) + lane * 8, sizeof value);
  return value;
}

void write_address(Warp& warp, Slot slot, int lane, std::uint64_t value) {
  std::memcpy(warp.at(slot) + lane * 8, &value, sizeof value);
}

/// The begin of the memory of rank 0 in the window of `.shared::cluster`.
constexpr std::uint64_t kFirstRank = std::uint64_t{1} << kRankShift;

/// Global addresses are generic addresses.
void copy_addresses(Warp& warp, const Operation& operation) {
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    write_address(warp, operation.results[0], lane,
                  read_address(warp, operation.operands[0], lane));
  }
}

/// The first generic address of the memory of a space, and its size. An address one behind the end
/// is valid, as in C++.
struct Window {
  std::uint64_t begin = 0, size = 0;
  bool contains(std::uint64_t address) const {
    return address >= begin + kFirstAddress && address <= begin + kFirstAddress + size;
  }
};

Window window_of(const Warp& warp, Space space) {
  const Block& block = *warp.block;
  if (space == Space::local)
    return {kLocalWindow, static_cast<std::uint64_t>(block.launch->kernel->local_bytes)};
  return {kSharedWindow + (std::uint64_t{block.rank} << kRankShift),
          static_cast<std::uint64_t>(block.launch->shared_bytes)};
}

}  // namespace

namespace handlers {

/// PTX ISA manual, `cvta`: the result is undefined if the generic address is outside of the window
/// of the space.
void to_window(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Space space = details_of(operation).space;
  if (space == Space::global) return copy_addresses(warp, operation);
  const Window window = window_of(warp, space == Space::cluster ? Space::shared : space);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = read_address(warp, operation.operands[0], lane);
    if (space == Space::cluster && address >= kSharedWindow && address < kLocalWindow) {
      write_address(warp, operation.results[0], lane, address - kSharedWindow + kFirstRank);
      continue;
    }
    if (warp.block->launch->options->checks_memory && !window.contains(address))
      fail(warp, operation, lane, CheckKind::memory,
           fmt::format("generic address {:#x} is outside of the window of {} bytes at {:#x}",
                       address, window.size, window.begin + kFirstAddress));
    write_address(warp, operation.results[0], lane, address - window.begin);
  }
}

/// An address of shared memory may be one of another block, in the window of the cluster.
void from_window(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Space space = details_of(operation).space;
  if (space == Space::global) return copy_addresses(warp, operation);
  const Window window = window_of(warp, space == Space::cluster ? Space::shared : space);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = read_address(warp, operation.operands[0], lane);
    const bool is_ranked = space == Space::cluster && address >= kFirstRank;
    write_address(warp, operation.results[0], lane,
                  is_ranked ? address - kFirstRank + kSharedWindow : address + window.begin);
  }
}

/// PTX ISA manual, `mapa`, section 9.7.9.23.
void map_to_rank(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const bool is_window = details.space == Space::cluster;
  const auto bytes = static_cast<std::size_t>(details.bytes);
  Window window = window_of(warp, Space::shared);
  if (is_window) window.begin = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto at = static_cast<std::size_t>(lane);
    std::uint64_t address = 0;
    std::memcpy(&address, warp.source(operation.operands[0]) + at * bytes, bytes);
    std::uint32_t rank;
    std::memcpy(&rank, warp.source(operation.operands[1]) + lane * 4, sizeof rank);
    if (!window.contains(address))
      fail(warp, operation, lane, CheckKind::memory,
           fmt::format("address {:#x} is not in the shared memory of this block", address));
    if (rank >= warp.block->cluster->blocks.size())
      fail(warp, operation, lane, CheckKind::memory,
           fmt::format("block {} of the cluster does not exist, it has {}", rank,
                       warp.block->cluster->blocks.size()));
    address += (std::uint64_t{rank} << kRankShift) - window.begin;
    address += is_window ? kFirstRank : kSharedWindow;
    std::memcpy(warp.at(operation.results[0]) + at * bytes, &address, bytes);
  }
}

/// PTX ISA manual, `isspacep`, section 9.7.9.19.
void is_in_space(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Space space = details_of(operation).space;
  const Window own = window_of(warp, Space::shared);
  Mask result = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = read_address(warp, operation.operands[0], lane);
    bool is_inside = false;
    if (space == Space::global)
      is_inside = address < kSharedWindow;
    else if (space == Space::local)
      is_inside = window_of(warp, Space::local).contains(address);
    else if (space == Space::shared)
      is_inside = own.contains(address);
    else if (space == Space::cluster)
      is_inside = address >= kSharedWindow && address < kLocalWindow;
    result |= Mask{is_inside} << lane;
  }
  std::byte* const place = warp.at(operation.results[0]);
  Mask bits;
  std::memcpy(&bits, place, sizeof bits);
  bits = (bits & ~warp.mask) | result;
  std::memcpy(place, &bits, sizeof bits);
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
