// Decodes loads and stores.
#include <algorithm>
#include <span>

#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/program/memory_modifiers.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

void InstructionDecoder::set_data(Draft& draft, const ptx::Operand& operand, bool is_result) {
  Details& details = *draft.details;
  const std::span<const ptx::Operand> elements =
      operand.kind == ptx::OperandKind::vector ? std::span<const ptx::Operand>(operand.elements)
                                               : std::span(&operand, 1);
  if (elements.size() > details.data.size() || static_cast<int>(elements.size()) != details.count)
    throw PtxError(draft.operation.line, "the vector has another length than the opcode says");
  const Width width = details.is_wide || details.bytes == 8 ? Width::double_word : Width::word;
  details.data_is_result = is_result;
  for (const ptx::Operand& element : elements)
    details.data[static_cast<std::size_t>(details.data_count++)] =
        is_result ? result(element.name, width, draft.operation.line)
                  : source(element, width, draft.operation.line);
}

void InstructionDecoder::append_load(const ptx::Instruction& instruction) {
  Draft draft = begin(instruction, handlers::load, InstructionClass::memory);
  Details& details = *draft.details;
  for (std::size_t i = 1; i + 1 < instruction.parts.size(); ++i) {
    const std::string_view part = instruction.parts[i];
    if (part == "nc")
      details.access = AccessKind::read_only;
    else if (part == "v2" || part == "v4" || part == "v8")
      details.count = part[1] - '0';
    else if (!read_modifier(part, details))
      fail(instruction, "the modifier ." + std::string(part) + " is not known");
  }
  const std::string_view type = instruction.parts.back();
  details.bytes = bytes_of_type(type);
  if (details.bytes == 0) fail(instruction, "the type is not known");
  details.sign_extends = type.starts_with('s');
  expect_operands(instruction, 2, 3);  // the third is a cache policy
  details.is_wide = details.bytes == 8 || is_wide(instruction.operands[0]);
  const ptx::Operand& from = instruction.operands[1];
  if (details.space == Space::parameter) return append_parameter_access(instruction, details, type);
  set_address(draft, from);
  set_data(draft, instruction.operands[0], /*is_result=*/true);
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_store(const ptx::Instruction& instruction) {
  Draft draft = begin(instruction, handlers::store, InstructionClass::memory);
  Details& details = *draft.details;
  details.access = AccessKind::write;
  for (std::size_t i = 1; i + 1 < instruction.parts.size(); ++i) {
    const std::string_view part = instruction.parts[i];
    if (part == "v2" || part == "v4" || part == "v8")
      details.count = part[1] - '0';
    else if (!read_modifier(part, details))
      fail(instruction, "the modifier ." + std::string(part) + " is not known");
  }
  const std::string_view type = instruction.parts.back();
  details.bytes = bytes_of_type(type);
  if (details.bytes == 0) fail(instruction, "the type is not known");
  expect_operands(instruction, 2, 3);
  details.is_wide = details.bytes == 8 || is_wide(instruction.operands[1]);
  if (details.space == Space::parameter) return append_parameter_access(instruction, details, type);
  set_address(draft, instruction.operands[0]);
  set_data(draft, instruction.operands[1], /*is_result=*/false);
  draft_.drafts.push_back(std::move(draft));
}

/// The value of a piece of a call parameter, or of a part of a piece that is wider.
Slot InstructionDecoder::load_piece(std::string_view name, std::int64_t offset,
                                    std::string_view type, int line) {
  const int bytes = bytes_of_type(type);
  const ParameterPiece* const whole = names_.find_piece(frame_, name, offset, bytes);
  if (!whole) return names_.piece(draft_, frame_, name, offset, bytes, line);
  Slot value = whole->slot;
  const Slot shift =
      constant(Width::word, static_cast<std::uint64_t>(8 * (offset - whole->offset)));
  if (whole->bytes == 8 && bytes < 8)
    value = append_row("cvt.u32.u64", append_row("shr.u64", value, shift, line), kNoSlot, line);
  else if (whole->bytes > bytes)
    value = append_row("shr.u32", value, shift, line);
  if (whole->bytes > bytes && bytes < 4)
    value = append_row("and.b32", value, constant(Width::word, (1U << (8 * bytes)) - 1), line);
  if (type == "s8") return append_row("cvt.s32.s8", value, kNoSlot, line);
  if (type == "s16") return append_row("cvt.s32.s16", value, kNoSlot, line);
  return value;
}

/// Accesses of parameters: those of a kernel are in constant memory, those of calls in registers.
/// An address in a register is one of the kernel's parameters.
void InstructionDecoder::append_parameter_access(const ptx::Instruction& instruction,
                                                 const Details& details, std::string_view type) {
  const bool is_load = instruction.parts[0] == "ld";
  const ptx::Operand& address = instruction.operands[is_load ? 1 : 0];
  const ptx::Operand& data = instruction.operands[is_load ? 0 : 1];
  const auto& parameters = function_.parameters;
  const auto at = std::ranges::find(parameters, address.name, &ptx::Variable::name);
  if (is_load && function_.is_entry &&
      names_.find_register(draft_, function_, frame_, address.name) != kNoSlot) {
    Draft draft = begin(instruction, handlers::load_parameter_at, InstructionClass::memory);
    *draft.details = details;
    set_address(draft, address);
    set_data(draft, data, /*is_result=*/true);
    draft_.drafts.push_back(std::move(draft));
    return;
  }
  if (!KernelNames::is_parameter(function_, address.name))
    fail(instruction, "the address is no parameter");
  if (function_.is_entry && at != parameters.end()) {
    if (!is_load) fail(instruction, "a kernel cannot write its parameters");
    Draft draft = begin(instruction, handlers::load_parameter, InstructionClass::memory);
    *draft.details = details;
    draft.details->offset =
        static_cast<std::int64_t>(
            draft_.kernel.parameters[static_cast<std::size_t>(at - parameters.begin())].offset) +
        static_cast<std::int64_t>(address.bits);
    if (draft.details->offset + details.bytes * details.count >
        static_cast<std::int64_t>(draft_.kernel.parameter_bytes))
      fail(instruction, "it reads behind the parameters");
    set_data(draft, data, /*is_result=*/true);
    draft_.drafts.push_back(std::move(draft));
    return;
  }
  const std::span<const ptx::Operand> elements = data.kind == ptx::OperandKind::vector
                                                     ? std::span<const ptx::Operand>(data.elements)
                                                     : std::span(&data, 1);
  const Width width = details.bytes == 8 ? Width::double_word : Width::word;
  std::int64_t offset = static_cast<std::int64_t>(address.bits);
  for (const ptx::Operand& element : elements) {
    if (is_load) {
      const Slot value = load_piece(address.name, offset, type, instruction.line);
      append_move(result(element.name, width, instruction.line), value, details.bytes,
                  instruction.line);
    } else {
      // A piece holds the bytes of the store, extended by zeros.
      Slot value = source(element, width, instruction.line);
      if (details.bytes < 4)
        value = append_row("and.b32", value, constant(Width::word, (1U << (8 * details.bytes)) - 1),
                           instruction.line);
      append_move(
          names_.piece(draft_, frame_, address.name, offset, details.bytes, instruction.line),
          value, details.bytes, instruction.line);
    }
    if (!instruction.guard.empty())
      fail(instruction, "guards of call parameters are not supported");
    offset += details.bytes;
  }
}

}  // namespace sinter::virtual_gpu
