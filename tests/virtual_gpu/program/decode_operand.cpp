// The operands of instructions: registers, immediates and addresses.
#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

void InstructionDecoder::fail(const ptx::Instruction& instruction, const std::string& problem) {
  throw PtxError(instruction.line, "opcode " + std::string(instruction.opcode) + ": " + problem);
}

void InstructionDecoder::expect_operands(const ptx::Instruction& instruction, std::size_t least,
                                         std::size_t most) {
  const std::size_t count = instruction.operands.size();
  if (count >= least && count <= most) return;
  fail(instruction, "it has " + std::to_string(count) + " operands, the decoder expects " +
                        (least == most ? std::to_string(least)
                                       : std::to_string(least) + " to " + std::to_string(most)));
}

Draft InstructionDecoder::begin(const ptx::Instruction& instruction, Execute execute,
                                InstructionClass kind) {
  Draft draft;
  draft.operation.execute = execute;
  draft.operation.line = instruction.line;
  draft.kind = kind;
  if (!instruction.guard.empty()) {
    draft.operation.guard = source({.name = instruction.guard}, Width::predicate, instruction.line);
    draft.operation.guard_is_negated = instruction.guard_is_negated;
  }
  if (kind == InstructionClass::arithmetic) return draft;
  draft_.new_details(draft).opcode = instruction.opcode;
  return draft;
}

Slot InstructionDecoder::source(const ptx::Operand& operand, Width width, int line) {
  if (operand.kind == ptx::OperandKind::immediate) return constant(width, operand.bits);
  if (operand.kind != ptx::OperandKind::name)
    throw PtxError(line, "an operand is neither a name nor an immediate");
  const Slot slot = names_.find_register(draft_, function_, frame_, operand.name);
  if (slot != kNoSlot) {
    const Width declared = draft_.widths[static_cast<std::size_t>(slot - kVirtual)];
    if (declared != width)
      throw PtxError(line, "register " + std::string(operand.name) +
                               " has another width than the instruction reads");
    return slot;
  }
  if (operand.name.starts_with('%')) return draft_.special_register(operand.name, line);
  const VariableAddress variable = names_.variable(function_, frame_, operand.name, line);
  return constant(width, variable.address + operand.bits);
}

Slot InstructionDecoder::result(std::string_view name, Width width, int line) {
  if (name == "_") return draft_.new_register(width);
  const Slot slot = names_.find_register(draft_, function_, frame_, name);
  if (slot == kNoSlot) throw PtxError(line, "register " + std::string(name) + " is not declared");
  if (draft_.widths[static_cast<std::size_t>(slot - kVirtual)] != width)
    throw PtxError(
        line, "register " + std::string(name) + " has another width than the instruction writes");
  return slot;
}

bool InstructionDecoder::is_wide(const ptx::Operand& operand) {
  const bool is_vector = operand.kind == ptx::OperandKind::vector && !operand.elements.empty();
  const ptx::Operand& first = is_vector ? operand.elements[0] : operand;
  if (first.kind != ptx::OperandKind::name) return false;
  const Slot slot = names_.find_register(draft_, function_, frame_, first.name);
  return slot != kNoSlot &&
         draft_.widths[static_cast<std::size_t>(slot - kVirtual)] == Width::double_word;
}

void InstructionDecoder::set_source(Draft& draft, std::size_t index, const ptx::Operand& operand,
                                    Width width) {
  draft.operation.operands[index] = source(operand, width, draft.operation.line);
  if (operand.is_negated)
    draft.operation.negated_operands |= static_cast<std::uint8_t>(1U << index);
}

/// PTX ISA manual, "Addresses as Operands". With 64-bit addresses, a register of 32 bits holds an
/// address of shared memory, whose window is small.
AddressOperand InstructionDecoder::address_of(const ptx::Operand& operand, Space space, int line) {
  if (operand.kind != ptx::OperandKind::address) throw PtxError(line, "an operand is no address");
  AddressOperand address{.offset = static_cast<std::int64_t>(operand.bits), .space = space};
  if (operand.name.empty()) return address;
  const Slot slot = names_.find_register(draft_, function_, frame_, operand.name);
  if (slot != kNoSlot) {
    const Width width = draft_.widths[static_cast<std::size_t>(slot - kVirtual)];
    address.is_word = width == Width::word;
    if (width == Width::predicate ||
        (address.is_word && space != Space::shared && space != Space::cluster))
      throw PtxError(line, "address " + std::string(operand.name) + " has no 64 bits");
    address.base = slot;
    return address;
  }
  const VariableAddress variable = names_.variable(function_, frame_, operand.name, line);
  address.offset += static_cast<std::int64_t>(variable.address);
  if (space != Space::generic) return address;
  if (variable.space == ptx::Space::shared) address.space = Space::shared;
  if (variable.space == ptx::Space::local) address.space = Space::local;
  return address;
}

void InstructionDecoder::set_address(Draft& draft, const ptx::Operand& operand) {
  Details& details = *draft.details;
  const AddressOperand address = address_of(operand, details.space, draft.operation.line);
  details.address = address.base;
  details.address_is_word = address.is_word;
  details.offset = address.offset;
  details.space = address.space;
}

}  // namespace sinter::virtual_gpu
