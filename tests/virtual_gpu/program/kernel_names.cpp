#include "tests/virtual_gpu/program/kernel_names.h"

#include <algorithm>
#include <set>

#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

std::int64_t align_up(std::int64_t offset, int alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

bool is_shared(const ptx::Variable& variable) {
  return variable.space == ptx::Space::shared && !(variable.is_extern && variable.elements == 0);
}

void visit_names(const ptx::Operand& operand, const std::function<void(std::string_view)>& visit) {
  if (!operand.name.empty()) visit(operand.name);
  for (const ptx::Operand& element : operand.elements) visit_names(element, visit);
}

}  // namespace

Width width_of_type(std::string_view type) {
  if (type == "pred") return Width::predicate;
  const int bytes = bytes_of_type(type);
  return bytes == 0 || bytes > 8 ? Width::none : bytes == 8 ? Width::double_word : Width::word;
}

int bytes_of_type(std::string_view type) {
  static const std::map<std::string_view, int> kBytes = {
      {"b8", 1},    {"u8", 1},     {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},
      {"f16", 2},   {"bf16", 2},   {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},
      {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
  const auto found = kBytes.find(type);
  return found == kBytes.end() ? 0 : found->second;
}

KernelNames::KernelNames(Kernel& kernel, const ptx::Module& module, const ptx::Function& entry,
                         const AddressOf& address_of)
    : kernel_(kernel), module_(module), address_of_(address_of) {
  std::set<std::string_view> seen;
  place_shared_of(module, entry, seen);
}

void KernelNames::place_shared(const ptx::Variable& variable) {
  if (!is_shared(variable) || shared_.contains(&variable)) return;
  kernel_.static_shared_bytes = align_up(kernel_.static_shared_bytes, variable.alignment);
  shared_[&variable] = kFirstAddress + static_cast<std::uint64_t>(kernel_.static_shared_bytes);
  kernel_.static_shared_bytes += variable.size();
}

/// Places the shared variables of the function, and those of the module that it names.
void KernelNames::place_shared_of(const ptx::Module& module, const ptx::Function& function,
                                  std::set<std::string_view>& seen) {
  if (!seen.insert(function.name).second) return;
  for (const ptx::Variable& variable : function.variables) place_shared(variable);
  const auto visit = [&](std::string_view name) {
    for (const ptx::Variable& variable : module.variables)
      if (variable.name == name) place_shared(variable);
    for (const ptx::Function& called : module.functions)
      if (called.name == name && !called.is_entry) place_shared_of(module, called, seen);
  };
  for (const ptx::Instruction& instruction : function.instructions)
    for (const ptx::Operand& operand : instruction.operands) visit_names(operand, visit);
}

std::int32_t KernelNames::label(DraftKernel& draft, int frame, std::string_view name) {
  const auto [found, is_new] = labels_.try_emplace({frame, name}, 0);
  if (is_new) found->second = draft.new_label();
  return found->second;
}

Slot KernelNames::find_register(DraftKernel& draft, const ptx::Function& function, int frame,
                                std::string_view name) {
  const auto known = registers_.find({frame, name});
  if (known != registers_.end()) return known->second;
  auto& declared = declared_[&function];
  if (declared.empty())
    for (const ptx::Register& one : function.registers)
      declared[one.name] = width_of_type(one.type);
  const auto found = declared.find(name);
  if (found == declared.end()) return kNoSlot;
  if (found->second == Width::none)
    throw PtxError(function.line, "register " + std::string(name) + " has an unknown type");
  return registers_[{frame, name}] = draft.new_register(found->second);
}

VariableAddress KernelNames::variable(const ptx::Function& function, int frame,
                                      std::string_view name, int line) {
  const auto find = [&](const std::vector<ptx::Variable>& variables) -> const ptx::Variable* {
    const auto found = std::ranges::find(variables, name, &ptx::Variable::name);
    return found == variables.end() ? nullptr : &*found;
  };
  const ptx::Variable* variable = find(function.variables);
  // The address of a kernel's parameter is in the space .param (PTX ISA manual, "Kernel Function
  // Parameters").
  if (const ptx::Variable* const parameter =
          function.is_entry ? find(function.parameters) : nullptr;
      parameter && !variable) {
    const auto number = static_cast<std::size_t>(parameter - function.parameters.data());
    return {ptx::Space::param, kFirstAddress + kernel_.parameters[number].offset};
  }
  if (!variable) variable = find(module_.variables);
  if (!variable) throw PtxError(line, "name " + std::string(name) + " is not declared");
  switch (variable->space) {
    case ptx::Space::shared:
      if (is_shared(*variable)) return {ptx::Space::shared, shared_.at(variable)};
      // Dynamic shared memory. Its alignment on a GPU is at least 16.
      return {ptx::Space::shared, kFirstAddress + static_cast<std::uint64_t>(
                                                      align_up(kernel_.static_shared_bytes, 16))};
    case ptx::Space::local: {
      const auto [found, is_new] = local_.try_emplace({frame, name}, 0);
      if (is_new) {
        kernel_.local_bytes = align_up(kernel_.local_bytes, variable->alignment);
        found->second = kFirstAddress + static_cast<std::uint64_t>(kernel_.local_bytes);
        kernel_.local_bytes += variable->size();
      }
      return {ptx::Space::local, found->second};
    }
    case ptx::Space::global:
    case ptx::Space::constant: return {variable->space, address_of_(*variable)};
    case ptx::Space::param: break;
  }
  throw PtxError(line, "the address of parameter " + std::string(name) + " is not supported");
}

bool KernelNames::is_parameter(const ptx::Function& function, std::string_view name) {
  const auto has = [&](const std::vector<ptx::Variable>& variables) {
    return std::ranges::any_of(variables, [&](const ptx::Variable& variable) {
      return variable.space == ptx::Space::param && variable.name == name;
    });
  };
  return has(function.parameters) || has(function.results) || has(function.variables);
}

const ParameterPiece* KernelNames::find_piece(int frame, std::string_view name, std::int64_t offset,
                                              int bytes) const {
  const auto known = pieces_.find({frame, name});
  if (known == pieces_.end()) return nullptr;
  for (const ParameterPiece& piece : known->second)
    if (piece.offset <= offset && offset + bytes <= piece.offset + piece.bytes) return &piece;
  return nullptr;
}

Slot KernelNames::piece(DraftKernel& draft, int frame, std::string_view name, std::int64_t offset,
                        int bytes, int line) {
  std::vector<ParameterPiece>& known = pieces_[{frame, name}];
  for (const ParameterPiece& piece : known) {
    if (piece.offset == offset && piece.bytes == bytes) return piece.slot;
    if (piece.offset < offset + bytes && offset < piece.offset + piece.bytes)
      throw PtxError(line,
                     "parameter " + std::string(name) + " is read in other pieces than written");
  }
  known.push_back({.offset = offset,
                   .bytes = bytes,
                   .slot = draft.new_register(bytes == 8 ? Width::double_word : Width::word)});
  return known.back().slot;
}

}  // namespace sinter::virtual_gpu
