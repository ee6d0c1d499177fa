// Decodes arithmetic, moves and address conversions, and finds the decoders of other instructions.
#include "tests/virtual_gpu/program/decode_instruction.h"

#include <algorithm>

#include "tests/virtual_gpu/program/memory_modifiers.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

const InstructionDecoder::Special InstructionDecoder::kSpecial[] = {
    {"mov", &InstructionDecoder::append_mov},
    {"ld", &InstructionDecoder::append_load},
    {"ldu", &InstructionDecoder::append_load},
    {"st", &InstructionDecoder::append_store},
    {"atom", &InstructionDecoder::append_atomic},
    {"red", &InstructionDecoder::append_atomic},
    {"cvta", &InstructionDecoder::append_cvta},
    {"mapa", &InstructionDecoder::append_mapa},
    {"cp", &InstructionDecoder::append_copy},
    {"mbarrier", &InstructionDecoder::append_mbarrier},
    {"isspacep", &InstructionDecoder::append_space_test},
    {"lop3", &InstructionDecoder::append_lop3},
    {"createpolicy", &InstructionDecoder::append_hint},
    {"prefetch", &InstructionDecoder::append_hint},
    {"nanosleep", &InstructionDecoder::append_hint},
    {"bra", &InstructionDecoder::append_bra},
    {"brx", &InstructionDecoder::append_brx},
    {"ret", &InstructionDecoder::append_end},
    {"exit", &InstructionDecoder::append_end},
    {"trap", &InstructionDecoder::append_end},
    {"bar", &InstructionDecoder::append_barrier},
    {"barrier", &InstructionDecoder::append_barrier},
    {"membar", &InstructionDecoder::append_fence},
    {"fence", &InstructionDecoder::append_fence},
    {"griddepcontrol", &InstructionDecoder::append_grid_control},
    {"shfl", &InstructionDecoder::append_shuffle},
    {"vote", &InstructionDecoder::append_vote},
    {"activemask", &InstructionDecoder::append_active_mask},
    {"elect", &InstructionDecoder::append_election},
    {"match", &InstructionDecoder::append_match},
    {"redux", &InstructionDecoder::append_lane_reduction},
};

void InstructionDecoder::append(const ptx::Instruction& instruction) {
  const std::string_view base = instruction.parts[0];
  for (const Special& special : kSpecial)
    if (special.base == base) return (this->*special.decode)(instruction);
  append_arithmetic(instruction);
}

void InstructionDecoder::append_arithmetic(const ptx::Instruction& instruction) {
  const Semantics* const row =
      find_semantics(instruction.opcode, static_cast<int>(instruction.operands.size()) - 1);
  if (!row) fail(instruction, "the interpreter does not know it");
  const auto count = static_cast<std::size_t>(row->operand_count());
  expect_operands(instruction, count + 1, count + 1);
  Draft draft = begin(instruction, row->execute, InstructionClass::arithmetic);
  const ptx::Operand& first = instruction.operands[0];
  draft.operation.results[0] = result(first.name, row->results[0], instruction.line);
  if (!first.second.empty()) {
    if (row->results[1] == Width::none) fail(instruction, "it has no second result");
    draft.operation.results[1] = result(first.second, row->results[1], instruction.line);
  }
  for (std::size_t i = 0; i < count; ++i) {
    // PTX ISA manual, "Operand Size Exceeding Instruction-Type Size": cvt reads the low part.
    const ptx::Operand& operand = instruction.operands[i + 1];
    if (instruction.parts[0] == "cvt" && row->operands[i] == Width::word && is_wide(operand))
      draft.operation.operands[i] =
          append_row("cvt.u32.u64", source(operand, Width::double_word, instruction.line), kNoSlot,
                     instruction.line);
    else
      set_source(draft, i, operand, row->operands[i]);
  }
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_mov(const ptx::Instruction& instruction) {
  expect_operands(instruction, 2, 2);
  const ptx::Operand& from = instruction.operands[1];
  if (instruction.operands[0].kind == ptx::OperandKind::vector)
    return append_pack(instruction, /*is_pack=*/false);
  if (from.kind == ptx::OperandKind::vector) return append_pack(instruction, /*is_pack=*/true);
  if (from.name != "%clock" && from.name != "%clock64" && from.name != "%globaltimer")
    return append_arithmetic(instruction);
  Draft draft = begin(instruction, handlers::read_clock, InstructionClass::move);
  const Width width = from.name == "%clock" ? Width::word : Width::double_word;
  draft.operation.results[0] = result(instruction.operands[0].name, width, instruction.line);
  draft.details->bytes = width == Width::word ? 4 : 8;
  draft_.drafts.push_back(std::move(draft));
}

/// `mov.b64 d, {a, b}` and `mov.b64 {a, b}, d`: the first element is the lowest (9.7.9.1).
void InstructionDecoder::append_pack(const ptx::Instruction& instruction, bool is_pack) {
  const ptx::Operand& whole = instruction.operands[is_pack ? 0 : 1];
  const ptx::Operand& vector = instruction.operands[is_pack ? 1 : 0];
  const int bytes = bytes_of_type(instruction.parts.back());
  const int count = static_cast<int>(vector.elements.size());
  if (count == 0 || count > 4 || bytes % count != 0) fail(instruction, "the vector does not fit");
  const Width width = bytes == 8 ? Width::double_word : Width::word;
  Draft draft =
      begin(instruction, is_pack ? handlers::pack : handlers::unpack, InstructionClass::move);
  draft.details->bytes = bytes / count;
  draft.details->count = count;
  if (is_pack)
    draft.operation.results[0] = result(whole.name, width, instruction.line);
  else
    draft.operation.operands[0] = source(whole, width, instruction.line);
  set_data(draft, vector, !is_pack);
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_cvta(const ptx::Instruction& instruction) {
  expect_operands(instruction, 2, 2);
  const auto has = [&](std::string_view part) {
    return std::ranges::find(instruction.parts, part) != instruction.parts.end();
  };
  if (instruction.parts.back() != "u64") fail(instruction, "only 64 bits are supported");
  Draft draft = begin(instruction, has("to") ? handlers::to_window : handlers::from_window,
                      InstructionClass::move);
  draft.details->bytes = 8;
  if (has("shared") || has("shared::cta"))
    draft.details->space = Space::shared;
  else if (has("shared::cluster"))
    draft.details->space = Space::cluster;
  else if (has("local"))
    draft.details->space = Space::local;
  else if (has("global") || has("const"))
    draft.details->space = Space::global;
  else
    fail(instruction, "this space is not supported");
  draft.operation.results[0] =
      result(instruction.operands[0].name, Width::double_word, instruction.line);
  set_source(draft, 0, instruction.operands[1], Width::double_word);
  draft_.drafts.push_back(std::move(draft));
}

/// `mapa.u64 d, a, rank`, with generic addresses, or `mapa.shared::cluster.{u32, u64}`, with an
/// address of shared memory and one of the cluster's window (9.7.9.23).
void InstructionDecoder::append_mapa(const ptx::Instruction& instruction) {
  expect_operands(instruction, 3, 3);
  const bool is_window = instruction.opcode.starts_with("mapa.shared::cluster.u");
  const bool is_word = instruction.opcode == "mapa.shared::cluster.u32";
  if (instruction.opcode != "mapa.u64" && !is_word &&
      instruction.opcode != "mapa.shared::cluster.u64")
    fail(instruction, "the interpreter does not know it");
  const Width width = is_word ? Width::word : Width::double_word;
  Draft draft = begin(instruction, handlers::map_to_rank, InstructionClass::move);
  draft.details->space = is_window ? Space::cluster : Space::generic;
  draft.details->bytes = is_word ? 4 : 8;
  draft.operation.results[0] = result(instruction.operands[0].name, width, instruction.line);
  set_source(draft, 0, instruction.operands[1], width);
  set_source(draft, 1, instruction.operands[2], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `isspacep.space p, a` with a generic address (9.7.9.19).
void InstructionDecoder::append_space_test(const ptx::Instruction& instruction) {
  expect_operands(instruction, 2, 2);
  const std::optional<Space> space =
      instruction.parts.size() == 2 ? space_of(instruction.parts[1]) : std::nullopt;
  if (!space || *space == Space::constant || *space == Space::parameter)
    fail(instruction, "the interpreter does not know it");
  Draft draft = begin(instruction, handlers::is_in_space, InstructionClass::move);
  draft.details->space = *space;
  draft.operation.results[0] =
      result(instruction.operands[0].name, Width::predicate, instruction.line);
  set_source(draft, 0, instruction.operands[1], Width::double_word);
  draft_.drafts.push_back(std::move(draft));
}

/// `lop3.b32 d, a, b, c, table` is in the table. `lop3.op.b32 d|p, a, b, c, table, q` also sets
/// p = (d != 0) op q (9.7.8.6).
void InstructionDecoder::append_lop3(const ptx::Instruction& instruction) {
  if (instruction.opcode == "lop3.b32") return append_arithmetic(instruction);
  const bool is_or = instruction.opcode == "lop3.or.b32";
  if (!is_or && instruction.opcode != "lop3.and.b32")
    fail(instruction, "the interpreter does not know it");
  expect_operands(instruction, 6, 6);
  const ptx::Operand& first = instruction.operands[0];
  if (first.second.empty()) fail(instruction, "it needs a predicate as its second result");
  Draft logic =
      begin(instruction, find_semantics("lop3.b32")->execute, InstructionClass::arithmetic);
  const Slot value = draft_.new_register(Width::word);
  logic.operation.results[0] = value;
  for (std::size_t i = 0; i < 4; ++i)
    set_source(logic, i, instruction.operands[i + 1], Width::word);
  Draft test =
      begin(instruction, find_semantics(is_or ? "setp.ne.or.u32" : "setp.ne.and.u32")->execute,
            InstructionClass::arithmetic);
  test.operation.results[0] = result(first.second, Width::predicate, instruction.line);
  test.operation.operands[0] = value;
  test.operation.operands[1] = constant(Width::word, 0);
  set_source(test, 2, instruction.operands[5], Width::predicate);
  Draft move = begin(instruction, find_semantics("mov.b32")->execute, InstructionClass::arithmetic);
  move.operation.results[0] = result(first.name, Width::word, instruction.line);
  move.operation.operands[0] = value;
  draft_.drafts.push_back(std::move(logic));
  draft_.drafts.push_back(std::move(move));
  draft_.drafts.push_back(std::move(test));  // last, since the predicate may be the guard
}

void InstructionDecoder::append_hint(const ptx::Instruction& instruction) {
  Draft draft = begin(instruction, handlers::hint, InstructionClass::move);
  if (instruction.parts[0] == "createpolicy")
    draft.operation.results[0] =
        result(instruction.operands.at(0).name, Width::double_word, instruction.line);
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_move(Slot to, Slot from, int bytes, int line) {
  Draft draft;
  draft.operation.execute = find_semantics(bytes == 8 ? "mov.b64" : "mov.b32")->execute;
  draft.operation.line = line;
  draft.operation.results[0] = to;
  draft.operation.operands[0] = from;
  draft.kind = InstructionClass::move;
  draft_.drafts.push_back(std::move(draft));
}

Slot InstructionDecoder::append_row(std::string_view opcode, Slot a, Slot b, int line) {
  const Semantics& row = *find_semantics(opcode);
  Draft draft;
  draft.operation.execute = row.execute;
  draft.operation.line = line;
  draft.operation.results[0] = draft_.new_register(row.results[0]);
  draft.operation.operands[0] = a;
  draft.operation.operands[1] = b;
  draft.kind = InstructionClass::move;
  const Slot slot = draft.operation.results[0];
  draft_.drafts.push_back(std::move(draft));
  return slot;
}

}  // namespace sinter::virtual_gpu
