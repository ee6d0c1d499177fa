// run_lane: executes one opcode of the table on given operands, for the tests of isa/.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "tests/virtual_gpu/isa/lanewise.h"
#include "tests/virtual_gpu/isa/semantics.h"

namespace sinter::virtual_gpu {

namespace lane_runner_detail {

/// The bits of the operands or results of one lane, and how the instruction is executed.
struct Call {
  std::array<std::uint64_t, 4> operands = {};
  Approximations approximations = {};
  bool carry = false;
  std::uint8_t negated_operands = 0;
};
struct Outcome {
  std::array<std::uint64_t, 2> results = {};
  bool carry = false;
  bool operator==(const Outcome&) const = default;
};

inline constexpr int kSlotBytes = kLanes * 8;
inline constexpr std::array<Slot, 2> kResults = {0, kSlotBytes};
inline constexpr Slot kOperands = 2 * kSlotBytes;
inline constexpr std::byte kOldByte{0xa5};

struct alignas(64) Registers {
  std::array<std::byte, 6 * kSlotBytes> bytes;
};

inline std::uint64_t read(const std::byte* slot, Width width, int lane) {
  std::uint64_t bits = 0;
  if (width == Width::predicate) {
    std::memcpy(&bits, slot, 4);
    return (bits >> lane) & 1;
  }
  const int bytes = width == Width::double_word ? 8 : 4;
  std::memcpy(&bits, slot + lane * bytes, bytes);
  return bits;
}

inline void write(std::byte* slot, Width width, int lane, std::uint64_t bits) {
  if (width == Width::predicate) {
    std::uint32_t all;
    std::memcpy(&all, slot, 4);
    all = (all & ~(1u << lane)) | (static_cast<std::uint32_t>(bits & 1) << lane);
    std::memcpy(slot, &all, 4);
    return;
  }
  const int bytes = width == Width::double_word ? 8 : 4;
  std::memcpy(slot + lane * bytes, &bits, bytes);
}

/// The ways to execute an instruction, which must agree.
struct Variant {
  Mask mask;
  bool has_constant_operands;  ///< the operands are constants of the program
  bool overwrites_operand;     ///< the result is the slot of operand 0, if the widths are equal
};
inline constexpr Variant kVariants[] = {
    {.mask = kAllLanes, .has_constant_operands = false, .overwrites_operand = false},
    {.mask = kAllLanes, .has_constant_operands = true, .overwrites_operand = false},
    {.mask = kAllLanes, .has_constant_operands = false, .overwrites_operand = true},
    {.mask = 0x80010406u, .has_constant_operands = false, .overwrites_operand = false},
    {.mask = 0x7ffefffeu, .has_constant_operands = true, .overwrites_operand = false},
    {.mask = 0x00000010u, .has_constant_operands = false, .overwrites_operand = true},
};

/// The outcome in the active lanes, which must be the same in all of them. Other lanes must keep
/// their results and their carries. Operands of inactive lanes are zeros.
inline Outcome run_variant(const Semantics& semantics, const Call& call, const Variant& variant) {
  Registers registers;
  registers.bytes.fill(kOldByte);
  Operation operation{.execute = semantics.execute};
  operation.negated_operands = call.negated_operands;
  for (int i = 0; i < semantics.operand_count(); ++i) {
    const Slot slot = kOperands + i * kSlotBytes;
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool is_active = (variant.mask >> lane) & 1;
      write(registers.bytes.data() + slot, semantics.operands[i], lane,
            is_active ? call.operands[i] : 0);
    }
    operation.operands[i] = variant.has_constant_operands ? ~slot : slot;
  }
  for (int i = 0; i < 2; ++i)
    if (semantics.results[i] != Width::none) operation.results[i] = kResults[i];
  if (variant.overwrites_operand && semantics.results[0] == semantics.operands[0])
    operation.results[0] = operation.operands[0];

  const Registers before = registers;
  const Mask carry_before = call.carry ? variant.mask : ~variant.mask;
  LaneState state{.registers = registers.bytes.data(),
                  .constants = before.bytes.data(),
                  .mask = variant.mask,
                  .carry = carry_before,
                  .approximations = &call.approximations};
  semantics.execute(state, operation);

  EXPECT_EQ(state.carry & ~variant.mask, carry_before & ~variant.mask)
      << semantics.opcode << " changes the carry of an inactive lane";
  Outcome outcome;
  const int first_active = std::countr_zero(variant.mask);
  outcome.carry = ((state.carry >> first_active) & 1) != 0;
  for (int i = 0; i < 2; ++i) {
    if (semantics.results[i] == Width::none) continue;
    const Width width = semantics.results[i];
    const Slot slot = operation.results[i];
    outcome.results[i] = read(registers.bytes.data() + slot, width, first_active);
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool is_active = (variant.mask >> lane) & 1;
      const std::uint64_t expected =
          is_active ? outcome.results[i] : read(before.bytes.data() + slot, width, lane);
      EXPECT_EQ(read(registers.bytes.data() + slot, width, lane), expected)
          << semantics.opcode << ": " << (is_active ? "active" : "inactive") << " lane " << lane
          << " of mask " << std::hex << variant.mask;
    }
  }
  return outcome;
}

/// The outcome of all variants. Operands beyond those of the opcode are ignored.
inline Outcome run_variants(const Semantics& semantics, const Call& call) {
  const Outcome outcome = run_variant(semantics, call, kVariants[0]);
  for (const Variant& variant : kVariants) {
    EXPECT_EQ(run_variant(semantics, call, variant), outcome)
        << semantics.opcode << ": mask " << std::hex << variant.mask
        << (variant.has_constant_operands ? ", constant operands" : "")
        << (variant.overwrites_operand ? ", the result overwrites operand 0" : "");
  }
  return outcome;
}

/// The register of a value: its bits, with arbitrary upper bits if the type has less than 32.
template <class T>
std::uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else {
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
    std::uint64_t bits = sizeof(T) < 4 ? 0x5a5a5a5au : 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
}

template <class R>
R from_bits(const std::array<std::uint64_t, 2>& results) {
  if constexpr (std::is_same_v<R, PredicatePair>) {
    return {.first = results[0] != 0, .second = results[1] != 0};
  } else if constexpr (std::is_same_v<R, bool>) {
    return results[0] != 0;
  } else {
    R value;
    std::memcpy(&value, &results[0], sizeof value);
    return value;
  }
}

/// Null, with a failure of the test, if the table lacks the opcode or has other widths for it.
template <class R, class... A>
const Semantics* checked_semantics(std::string_view opcode) {
  const Semantics* semantics = find_semantics(opcode, static_cast<int>(sizeof...(A)));
  if (semantics == nullptr) {
    ADD_FAILURE() << "the table lacks the opcode " << opcode;
    return nullptr;
  }
  constexpr bool is_pair = std::is_same_v<R, PredicatePair>;
  std::array<Width, 4> operands = {};
  int count = 0;
  ((operands[count++] = lanewise_detail::width_of<A>()), ...);
  bool has_same_results;
  if constexpr (is_pair)
    has_same_results = semantics->results[1] == Width::predicate;
  else
    has_same_results = semantics->results[0] == lanewise_detail::width_of<R>();
  if (semantics->operands == operands && has_same_results) return semantics;
  ADD_FAILURE() << opcode << " has registers of other widths than the test";
  return nullptr;
}

template <class R, class... A>
Outcome run(std::string_view opcode, Call call, A... operands) {
  const Semantics* semantics = checked_semantics<R, A...>(opcode);
  if (semantics == nullptr) return {};
  int count = 0;
  ((call.operands[count++] = to_bits(operands)), ...);
  return run_variants(*semantics, call);
}

}  // namespace lane_runner_detail

/// The result of the opcode in a lane with these operands. `bool` is a predicate; a type of 16 bits
/// is in the low half of a register with arbitrary upper bits. PredicatePair gives both results.
/// All lanes execute first, then some, with operands in registers and in constants. The test fails
/// if the results differ, if an inactive lane changes, or if the table lacks the opcode.
template <class R, class... A>
R run_lane(std::string_view opcode, A... operands) {
  using namespace lane_runner_detail;
  return from_bits<R>(run<R>(opcode, Call{}, operands...).results);
}

/// The same, with a mode of approximations.
template <class R, class... A>
R run_lane_with(const Approximations& approximations, std::string_view opcode, A... operands) {
  using namespace lane_runner_detail;
  return from_bits<R>(run<R>(opcode, Call{.approximations = approximations}, operands...).results);
}

/// The same, with the condition code before and after the instruction.
template <class R, class... A>
WithCarry<R> run_lane_with_carry(bool carry, std::string_view opcode, A... operands) {
  using namespace lane_runner_detail;
  const Outcome outcome = run<R>(opcode, Call{.carry = carry}, operands...);
  return {.value = from_bits<R>(outcome.results), .carry = outcome.carry};
}

/// The same, with the predicate operands of this mask complemented, as by `!%p1`.
template <class R, class... A>
R run_lane_negating(std::uint8_t negated_operands, std::string_view opcode, A... operands) {
  using namespace lane_runner_detail;
  return from_bits<R>(
      run<R>(opcode, Call{.negated_operands = negated_operands}, operands...).results);
}

}  // namespace sinter::virtual_gpu
