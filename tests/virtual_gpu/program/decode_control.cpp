// Decodes branches, barriers, fences and exchanges between lanes.
#include <algorithm>

#include "tests/virtual_gpu/program/combine.h"
#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

using handlers::BarrierReduction;
using handlers::MatchMode;
using handlers::ShuffleMode;
using handlers::VoteMode;

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// The value of a name in a list of pairs; -1 if it is not there.
template <class Mode>
int find_mode(std::initializer_list<std::pair<std::string_view, Mode>> modes,
              std::string_view name) {
  for (const auto& [word, mode] : modes)
    if (word == name) return static_cast<int>(mode);
  return -1;
}

}  // namespace

void InstructionDecoder::append_branch(const ptx::Instruction& instruction, std::int32_t label) {
  Draft draft = begin(instruction, handlers::branch, InstructionClass::control);
  draft.ends_block = true;
  draft.falls_through = !instruction.guard.empty();
  draft.targets = {label};
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_branch_unless(const ptx::Instruction& instruction,
                                              std::int32_t label) {
  append_branch(instruction, label);
  Operation& operation = draft_.drafts.back().operation;
  operation.guard_is_negated = !operation.guard_is_negated;
}

void InstructionDecoder::append_bra(const ptx::Instruction& instruction) {
  expect_operands(instruction, 1, 1);
  const std::string_view name = instruction.operands[0].name;
  if (!function_.labels.contains(name))
    fail(instruction, "label " + std::string(name) + " is not declared");
  append_branch(instruction, names_.label(draft_, frame_, name));
}

void InstructionDecoder::append_brx(const ptx::Instruction& instruction) {
  expect_operands(instruction, 2, 2);
  if (!instruction.guard.empty()) fail(instruction, "a guard is not supported");
  const auto table = function_.branch_tables.find(instruction.operands[1].name);
  if (table == function_.branch_tables.end()) fail(instruction, "its table is not declared");
  Draft draft = begin(instruction, handlers::branch_indexed, InstructionClass::control);
  draft.ends_block = true;
  draft.falls_through = false;
  set_source(draft, 0, instruction.operands[0], Width::word);
  for (const std::string_view name : table->second)
    draft.targets.push_back(names_.label(draft_, frame_, name));
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_end(const ptx::Instruction& instruction) {
  const bool is_trap = instruction.parts[0] == "trap";
  Draft draft =
      begin(instruction, is_trap ? handlers::trap : handlers::exit, InstructionClass::control);
  draft.ends_block = true;
  draft.falls_through = !instruction.guard.empty();
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_exit(int line) {
  ptx::Instruction exit;
  exit.opcode = "exit";
  exit.parts = {"exit"};
  exit.line = line;
  append_end(exit);
}

/// PTX ISA manual, section 9.7.13.1: `bar.sync a{, b}`, `bar.arrive a, b`, `bar.red.op.type d, a{,
/// b}, p`, and the same spelled `barrier`, with or without `.cta`. `b` is a number of threads.
void InstructionDecoder::append_barrier(const ptx::Instruction& instruction) {
  if (instruction.opcode == "bar.warp.sync") return append_warp_barrier(instruction);
  if (instruction.parts.size() > 1 && instruction.parts[1] == "cluster")
    return append_cluster_barrier(instruction);
  std::string opcode;
  for (std::size_t i = 1; i < instruction.parts.size(); ++i)
    if (instruction.parts[i] != "cta" && instruction.parts[i] != "aligned")
      opcode += (opcode.empty() ? "" : ".") + std::string(instruction.parts[i]);
  const int mode = find_mode<BarrierReduction>({{"red.popc.u32", BarrierReduction::popc},
                                                {"red.and.pred", BarrierReduction::all},
                                                {"red.or.pred", BarrierReduction::any}},
                                               opcode);
  const bool is_arrival = opcode == "arrive";
  if (mode < 0 && !is_arrival && opcode != "sync")
    fail(instruction, "the interpreter does not know it");
  const std::size_t first = mode < 0 ? 0 : 1;  // a result precedes the operands
  const std::size_t last = mode < 0 ? 0 : 1;   // a predicate follows them
  expect_operands(instruction, first + 1 + last + (is_arrival ? 1 : 0), first + 2 + last);
  Draft draft = begin(instruction,
                      is_arrival ? handlers::barrier_arrive
                      : mode < 0 ? handlers::block_barrier
                                 : handlers::barrier_reduction,
                      InstructionClass::synchronization);
  if (mode >= 0) {
    draft.details->mode = mode;
    const bool is_count = mode == static_cast<int>(BarrierReduction::popc);
    draft.operation.results[0] = result(
        instruction.operands[0].name, is_count ? Width::word : Width::predicate, instruction.line);
    set_source(draft, 1, instruction.operands.back(), Width::predicate);
  }
  set_source(draft, 0, instruction.operands[first], Width::word);
  if (instruction.operands.size() == first + 2 + last)
    set_source(draft, 2, instruction.operands[first + 1], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `bar.warp.sync members` (9.7.13.2).
void InstructionDecoder::append_warp_barrier(const ptx::Instruction& instruction) {
  expect_operands(instruction, 1, 1);
  Draft draft = begin(instruction, handlers::warp_barrier, InstructionClass::synchronization);
  set_source(draft, 0, instruction.operands[0], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `barrier.cluster.arrive{.release,.relaxed}` and `.wait{.acquire}`, aligned or not. Without a
/// qualifier they release and acquire.
void InstructionDecoder::append_cluster_barrier(const ptx::Instruction& instruction) {
  expect_operands(instruction, 0, 0);
  const auto has = [&](std::string_view part) {
    return std::ranges::find(instruction.parts, part) != instruction.parts.end();
  };
  for (std::size_t i = 2; i < instruction.parts.size(); ++i)
    if (!is_one_of(instruction.parts[i],
                   {"arrive", "wait", "release", "relaxed", "acquire", "aligned"}))
      fail(instruction, "the modifier ." + std::string(instruction.parts[i]) + " is not known");
  Draft draft =
      begin(instruction, has("arrive") ? handlers::cluster_arrive : handlers::cluster_wait,
            InstructionClass::synchronization);
  draft.details->mode = has("relaxed") ? 0 : 1;
  draft_.drafts.push_back(std::move(draft));
}

/// PTX ISA manual, section 9.7.13.4. All thread fences count alike, since a fence of a small scope
/// is an error that needs other checks.
void InstructionDecoder::append_fence(const ptx::Instruction& instruction) {
  if (instruction.parts.size() > 1 && instruction.parts[1] == "proxy")
    return append_proxy_fence(instruction);
  if (instruction.opcode == "fence.mbarrier_init.release.cluster") {
    draft_.drafts.push_back(
        begin(instruction, handlers::mbarrier_init_fence, InstructionClass::synchronization));
    return;
  }
  for (std::size_t i = 1; i < instruction.parts.size(); ++i)
    if (!is_one_of(instruction.parts[i],
                   {"cta", "gl", "sys", "gpu", "cluster", "sc", "acq_rel", "acquire", "release"}))
      fail(instruction, "the modifier ." + std::string(instruction.parts[i]) + " is not known");
  draft_.drafts.push_back(begin(instruction, handlers::fence, InstructionClass::synchronization));
}

/// `fence.proxy.async{.global, .shared::cta, .shared::cluster}`, and `fence.proxy.alias`, which
/// does nothing here: each byte has one address.
void InstructionDecoder::append_proxy_fence(const ptx::Instruction& instruction) {
  const auto& parts = instruction.parts;
  if (parts.size() == 3 && parts[2] == "alias") {
    draft_.drafts.push_back(begin(instruction, handlers::hint, InstructionClass::synchronization));
    return;
  }
  const bool has_space = parts.size() == 4;
  if (parts.size() < 3 || parts.size() > 4 || parts[2] != "async" ||
      (has_space && !is_one_of(parts[3], {"global", "shared::cta", "shared::cluster"})))
    fail(instruction, "the interpreter does not know it");
  Draft draft = begin(instruction, handlers::proxy_fence, InstructionClass::synchronization);
  using handlers::ProxyFence;
  draft.details->mode = !has_space             ? ProxyFence::kShared | ProxyFence::kGlobal
                        : parts[3] == "global" ? ProxyFence::kGlobal
                                               : ProxyFence::kShared;
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_grid_control(const ptx::Instruction& instruction) {
  expect_operands(instruction, 0, 0);
  const bool is_wait = instruction.opcode == "griddepcontrol.wait";
  if (!is_wait && instruction.opcode != "griddepcontrol.launch_dependents")
    fail(instruction, "the interpreter does not know it");
  draft_.drafts.push_back(
      begin(instruction, is_wait ? handlers::wait_for_prior_launches : handlers::launch_dependents,
            InstructionClass::synchronization));
}

/// `shfl.sync.mode.b32 d|p, a, b, c, members`.
void InstructionDecoder::append_shuffle(const ptx::Instruction& instruction) {
  expect_operands(instruction, 5, 5);
  const int mode = find_mode<ShuffleMode>({{"shfl.sync.up.b32", ShuffleMode::up},
                                           {"shfl.sync.down.b32", ShuffleMode::down},
                                           {"shfl.sync.bfly.b32", ShuffleMode::butterfly},
                                           {"shfl.sync.idx.b32", ShuffleMode::index}},
                                          instruction.opcode);
  if (mode < 0) fail(instruction, "the interpreter does not know it");
  Draft draft = begin(instruction, handlers::shuffle, InstructionClass::move);
  draft.details->mode = mode;
  const ptx::Operand& first = instruction.operands[0];
  draft.operation.results[0] = result(first.name, Width::word, instruction.line);
  if (!first.second.empty())
    draft.operation.results[1] = result(first.second, Width::predicate, instruction.line);
  for (std::size_t i = 0; i < 4; ++i)
    set_source(draft, i, instruction.operands[i + 1], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `vote.sync.mode.type d, p, members`.
void InstructionDecoder::append_vote(const ptx::Instruction& instruction) {
  expect_operands(instruction, 3, 3);
  const int mode = find_mode<VoteMode>({{"vote.sync.all.pred", VoteMode::all},
                                        {"vote.sync.any.pred", VoteMode::any},
                                        {"vote.sync.uni.pred", VoteMode::uniform},
                                        {"vote.sync.ballot.b32", VoteMode::ballot}},
                                       instruction.opcode);
  if (mode < 0) fail(instruction, "the interpreter does not know it");
  Draft draft = begin(instruction, handlers::vote, InstructionClass::move);
  draft.details->mode = mode;
  const bool is_ballot = mode == static_cast<int>(VoteMode::ballot);
  draft.operation.results[0] = result(instruction.operands[0].name,
                                      is_ballot ? Width::word : Width::predicate, instruction.line);
  set_source(draft, 0, instruction.operands[1], Width::predicate);
  set_source(draft, 1, instruction.operands[2], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

void InstructionDecoder::append_active_mask(const ptx::Instruction& instruction) {
  expect_operands(instruction, 1, 1);
  Draft draft = begin(instruction, handlers::active_mask, InstructionClass::move);
  draft.operation.results[0] = result(instruction.operands[0].name, Width::word, instruction.line);
  draft_.drafts.push_back(std::move(draft));
}

/// `elect.sync d|p, members` (9.7.13.14).
void InstructionDecoder::append_election(const ptx::Instruction& instruction) {
  expect_operands(instruction, 2, 2);
  if (instruction.opcode != "elect.sync") fail(instruction, "the interpreter does not know it");
  const ptx::Operand& first = instruction.operands[0];
  if (first.second.empty()) fail(instruction, "it needs a predicate as its second result");
  Draft draft = begin(instruction, handlers::elect, InstructionClass::move);
  draft.operation.results[0] = result(first.name, Width::word, instruction.line);
  draft.operation.results[1] = result(first.second, Width::predicate, instruction.line);
  set_source(draft, 0, instruction.operands[1], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `match.any.sync.type d, a, members` and `match.all.sync.type d|p, a, members` (9.7.13.10).
void InstructionDecoder::append_match(const ptx::Instruction& instruction) {
  expect_operands(instruction, 3, 3);
  const std::string_view type = instruction.parts.back();
  std::string_view opcode = instruction.opcode;
  opcode.remove_suffix(type.size() + 1);
  const int mode = find_mode<MatchMode>(
      {{"match.any.sync", MatchMode::any}, {"match.all.sync", MatchMode::all}}, opcode);
  if (mode < 0 || (type != "b32" && type != "b64"))
    fail(instruction, "the interpreter does not know it");
  Draft draft = begin(instruction, handlers::match, InstructionClass::move);
  draft.details->mode = mode;
  draft.details->bytes = type == "b64" ? 8 : 4;
  const ptx::Operand& first = instruction.operands[0];
  draft.operation.results[0] = result(first.name, Width::word, instruction.line);
  if (!first.second.empty())
    draft.operation.results[1] = result(first.second, Width::predicate, instruction.line);
  set_source(draft, 0, instruction.operands[1], type == "b64" ? Width::double_word : Width::word);
  set_source(draft, 1, instruction.operands[2], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

/// `redux.sync.op.type d, a, members` of integers (9.7.13.12).
void InstructionDecoder::append_lane_reduction(const ptx::Instruction& instruction) {
  expect_operands(instruction, 3, 3);
  const auto& parts = instruction.parts;
  const bool is_known =
      parts.size() == 4 && parts[1] == "sync" &&
      ((is_one_of(parts[2], {"add", "min", "max"}) && is_one_of(parts[3], {"u32", "s32"})) ||
       (is_one_of(parts[2], {"and", "or", "xor"}) && parts[3] == "b32"));
  if (!is_known) fail(instruction, "the interpreter does not know it");
  Draft draft = begin(instruction, handlers::reduce_lanes, InstructionClass::move);
  draft.details->combine = find_combine(parts[2], parts[3], 1, false)->global;
  draft.operation.results[0] = result(instruction.operands[0].name, Width::word, instruction.line);
  set_source(draft, 0, instruction.operands[1], Width::word);
  set_source(draft, 1, instruction.operands[2], Width::word);
  draft_.drafts.push_back(std::move(draft));
}

}  // namespace sinter::virtual_gpu
