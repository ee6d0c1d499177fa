#include "tests/virtual_gpu/execution/resolve_address.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace sinter::virtual_gpu {

namespace {

[[noreturn]] void fail_memory(const Warp& warp, const Operation& operation, int lane,
                              const std::string& problem) {
  fail(warp, operation, lane, CheckKind::memory, problem);
}

/// An access to the shared memory of `block`, at an offset in its window.
Place resolve_shared(const Warp& warp, const Operation& operation, int lane, Block& block,
                     std::uint64_t offset, int bytes) {
  const auto size = static_cast<std::uint64_t>(block.launch->shared_bytes);
  if (offset < kFirstAddress || offset - kFirstAddress + static_cast<std::uint64_t>(bytes) > size)
    fail_memory(
        warp, operation, lane,
        fmt::format("{} bytes at {:#x} are outside of the {} bytes of shared memory at {:#x}",
                    bytes, offset, size, kFirstAddress));
  const std::uint64_t at = offset - kFirstAddress;
  // The address includes the block, so that it differs from those of other blocks and launches.
  const std::uint64_t unique = kSharedWindow |
                               (std::uint64_t{block.launch->serial & 0xffff} << 40) |
                               (std::uint64_t{block.index} << 20) | at;
  return {.data = block.shared.data() + at,
          .shadow = &block.shared_shadow,
          .offset = at,
          .address = unique,
          .is_shared = true,
          .block = &block};
}

/// An access to the shared memory of any block of the cluster. The address is the rank and an
/// offset in the window of the block.
Place resolve_distributed(const Warp& warp, const Operation& operation, int lane,
                          std::uint64_t in_window, int bytes) {
  const std::uint64_t rank = in_window >> kRankShift;
  const auto& blocks = warp.block->cluster->blocks;
  if (rank >= blocks.size())
    fail_memory(
        warp, operation, lane,
        fmt::format("block {} of the cluster does not exist, it has {}", rank, blocks.size()));
  Block& block = *blocks[rank];
  if (block.live_warps == 0 && &block != warp.block)
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("block {} of the cluster has exited, so its shared memory is gone", rank));
  // CUDA C++ Programming Guide, "Distributed Shared Memory": "Accessing data in distributed shared
  // memory requires all the thread blocks to exist", which a barrier of the cluster guarantees.
  if (!warp.has_met_cluster && &block != warp.block)
    fail(
        warp, operation, lane, CheckKind::synchronization,
        fmt::format("block {} of the cluster may not have started, since no barrier of the cluster "
                    "precedes the access",
                    rank));
  return resolve_shared(warp, operation, lane, block,
                        in_window & ((std::uint64_t{1} << kRankShift) - 1), bytes);
}

/// `.shared::cluster`: an address of the block's own window, of the cluster's, or generic.
Place resolve_window(const Warp& warp, const Operation& operation, int lane, std::uint64_t address,
                     int bytes) {
  if (address >> kRankShift == 0)
    return resolve_shared(warp, operation, lane, *warp.block, address, bytes);
  if (address < kSharedWindow)
    return resolve_distributed(warp, operation, lane, address - (std::uint64_t{1} << kRankShift),
                               bytes);
  if (address < kLocalWindow)
    return resolve_distributed(warp, operation, lane, address - kSharedWindow, bytes);
  fail_memory(warp, operation, lane,
              fmt::format("address {:#x} is not in the shared memory of the cluster", address));
}

Place resolve_local(const Warp& warp, const Operation& operation, int lane, std::uint64_t offset,
                    int bytes) {
  Block& block = *warp.block;
  const auto size = static_cast<std::uint64_t>(block.launch->kernel->local_bytes);
  if (offset < kFirstAddress || offset - kFirstAddress + static_cast<std::uint64_t>(bytes) > size)
    fail_memory(
        warp, operation, lane,
        fmt::format("{} bytes at {:#x} are outside of the {} bytes of local memory at {:#x}", bytes,
                    offset, size, kFirstAddress));
  const std::uint64_t at = thread_of(warp, lane) * size + offset - kFirstAddress;
  return {.data = block.local.data() + at, .offset = at, .address = kLocalWindow | at};
}

Place resolve_parameter(const Warp& warp, const Operation& operation, int lane,
                        std::uint64_t address, int bytes) {
  ActiveLaunch& launch = *warp.block->launch;
  const std::uint64_t at = address - kFirstAddress;
  const auto holds = [&](const Parameter& parameter) {
    return at >= parameter.offset &&
           at + static_cast<unsigned>(bytes) - parameter.offset <= parameter.bytes;
  };
  if (address < kFirstAddress || std::ranges::none_of(launch.kernel->parameters, holds))
    fail_memory(warp, operation, lane,
                fmt::format("{} bytes at {:#x} are in none of the {} parameters at {:#x}", bytes,
                            address, launch.kernel->parameters.size(), kFirstAddress));
  return {.data = launch.request.parameters.data() + at, .offset = at, .address = address};
}

Place resolve_global(const Warp& warp, const Operation& operation, int lane, std::uint64_t address,
                     int bytes) {
  ActiveLaunch& launch = *warp.block->launch;
  const auto index = static_cast<std::size_t>(&operation - launch.kernel->operations.data());
  Allocation*& last = launch.last_allocations[index];
  const auto size = static_cast<std::uint64_t>(bytes);
  const auto holds = [&](const Allocation* allocation) {
    return allocation && !allocation->is_freed && address >= allocation->address &&
           address - allocation->address + size <= allocation->size;
  };
  if (!holds(last)) {
    last = launch.memory->find(address);
    if (!holds(last))
      fail_memory(
          warp, operation, lane,
          fmt::format("{} bytes at {:#x}: {}", bytes, address, launch.memory->describe(address)));
  }
  return {.data = last->data + (address - last->address),
          .shadow = &last->shadow,
          .offset = address - last->address,
          .address = address};
}

}  // namespace

Place resolve(const Warp& warp, const Operation& operation, int lane, std::uint64_t address,
              int bytes) {
  return resolve(warp, operation, lane, details_of(operation).space, address, bytes, bytes);
}

Place resolve(const Warp& warp, const Operation& operation, int lane, Space space,
              std::uint64_t address, int bytes, int alignment) {
  if (address % static_cast<std::uint64_t>(alignment) != 0)
    fail_memory(warp, operation, lane,
                bytes == alignment
                    ? fmt::format("address {:#x} is misaligned for {} bytes", address, bytes)
                    : fmt::format("address {:#x} is no multiple of {}", address, alignment));
  switch (space) {
    case Space::shared: return resolve_shared(warp, operation, lane, *warp.block, address, bytes);
    case Space::cluster: return resolve_window(warp, operation, lane, address, bytes);
    case Space::local: return resolve_local(warp, operation, lane, address, bytes);
    case Space::global:
    case Space::constant: return resolve_global(warp, operation, lane, address, bytes);
    case Space::generic:
      if (address >= kLocalWindow)
        return resolve_local(warp, operation, lane, address - kLocalWindow, bytes);
      if (address >= kSharedWindow)
        return resolve_distributed(warp, operation, lane, address - kSharedWindow, bytes);
      return resolve_global(warp, operation, lane, address, bytes);
    case Space::parameter: return resolve_parameter(warp, operation, lane, address, bytes);
  }
  fail_memory(warp, operation, lane, "the space of the address is not known");
}

LaneAddresses addresses_of(const Warp& warp, const AddressOperand& operand) {
  LaneAddresses addresses;
  if (operand.base != kNoSlot && operand.is_word) {
    std::array<std::uint32_t, kLanes> words;
    std::memcpy(words.data(), warp.source(operand.base), sizeof words);
    std::ranges::copy(words, addresses.of.begin());
  } else if (operand.base != kNoSlot) {
    std::memcpy(addresses.of.data(), warp.source(operand.base), sizeof addresses.of);
  }
  for (std::uint64_t& address : addresses.of) address += static_cast<std::uint64_t>(operand.offset);
  return addresses;
}

LaneAddresses addresses_of(const Warp& warp, const Details& details) {
  return addresses_of(warp, AddressOperand{.base = details.address,
                                           .is_word = details.address_is_word,
                                           .offset = details.offset,
                                           .space = details.space});
}

}  // namespace sinter::virtual_gpu
