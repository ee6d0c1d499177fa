// The state of a warp that arithmetic instructions see, and the form of a decoded instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sinter::virtual_gpu {

inline constexpr int kLanes = 32;
/// Bit i is lane i of a warp.
using Mask = std::uint32_t;
inline constexpr Mask kAllLanes = 0xffffffffu;

/// The place of a register: a byte offset in the registers of a warp. A negative slot is the
/// complement of an offset in the constants of the kernel. A predicate takes 4 bytes, one bit per
/// lane. A register of up to 32 bits takes 32 x 4 bytes, one of 64 bits 32 x 8 bytes.
using Slot = std::int32_t;
inline constexpr Slot kNoSlot = INT32_MIN;

struct Operation;
struct LaneState;
using Execute = void (*)(LaneState&, const Operation&);

/// A decoded instruction.
struct Operation {
  Execute execute = nullptr;
  std::array<Slot, 2> results = {kNoSlot, kNoSlot};
  std::array<Slot, 4> operands = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  Slot guard = kNoSlot;  ///< a predicate
  bool guard_is_negated = false;
  std::uint8_t negated_operands = 0;  ///< bit i: the predicate operand i is complemented
  std::int32_t line = 0;              ///< in the PTX text
  /// More data of memory, control and vector operations, owned by the program.
  const void* details = nullptr;
};

/// How approximate instructions (`ex2.approx`, …) round; see isa/approximations.h.
struct Approximations {
  /// False: the correctly rounded result. True: a result anywhere within the documented bound,
  /// a function of the seed, the instruction and the operands alone.
  bool has_errors = false;
  std::uint64_t seed = 0;
};

/// The part of a warp that arithmetic works on. `mask` holds the lanes that execute; other lanes
/// of the result must keep their values.
struct LaneState {
  std::byte* registers = nullptr;
  const std::byte* constants = nullptr;
  Mask mask = 0;
  Mask carry = 0;  ///< the condition code CC.CF of each lane
  const Approximations* approximations = nullptr;

  std::byte* at(Slot slot) const { return registers + slot; }
  const std::byte* source(Slot slot) const {
    return slot >= 0 ? registers + slot : constants + ~slot;
  }
};

}  // namespace sinter::virtual_gpu
