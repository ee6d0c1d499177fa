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

void InstructionDecoder::set_address(Draft& draft, const ptx::Operand& operand) {
  const int line = draft.operation.line;
  if (operand.kind != ptx::OperandKind::address) throw PtxError(line, "an operand is no address");
  Details& details = *draft.details;
  details.offset = static_cast<std::int64_t>(operand.bits);
  if (operand.name.empty()) return;
  const Slot slot = names_.find_register(draft_, function_, frame_, operand.name);
  if (slot != kNoSlot) {
    if (draft_.widths[static_cast<std::size_t>(slot - kVirtual)] != Width::double_word)
      throw PtxError(line, "address " + std::string(operand.name) + " has no 64 bits");
    details.address = slot;
    return;
  }
  const VariableAddress variable = names_.variable(function_, frame_, operand.name, line);
  details.offset += static_cast<std::int64_t>(variable.address);
  if (details.space != Space::generic) return;
  if (variable.space == ptx::Space::shared) details.space = Space::shared;
  if (variable.space == ptx::Space::local) details.space = Space::local;
}

}  // namespace sinter::virtual_gpu
