// Decodes asynchronous copies (PTX ISA manual, sections 9.7.9.25 and 9.7.9.27) and mbarriers
// (section 9.7.13.15).
#include <algorithm>

#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/program/memory_modifiers.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

using handlers::AsyncFlags;

namespace {

bool is_shared_block(std::string_view part) { return part == "shared" || part == "shared::cta"; }

std::string unknown(std::string_view part) {
  return "the modifier ." + std::string(part) + " is not known";
}

}  // namespace

Draft InstructionDecoder::begin_asynchronous(const ptx::Instruction& instruction, Execute execute) {
  draft_.kernel.is_asynchronous = true;
  if (execute == handlers::copy_bulk) draft_.kernel.has_bulk_copies = true;
  const bool is_copy = execute == handlers::copy_elements || execute == handlers::copy_bulk ||
                       execute == handlers::prefetch_bulk;
  return begin(instruction, execute,
               is_copy ? InstructionClass::memory : InstructionClass::synchronization);
}

bool InstructionDecoder::is_predicate(const ptx::Operand& operand) {
  if (operand.kind != ptx::OperandKind::name) return false;
  const Slot slot = names_.find_register(draft_, function_, frame_, operand.name);
  return slot != kNoSlot &&
         draft_.widths[static_cast<std::size_t>(slot - kVirtual)] == Width::predicate;
}

void InstructionDecoder::append_copy(const ptx::Instruction& instruction) {
  const auto& parts = instruction.parts;
  const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : std::string_view(); };
  if (part(1) != "async") fail(instruction, "the interpreter does not know it");
  const bool is_bulk = part(2) == "bulk";
  const std::string_view operation = part(is_bulk ? 3 : 2);
  if (operation == "commit_group" || operation == "wait_group" || operation == "wait_all")
    return append_copy_group(instruction, is_bulk);
  if (is_bulk) return append_bulk_copy(instruction);
  if (operation == "mbarrier") return append_copy_arrival(instruction);
  append_element_copy(instruction);
}

/// `cp.async.{ca, cg}.shared.global [dst], [src], size{, src-size or ignore-src}{, policy}`.
void InstructionDecoder::append_element_copy(const ptx::Instruction& instruction) {
  const auto& parts = instruction.parts;
  if (parts.size() < 5 || (parts[2] != "ca" && parts[2] != "cg") || !is_shared_block(parts[3]) ||
      parts[4] != "global")
    fail(instruction, "the interpreter does not know it");
  bool has_policy = false;
  for (std::size_t i = 5; i < parts.size(); ++i) {
    if (parts[i] != "L2::cache_hint" && parts[i] != "L2::64B" && parts[i] != "L2::128B" &&
        parts[i] != "L2::256B")
      fail(instruction, unknown(parts[i]));
    has_policy |= parts[i] == "L2::cache_hint";
  }
  const std::size_t least = has_policy ? 4 : 3;
  expect_operands(instruction, least, least + 1);
  Draft draft = begin_asynchronous(instruction, handlers::copy_elements);
  Details& details = *draft.details;
  const ptx::Operand& size = instruction.operands[2];
  details.bytes = static_cast<int>(size.bits);
  const bool is_known =
      parts[2] == "cg" ? size.bits == 16 : size.bits == 4 || size.bits == 8 || size.bits == 16;
  if (size.kind != ptx::OperandKind::immediate || !is_known)
    fail(instruction, parts[2] == "cg" ? "the size must be 16" : "the size must be 4, 8 or 16");
  details.addresses = {address_of(instruction.operands[0], Space::shared, instruction.line),
                       address_of(instruction.operands[1], Space::global, instruction.line)};
  if (instruction.operands.size() > least) {
    const ptx::Operand& limit = instruction.operands[3];
    if (is_predicate(limit))
      set_source(draft, 1, limit, Width::predicate);
    else
      set_source(draft, 0, limit, Width::word);
  }
  draft_.drafts.push_back(std::move(draft));
}

/// `cp.async{.bulk}.commit_group`, `cp.async{.bulk}.wait_group{.read} N`, `cp.async.wait_all`.
void InstructionDecoder::append_copy_group(const ptx::Instruction& instruction, bool is_bulk) {
  std::string_view operation = instruction.opcode;
  operation.remove_prefix(is_bulk ? 14 : 9);
  const bool is_wait = operation.starts_with("wait_group");
  const bool is_read = is_bulk && operation == "wait_group.read";
  const bool is_wait_all = !is_bulk && operation == "wait_all";
  if (operation != "commit_group" && operation != "wait_group" && !is_read && !is_wait_all)
    fail(instruction, "the interpreter does not know it");
  expect_operands(instruction, is_wait ? 1 : 0, is_wait ? 1 : 0);
  const bool is_commit = !is_wait && !is_wait_all;
  Draft draft = begin_asynchronous(instruction,
                                   is_commit ? handlers::commit_copies : handlers::wait_for_copies);
  Details& details = *draft.details;
  details.mode = (is_bulk ? AsyncFlags::kBulk : 0) | (is_read ? AsyncFlags::kReadsOnly : 0) |
                 (is_wait_all ? AsyncFlags::kCommits : 0);
  details.count = 0;
  if (is_wait) {
    const ptx::Operand& count = instruction.operands[0];
    if (count.kind != ptx::OperandKind::immediate || count.bits > INT32_MAX)
      fail(instruction, "the number of groups must be a constant");
    details.count = static_cast<int>(count.bits);
  }
  draft_.drafts.push_back(std::move(draft));
}

/// `cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [addr]` (9.7.13.15.15).
void InstructionDecoder::append_copy_arrival(const ptx::Instruction& instruction) {
  const auto& parts = instruction.parts;
  if (parts.size() < 5 || parts[3] != "arrive" || parts.back() != "b64")
    fail(instruction, "the interpreter does not know it");
  expect_operands(instruction, 1, 1);
  Draft draft = begin_asynchronous(instruction, handlers::arrive_behind_copies);
  Space space = Space::generic;
  for (std::size_t i = 4; i + 1 < parts.size(); ++i) {
    if (parts[i] == "noinc")
      draft.details->mode = AsyncFlags::kNoIncrement;
    else if (is_shared_block(parts[i]))
      space = Space::shared;
    else
      fail(instruction, unknown(parts[i]));
  }
  draft.details->addresses = {address_of(instruction.operands[0], space, instruction.line)};
  draft_.drafts.push_back(std::move(draft));
}

/// `cp.async.bulk.dst.src.mechanism…` and `cp.async.bulk.prefetch.L2.global` (9.7.9.25.4).
void InstructionDecoder::append_bulk_copy(const ptx::Instruction& instruction) {
  const auto& parts = instruction.parts;
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < parts.size() && parts[i] == word;
  };
  const bool is_prefetch = is(3, "prefetch") && is(4, "L2") && is(5, "global");
  const bool is_store = is(3, "global") && is(4, "shared::cta") && is(5, "bulk_group");
  const bool is_load = (is(3, "shared::cta") || is(3, "shared::cluster")) && is(4, "global") &&
                       is(5, "mbarrier::complete_tx::bytes");
  const bool is_move =
      is(3, "shared::cluster") && is(4, "shared::cta") && is(5, "mbarrier::complete_tx::bytes");
  if (!is_prefetch && !is_store && !is_load && !is_move)
    fail(instruction, "the interpreter does not know it");
  Draft draft =
      begin_asynchronous(instruction, is_prefetch ? handlers::prefetch_bulk : handlers::copy_bulk);
  Details& details = *draft.details;
  details.mode = AsyncFlags::kBulk;
  bool has_policy = false;
  for (std::size_t i = 6; i < parts.size(); ++i) {
    if (parts[i] == "L2::cache_hint" && !is_move)
      has_policy = true;
    else if (parts[i] == "multicast::cluster" && is_load && parts[3] == "shared::cluster")
      details.mode |= AsyncFlags::kMulticast;
    else if (parts[i] == "cp_mask" && is_store)
      details.mode |= AsyncFlags::kByteMask;
    else
      fail(instruction, unknown(parts[i]));
  }
  const bool has_mask = (details.mode & (AsyncFlags::kMulticast | AsyncFlags::kByteMask)) != 0;
  const std::size_t fixed = is_prefetch ? 2 : is_store ? 3 : 4;
  const std::size_t count = fixed + (has_mask ? 1 : 0) + (has_policy ? 1 : 0);
  expect_operands(instruction, count, count);
  const int line = instruction.line;
  std::size_t next = 0;
  if (!is_prefetch)
    details.addresses.push_back(
        address_of(instruction.operands[next++], *space_of(parts[3]), line));
  details.addresses.push_back(
      address_of(instruction.operands[next++], *space_of(is_prefetch ? parts[5] : parts[4]), line));
  set_source(draft, 0, instruction.operands[next++], Width::word);
  // The mbarrier is in the space of the destination.
  if (is_load || is_move)
    details.addresses.push_back(
        address_of(instruction.operands[next++], *space_of(parts[3]), line));
  // The mask precedes the policy in loads, and follows it in stores.
  if (has_mask)
    set_source(draft, 1, is_store ? instruction.operands.back() : instruction.operands[next],
               Width::word);
  draft_.drafts.push_back(std::move(draft));
}

// ---- mbarriers ----

void InstructionDecoder::append_mbarrier(const ptx::Instruction& instruction) {
  const auto& parts = instruction.parts;
  const std::string_view operation = parts.size() > 1 ? parts[1] : std::string_view();
  if (operation == "arrive" || operation == "arrive_drop")
    return append_mbarrier_arrival(instruction);
  if (operation == "test_wait" || operation == "try_wait") return append_mbarrier_wait(instruction);
  if (instruction.opcode == "mbarrier.pending_count.b64") {
    expect_operands(instruction, 2, 2);
    Draft draft = begin_asynchronous(instruction, handlers::mbarrier_pending_count);
    draft.operation.results[0] =
        result(instruction.operands[0].name, Width::word, instruction.line);
    set_source(draft, 0, instruction.operands[1], Width::double_word);
    draft_.drafts.push_back(std::move(draft));
    return;
  }
  const bool is_invalidation = operation == "inval";
  const bool is_transaction = operation == "expect_tx" || operation == "complete_tx";
  if (operation != "init" && !is_invalidation && !is_transaction)
    fail(instruction, "the interpreter does not know it");
  Draft draft = begin_asynchronous(instruction, is_transaction    ? handlers::mbarrier_transact
                                                : is_invalidation ? handlers::mbarrier_invalidate
                                                                  : handlers::mbarrier_init);
  const Space space = read_mbarrier_modifiers(instruction, draft, {});
  if (operation == "complete_tx") draft.details->mode |= AsyncFlags::kCompletes;
  if (space == Space::cluster && !is_transaction)
    fail(instruction, "the mbarrier must be in .shared::cta");
  expect_operands(instruction, is_invalidation ? 1 : 2, is_invalidation ? 1 : 2);
  draft.details->addresses = {address_of(instruction.operands[0], space, instruction.line)};
  if (!is_invalidation) set_source(draft, 0, instruction.operands[1], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// Reads the modifiers behind the operation, and the flags of `mode`. Returns the space.
Space InstructionDecoder::read_mbarrier_modifiers(
    const ptx::Instruction& instruction, Draft& draft,
    std::initializer_list<std::pair<std::string_view, int>> flags) {
  const auto& parts = instruction.parts;
  Space space = Space::generic;
  if (parts.back() != "b64") fail(instruction, "the type must be b64");
  bool has_order = false, has_scope = false;
  for (std::size_t i = 2; i + 1 < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const auto flag = std::ranges::find(flags, part, &std::pair<std::string_view, int>::first);
    if (flag != flags.end()) {
      draft.details->mode |= flag->second;
    } else if (is_shared_block(part) || part == "shared::cluster") {
      space = *space_of(part);
    } else if (part == "release" || part == "acquire" || part == "relaxed") {
      if (part == "relaxed") draft.details->mode |= AsyncFlags::kRelaxed;
      has_order = true;
    } else if (part == "cta" || part == "cluster") {
      has_scope = true;
    } else {
      fail(instruction, unknown(part));
    }
  }
  if (has_order != has_scope) fail(instruction, "a semantics and a scope must be given together");
  return space;
}

/// `mbarrier.arrive{…}.b64 state, [addr]{, count}` and `.arrive_drop` (9.7.13.15.13 and 14).
void InstructionDecoder::append_mbarrier_arrival(const ptx::Instruction& instruction) {
  Draft draft = begin_asynchronous(instruction, handlers::mbarrier_arrive);
  const Space space = read_mbarrier_modifiers(
      instruction, draft,
      {{"expect_tx", AsyncFlags::kExpects}, {"noComplete", AsyncFlags::kNoComplete}});
  int& mode = draft.details->mode;
  if (instruction.parts[1] == "arrive_drop") mode |= AsyncFlags::kDrops;
  const bool needs_count = (mode & (AsyncFlags::kExpects | AsyncFlags::kNoComplete)) != 0;
  expect_operands(instruction, needs_count ? 3 : 2, 3);
  const ptx::Operand& state = instruction.operands[0];
  if (state.name != "_") {
    if (space == Space::cluster)
      fail(instruction, "an arrival in .shared::cluster has no result: its destination must be _");
    draft.operation.results[0] = result(state.name, Width::double_word, instruction.line);
  }
  draft.details->addresses = {address_of(instruction.operands[1], space, instruction.line)};
  if (instruction.operands.size() == 3) set_source(draft, 0, instruction.operands[2], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `mbarrier.{test_wait, try_wait}{.parity}{…}.b64 done, [addr], state{, hint}` (9.7.13.15.16).
void InstructionDecoder::append_mbarrier_wait(const ptx::Instruction& instruction) {
  Draft draft = begin_asynchronous(instruction, handlers::mbarrier_wait);
  const Space space =
      read_mbarrier_modifiers(instruction, draft, {{"parity", AsyncFlags::kParity}});
  if (space == Space::cluster) fail(instruction, "the mbarrier must be in .shared::cta");
  expect_operands(instruction, 3, instruction.parts[1] == "try_wait" ? 4 : 3);
  const bool is_parity = (draft.details->mode & AsyncFlags::kParity) != 0;
  draft.operation.results[0] =
      result(instruction.operands[0].name, Width::predicate, instruction.line);
  draft.details->addresses = {address_of(instruction.operands[1], space, instruction.line)};
  set_source(draft, 0, instruction.operands[2], is_parity ? Width::word : Width::double_word);
  draft_.drafts.push_back(std::move(draft));
}

}  // namespace sinter::virtual_gpu
