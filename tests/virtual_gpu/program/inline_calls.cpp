// append_function: the drafts of a kernel and of the functions that it calls, inlined.
#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

constexpr int kDeepestCall = 64;

const ptx::Function& find_function(const ptx::Module& module, const ptx::Instruction& call,
                                   std::string_view name) {
  for (const ptx::Function& function : module.functions)
    if (function.name == name && !function.is_entry) return function;
  throw PtxError(call.line, "call of " + std::string(name) + ", which has no body");
}

/// The operands of `call (results), function, (arguments)`; results and arguments may be missing.
struct Call {
  std::vector<std::string_view> results = {}, arguments = {};
  std::string_view function = {};
};

std::vector<std::string_view> names_of(const ptx::Operand& list) {
  std::vector<std::string_view> names;
  for (const ptx::Operand& element : list.elements) names.push_back(element.name);
  return names;
}

Call call_of(const ptx::Instruction& instruction) {
  Call call;
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind == ptx::OperandKind::name && call.function.empty())
      call.function = operand.name;
    else if (operand.kind == ptx::OperandKind::list)
      (call.function.empty() ? call.results : call.arguments) = names_of(operand);
    else
      throw PtxError(instruction.line, "this form of call is not supported");
  }
  return call;
}

class Inliner {
 public:
  Inliner(DraftKernel& draft, const ptx::Module& module, KernelNames& names)
      : draft_(draft), module_(module), names_(names) {}

  /// Appends the body. `end`: the label behind it, to which `ret` branches; nullptr in a kernel.
  void append(const ptx::Function& function, int frame, const std::int32_t* end, int depth) {
    InstructionDecoder decoder(draft_, module_, function, frame, names_);
    std::map<std::size_t, std::vector<std::int32_t>> labels_at;
    for (const auto& [name, position] : function.labels)
      labels_at[position].push_back(names_.label(draft_, frame, name));
    for (std::size_t i = 0; i <= function.instructions.size(); ++i) {
      for (const std::int32_t label : labels_at[i]) draft_.place_label(label);
      if (i == function.instructions.size()) break;
      const ptx::Instruction& instruction = function.instructions[i];
      if (instruction.parts[0] == "call")
        append_call(decoder, instruction, function, frame, depth);
      else if (instruction.parts[0] == "ret" && end)
        decoder.append_branch(instruction, *end);
      else
        decoder.append(instruction);
    }
    if (!end) decoder.append_exit(function.line);  // a kernel may end without `ret`
  }

 private:
  void append_call(InstructionDecoder& decoder, const ptx::Instruction& instruction,
                   const ptx::Function& caller, int frame, int depth) {
    if (depth == kDeepestCall) throw PtxError(instruction.line, "calls are recursive or too deep");
    const Call call = call_of(instruction);
    const ptx::Function& callee = find_function(module_, instruction, call.function);
    if (call.arguments.size() != callee.parameters.size() ||
        call.results.size() != callee.results.size())
      throw PtxError(instruction.line, "call of " + std::string(callee.name) +
                                           " with another number of arguments than it has");
    for (const auto* const names : {&call.arguments, &call.results})
      for (const std::string_view name : *names)
        if (!KernelNames::is_parameter(caller, name))
          throw PtxError(instruction.line, "opcode " + std::string(instruction.opcode) +
                                               ": argument " + std::string(name) +
                                               " is no parameter");
    const std::int32_t behind = draft_.new_label();
    if (!instruction.guard.empty()) decoder.append_branch_unless(instruction, behind);
    const int inner = names_.new_frame();
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      copy_parameter(decoder, frame, call.arguments[i], inner, callee.parameters[i].name,
                     instruction.line);
    const std::int32_t end = draft_.new_label();
    append(callee, inner, &end, depth + 1);
    draft_.place_label(end);
    for (std::size_t i = 0; i < call.results.size(); ++i)
      copy_parameter(decoder, inner, callee.results[i].name, frame, call.results[i],
                     instruction.line);
    draft_.place_label(behind);
  }

  void copy_parameter(InstructionDecoder& decoder, int from_frame, std::string_view from,
                      int to_frame, std::string_view to, int line) {
    for (const ParameterPiece& piece : names_.pieces(from_frame, from)) {
      const Slot target = names_.piece(draft_, to_frame, to, piece.offset, piece.bytes, line);
      decoder.append_move(target, piece.slot, piece.bytes, line);
    }
  }

  DraftKernel& draft_;
  const ptx::Module& module_;
  KernelNames& names_;
};

}  // namespace

void append_function(DraftKernel& draft, const ptx::Module& module, const ptx::Function& entry,
                     const AddressOf& address_of) {
  KernelNames names(draft.kernel, module, entry, address_of);
  Inliner(draft, module, names).append(entry, names.new_frame(), nullptr, 0);
}

}  // namespace sinter::virtual_gpu
