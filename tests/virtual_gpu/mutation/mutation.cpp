#include "tests/virtual_gpu/mutation/mutation.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

constexpr std::array<std::string_view, kMutationKinds> kNames = {
    "barrier", "reduction",     "cluster barrier", "cluster release",
    "fence",   "volatile load", "volatile store",  "grid wait"};

bool has_part(const ptx::Instruction& instruction, std::string_view part) {
  return std::ranges::find(instruction.parts, part) != instruction.parts.end();
}

bool is_cluster_barrier(const ptx::Instruction& instruction, std::string_view half) {
  return instruction.opcode.starts_with("barrier.cluster.") && has_part(instruction, half);
}

std::optional<MutationKind> kind_of(const ptx::Instruction& instruction) {
  const std::string_view word = instruction.parts[0];
  if (is_cluster_barrier(instruction, "arrive")) return MutationKind::cluster_barrier;
  if (instruction.opcode.starts_with("barrier.cluster.")) return std::nullopt;
  if ((word == "bar" || word == "barrier") && has_part(instruction, "red"))
    return MutationKind::reduction;
  if ((word == "bar" || word == "barrier") && has_part(instruction, "sync"))
    return instruction.parts[1] == "warp" ? std::nullopt : std::optional(MutationKind::barrier);
  if (word == "fence" || word == "membar") return MutationKind::fence;
  if (word == "ld" && has_part(instruction, "volatile")) return MutationKind::volatile_load;
  if (word == "st" && has_part(instruction, "volatile")) return MutationKind::volatile_store;
  if (instruction.opcode == "griddepcontrol.wait") return MutationKind::grid_wait;
  return std::nullopt;
}

/// Finds the texts of instructions, by the places of their opcodes.
class Editor {
 public:
  explicit Editor(const ptx::Module& module) : text_(*module.text) {}

  /// Removes the instruction with its guard and semicolon.
  Replacement removal(const ptx::Instruction& instruction) const {
    const std::size_t opcode = begin_of(instruction);
    const std::size_t begin = instruction.guard.empty() ? opcode : text_.rfind('@', opcode);
    return {.begin = begin, .bytes = end_of(instruction) - begin, .by = {}};
  }

  /// Replaces a part of the opcode by another one; an empty one removes its dot too.
  Replacement with_part(const ptx::Instruction& instruction, std::string_view part,
                        std::string_view by) const {
    const std::string_view found = *std::ranges::find(instruction.parts, part);
    const auto begin = static_cast<std::size_t>(found.data() - text_.data());
    if (by.empty()) return {.begin = begin - 1, .bytes = part.size() + 1, .by = {}};
    return {.begin = begin, .bytes = part.size(), .by = std::string(by)};
  }

  /// `bar.red.op.type result, barrier, predicate` as a function of the predicate alone.
  Replacement own_predicate(const ptx::Instruction& instruction) const {
    const std::size_t opcode = begin_of(instruction);
    const std::size_t end = end_of(instruction);
    const std::size_t operands = opcode + instruction.opcode.size();
    const std::string_view list = text_.substr(operands, end - 1 - operands);
    const std::string_view result = list.substr(0, list.find(','));
    std::string_view predicate = list.substr(list.rfind(',') + 1);
    predicate.remove_prefix(predicate.find_first_not_of(" \t\n"));
    const bool is_negated = predicate.starts_with('!');
    if (is_negated) predicate.remove_prefix(1);
    if (!has_part(instruction, "popc"))
      return {
          .begin = opcode,
          .bytes = end - opcode,
          .by = fmt::format("{} {}, {};", is_negated ? "not.pred" : "mov.pred", result, predicate)};
    return {
        .begin = opcode,
        .bytes = end - opcode,
        .by = fmt::format("selp.u32 {}, {}, {};", result, is_negated ? "0, 1" : "1, 0", predicate)};
  }

 private:
  std::size_t begin_of(const ptx::Instruction& instruction) const {
    return static_cast<std::size_t>(instruction.opcode.data() - text_.data());
  }
  std::size_t end_of(const ptx::Instruction& instruction) const {
    return text_.find(';', begin_of(instruction)) + 1;
  }

  std::string_view text_;
};

/// The wait that follows the arrival with this index; the text has them in pairs.
const ptx::Instruction& wait_behind(const ptx::Function& function, std::size_t arrival) {
  for (std::size_t i = arrival + 1; i < function.instructions.size(); ++i) {
    const ptx::Instruction& instruction = function.instructions[i];
    if (is_cluster_barrier(instruction, "wait")) return instruction;
    if (is_cluster_barrier(instruction, "arrive")) break;
  }
  throw PtxError(function.instructions[arrival].line,
                 "no barrier.cluster.wait follows the arrival before the next one");
}

std::vector<Replacement> replacements_of(const Editor& editor, const ptx::Function& function,
                                         std::size_t place, MutationKind kind) {
  const ptx::Instruction& instruction = function.instructions[place];
  switch (kind) {
    case MutationKind::reduction: return {editor.own_predicate(instruction)};
    case MutationKind::cluster_barrier:
      return {editor.removal(instruction), editor.removal(wait_behind(function, place))};
    case MutationKind::cluster_release:
      return {editor.with_part(instruction, "release", "relaxed")};
    case MutationKind::volatile_load:
    case MutationKind::volatile_store: return {editor.with_part(instruction, "volatile", {})};
    case MutationKind::barrier:
    case MutationKind::fence:
    case MutationKind::grid_wait: break;
  }
  return {editor.removal(instruction)};
}

}  // namespace

std::string_view name_of(MutationKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::vector<Mutation> find_mutations(const ptx::Module& module) {
  const Editor editor(module);
  std::vector<Mutation> mutations;
  for (const ptx::Function& function : module.functions) {
    int number = 0;
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      const ptx::Instruction& instruction = function.instructions[i];
      const auto add = [&](MutationKind kind) {
        mutations.push_back({.kernel = function.name,
                             .kind = kind,
                             .number = ++number,
                             .line = instruction.line,
                             .replacements = replacements_of(editor, function, i, kind)});
      };
      const std::optional<MutationKind> kind = kind_of(instruction);
      if (!kind) continue;
      add(*kind);
      if (has_part(instruction, "release") && kind == MutationKind::cluster_barrier)
        add(MutationKind::cluster_release);
    }
  }
  return mutations;
}

std::string mutated_text(const ptx::Module& module, const Mutation& mutation) {
  const std::string& text = *module.text;
  std::string result;
  std::size_t done = 0;
  for (const Replacement& one : mutation.replacements) {
    result.append(text, done, one.begin - done);
    result += one.by;
    const std::string_view old = std::string_view(text).substr(one.begin, one.bytes);
    result.append(
        static_cast<std::size_t>(std::ranges::count(old, '\n') - std::ranges::count(one.by, '\n')),
        '\n');
    done = one.begin + one.bytes;
  }
  return result.append(text, done);
}

std::string mutated_text(std::string ptx, const MutationName& name) {
  const ptx::Module module = ptx::parse(std::move(ptx));
  int known = 0;
  int line = 0;
  for (const ptx::Function& function : module.functions)
    if (function.name == name.kernel) line = function.line;
  if (line == 0) return *module.text;
  for (const Mutation& mutation : find_mutations(module)) {
    if (mutation.kernel != name.kernel) continue;
    if (mutation.number == name.number) return mutated_text(module, mutation);
    ++known;
  }
  throw PtxError(line, fmt::format("{} has {} mutations, but number {} is asked for", name.kernel,
                                   known, name.number));
}

std::set<std::string_view> functions_of(const ptx::Module& module, std::string_view kernel) {
  std::set<std::string_view> names;
  const auto visit = [&](const auto& self, std::string_view name) -> void {
    const auto found = std::ranges::find(module.functions, name, &ptx::Function::name);
    if (found == module.functions.end() || !names.insert(found->name).second) return;
    for (const ptx::Instruction& instruction : found->instructions)
      if (instruction.parts[0] == "call")
        for (const ptx::Operand& operand : instruction.operands) self(self, operand.name);
  };
  visit(visit, kernel);
  return names;
}

bool waits_for_prior_launches(const ptx::Function& function) {
  return std::ranges::any_of(function.instructions, [](const ptx::Instruction& instruction) {
    return instruction.opcode == "griddepcontrol.wait";
  });
}

}  // namespace sinter::virtual_gpu
