// Decodes atomics and reductions in memory: atom and red.
#include "tests/virtual_gpu/program/combine.h"
#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/program/memory_modifiers.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

bool is_atomic_operation(std::string_view part) {
  for (const std::string_view operation :
       {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"})
    if (part == operation) return true;
  return false;
}

bool is_swap_type(std::string_view type) {
  for (const std::string_view one : {"b16", "b32", "b64", "u32", "u64", "s32", "s64"})
    if (type == one) return true;
  return false;
}

}  // namespace

/// `atom.op.type d, [a], b`, `atom.cas.type d, [a], b, c`, `red.op.type [a], b`, and vectors. The
/// last operand may be a cache policy.
void InstructionDecoder::append_atomic(const ptx::Instruction& instruction) {
  const bool has_result = instruction.parts[0] == "atom";
  Draft draft = begin(instruction, handlers::atomic, InstructionClass::memory);
  Details& details = *draft.details;
  details.access = AccessKind::atomic;
  details.is_strong = true;
  std::string_view operation;
  bool is_noftz = false;
  for (std::size_t i = 1; i + 1 < instruction.parts.size(); ++i) {
    const std::string_view part = instruction.parts[i];
    if (is_atomic_operation(part))
      operation = part;
    else if (part == "v2" || part == "v4" || part == "v8")
      details.count = part[1] - '0';
    else if (part == "noftz")
      is_noftz = true;
    else if (!read_modifier(part, details))
      fail(instruction, "the modifier ." + std::string(part) + " is not known");
  }
  const std::string_view type = instruction.parts.back();
  const bool is_swap = operation == "cas";
  const bool is_vector = details.count > 1;
  details.bytes = bytes_of_type(type);
  const auto functions = find_combine(operation, type, details.count, is_noftz);
  if (is_swap ? !is_swap_type(type) || is_noftz || is_vector : !functions)
    fail(instruction, "the interpreter does not know it");
  if (is_vector && details.space != Space::global && details.space != Space::generic)
    fail(instruction, "vectors are in global memory only");
  if (is_swap)
    draft.operation.execute = handlers::compare_and_swap;
  else
    details.combine = functions->global, details.combine_shared = functions->shared;
  const std::size_t first = has_result ? 1 : 0;
  const std::size_t sources = is_swap ? 2 : 1;
  expect_operands(instruction, first + 1 + sources, first + 2 + sources);  // a cache policy is last
  const Width width = details.bytes == 8 ? Width::double_word : Width::word;
  set_address(draft, instruction.operands[first]);
  if (is_vector) {
    draft.operation.execute = handlers::vector_atomic;
    set_data(draft, instruction.operands[first + 1], /*is_result=*/false);
    if (has_result) set_old_values(draft, instruction.operands[0]);
  } else {
    draft.operation.results[0] =
        result(has_result ? instruction.operands[0].name : "_", width, instruction.line);
    for (std::size_t i = 0; i < sources; ++i)
      set_source(draft, i, instruction.operands[first + 1 + i], width);
  }
  draft_.drafts.push_back(std::move(draft));
}

/// The results of an atomic on a vector: as many as elements.
void InstructionDecoder::set_old_values(Draft& draft, const ptx::Operand& operand) {
  Details& details = *draft.details;
  if (operand.kind == ptx::OperandKind::name && operand.name == "_") return;
  if (static_cast<int>(operand.elements.size()) != details.count)
    throw PtxError(draft.operation.line, "the vector has another length than the opcode says");
  for (std::size_t i = 0; i < operand.elements.size(); ++i)
    details.old_values[i] = result(operand.elements[i].name, Width::word, draft.operation.line);
}

}  // namespace sinter::virtual_gpu
