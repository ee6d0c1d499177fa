// Decodes loads, stores and atomics.
#include <algorithm>
#include <optional>
#include <span>

#include "tests/virtual_gpu/program/decode_instruction.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

std::optional<Space> space_of(std::string_view part) {
  if (part == "global") return Space::global;
  if (part == "shared" || part == "shared::cta") return Space::shared;
  if (part == "shared::cluster") return Space::generic;  // resolved by its window
  if (part == "local") return Space::local;
  if (part == "const") return Space::constant;
  if (part == "param" || part == "param::entry" || part == "param::func") return Space::parameter;
  return std::nullopt;
}

/// Modifiers that say how caches work, and change no result.
bool is_cache_hint(std::string_view part) {
  for (const std::string_view hint : {"ca", "cg", "cs", "lu", "cv", "wb", "wt"})
    if (part == hint) return true;
  return part.starts_with("L1::") || part.starts_with("L2::");
}

bool is_scope(std::string_view part) {
  return part == "cta" || part == "cluster" || part == "gpu" || part == "sys";
}

/// Reads a modifier that all memory instructions have. False if it is another one.
bool read_modifier(std::string_view part, Details& details) {
  if (const std::optional<Space> space = space_of(part)) {
    details.space = *space;
    return true;
  }
  if (part == "volatile" || part == "relaxed" || part == "mmio") {
    details.is_strong = true;
    return true;
  }
  if (part == "acquire" || part == "release" || part == "acq_rel") {
    details.is_strong = true;
    details.acquires = part != "release";
    details.releases = part != "acquire";
    return true;
  }
  return part == "weak" || is_scope(part) || is_cache_hint(part);
}

using Combine = std::uint64_t (*)(std::uint64_t old, std::uint64_t operand);

/// The row of an atomic operation on T, which is unsigned for all but minima and maxima.
template <class T, T (*F)(T, T)>
std::uint64_t combine_as(std::uint64_t old, std::uint64_t operand) {
  return static_cast<std::uint64_t>(F(static_cast<T>(old), static_cast<T>(operand)));
}
template <class T>
T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
T lesser(T a, T b) {
  return std::min(a, b);
}
template <class T>
T greater(T a, T b) {
  return std::max(a, b);
}
template <class T>
T bits_of_both(T a, T b) {
  return a & b;
}
template <class T>
T bits_of_any(T a, T b) {
  return a | b;
}
template <class T>
T bits_of_one(T a, T b) {
  return a ^ b;
}
template <class T>
T exchanged(T, T b) {
  return b;
}
template <class T>
T incremented(T a, T b) {
  return a >= b ? T{0} : static_cast<T>(a + 1);
}
template <class T>
T decremented(T a, T b) {
  return a == 0 || a > b ? b : static_cast<T>(a - 1);
}

template <class T>
Combine combine_of(std::string_view operation) {
  using U = std::make_unsigned_t<T>;
  if (operation == "add") return combine_as<U, add<U>>;
  if (operation == "min") return combine_as<T, lesser<T>>;
  if (operation == "max") return combine_as<T, greater<T>>;
  if (operation == "and") return combine_as<U, bits_of_both<U>>;
  if (operation == "or") return combine_as<U, bits_of_any<U>>;
  if (operation == "xor") return combine_as<U, bits_of_one<U>>;
  if (operation == "exch") return combine_as<U, exchanged<U>>;
  if (operation == "inc") return combine_as<U, incremented<U>>;
  if (operation == "dec") return combine_as<U, decremented<U>>;
  return nullptr;
}

/// PTX ISA manual, section "Parallel Synchronization and Communication Instructions: atom".
Combine find_combine(std::string_view operation, std::string_view type) {
  if (type == "u32" || type == "b32") return combine_of<std::uint32_t>(operation);
  if (type == "s32") return combine_of<std::int32_t>(operation);
  if (type == "u64" || type == "b64") return combine_of<std::uint64_t>(operation);
  if (type == "s64") return combine_of<std::int64_t>(operation);
  return nullptr;
}

bool is_atomic_operation(std::string_view part) {
  for (const std::string_view operation :
       {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"})
    if (part == operation) return true;
  return false;
}

}  // namespace

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
void InstructionDecoder::append_parameter_access(const ptx::Instruction& instruction,
                                                 const Details& details, std::string_view type) {
  const bool is_load = instruction.parts[0] == "ld";
  const ptx::Operand& address = instruction.operands[is_load ? 1 : 0];
  const ptx::Operand& data = instruction.operands[is_load ? 0 : 1];
  const auto& parameters = function_.parameters;
  const auto at = std::ranges::find(parameters, address.name, &ptx::Variable::name);
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

void InstructionDecoder::append_atomic(const ptx::Instruction& instruction) {
  const bool has_result = instruction.parts[0] == "atom";
  Draft draft = begin(instruction, handlers::atomic, InstructionClass::memory);
  Details& details = *draft.details;
  details.access = AccessKind::atomic;
  details.is_strong = true;
  std::string_view operation;
  for (std::size_t i = 1; i + 1 < instruction.parts.size(); ++i) {
    const std::string_view part = instruction.parts[i];
    if (is_atomic_operation(part))
      operation = part;
    else if (!read_modifier(part, details))
      fail(instruction, "the modifier ." + std::string(part) + " is not known");
  }
  const std::string_view type = instruction.parts.back();
  const bool is_swap = operation == "cas";
  details.bytes = bytes_of_type(type);
  details.combine = is_swap ? nullptr : find_combine(operation, type);
  if (!details.combine && !(is_swap && (type == "b32" || type == "b64" || type == "u32" ||
                                        type == "u64" || type == "s32" || type == "s64")))
    fail(instruction, "the interpreter does not know it");
  if (is_swap) draft.operation.execute = handlers::compare_and_swap;
  const std::size_t first = has_result ? 1 : 0;
  const std::size_t sources = is_swap ? 2 : 1;
  expect_operands(instruction, first + 1 + sources, first + 2 + sources);  // a cache policy is last
  const Width width = details.bytes == 8 ? Width::double_word : Width::word;
  set_address(draft, instruction.operands[first]);
  draft.operation.results[0] =
      result(has_result ? instruction.operands[0].name : "_", width, instruction.line);
  for (std::size_t i = 0; i < sources; ++i)
    set_source(draft, i, instruction.operands[first + 1 + i], width);
  draft_.drafts.push_back(std::move(draft));
}

}  // namespace sinter::virtual_gpu
