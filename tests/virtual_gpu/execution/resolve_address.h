// resolve: the memory behind an address that a thread uses.
#pragma once

#include "tests/virtual_gpu/execution/machine.h"

namespace sinter::virtual_gpu {

/// The bytes of an access and what the checks know of them.
struct Place {
  std::byte* data = nullptr;
  Shadow* shadow = nullptr;   ///< null: local memory
  std::uint64_t offset = 0;   ///< in the shadow, or in the local memory of the block
  std::uint64_t address = 0;  ///< unique among all memory
  bool is_shared = false;
  Block* block = nullptr;  ///< of shared memory
};

/// Throws a Violation if the address is misaligned, outside of all memory, freed, or in a window
/// that the instruction does not name.
Place resolve(const Warp& warp, const Operation& operation, int lane, std::uint64_t address,
              int bytes);
/// The same for a space and an alignment other than those of the instruction.
Place resolve(const Warp& warp, const Operation& operation, int lane, Space space,
              std::uint64_t address, int bytes, int alignment);

/// The addresses of all active lanes.
struct LaneAddresses {
  std::array<std::uint64_t, kLanes> of = {};
};
LaneAddresses addresses_of(const Warp& warp, const Details& details);
LaneAddresses addresses_of(const Warp& warp, const AddressOperand& operand);

}  // namespace sinter::virtual_gpu
