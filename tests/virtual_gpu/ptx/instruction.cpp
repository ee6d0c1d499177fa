// Instructions and their operands (PTX ISA 4.3.2, 6).
#include <algorithm>
#include <array>
#include <string>

#include "tests/virtual_gpu/ptx/body.h"
#include "tests/virtual_gpu/ptx/constant.h"

namespace sinter::virtual_gpu::ptx {
namespace {

/// The float size of an instruction, by its opcode. No instruction mixes immediates of f32 and f64.
struct FloatUse {
  int bytes = 0;  ///< 0: the opcode has no float type, so its floats are bits
  /// All of its operands have the type, so that integer immediates are errors.
  bool needs_floats = false;
};

/// Operations with operands of one type only, but for predicates.
constexpr std::array<std::string_view, 12> kUniformOperations = {
    "mov", "add", "sub", "mul", "mad", "fma", "div", "min", "max", "setp", "selp", "st"};

FloatUse float_use(const Instruction& instruction) {
  const auto& parts = instruction.parts;
  // PTX ISA, createpolicy: the fraction is an f32, and the type of the opcode that of the policy.
  if (parts.front() == "createpolicy") return {.bytes = 4};
  const auto type = std::find_if(parts.rbegin(), parts.rend(), [](std::string_view part) {
    return part == "f32" || part == "f64";
  });
  if (type == parts.rend()) return {};
  const bool is_uniform = std::find(kUniformOperations.begin(), kUniformOperations.end(),
                                    parts.front()) != kUniformOperations.end();
  return {.bytes = *type == "f32" ? 4 : 8, .needs_floats = is_uniform && type == parts.rbegin()};
}

Operand immediate(const Constant& constant, FloatUse use) {
  Operand operand{.kind = OperandKind::immediate, .bits = constant.bits};
  if (constant.float_bytes && use.bytes) operand.bits = float_bits(constant, use.bytes);
  if (!constant.float_bytes && use.needs_floats)
    fail(constant.token, "the instruction needs a float here");
  return operand;
}

std::uint64_t take_offset(Lexer& lexer) {
  lexer.accept('+');
  const Constant offset = take_constant(lexer);
  if (offset.float_bytes) fail(offset.token, "an offset must be an integer");
  return offset.bits;
}

bool begins_offset(const Token& token) { return token.is('+') || token.is('-'); }

/// `[name]`, `[name+4]`, `[name+-4]`, `[name-4]`, `[64]`.
Operand take_address(Lexer& lexer) {
  lexer.expect('[');
  Operand operand{.kind = OperandKind::address};
  const Token& token = lexer.peek();
  if (token.kind == TokenKind::word && !begins_constant(token)) {
    operand.name = lexer.take().text;
    if (begins_offset(lexer.peek())) operand.bits = take_offset(lexer);
  } else {
    if (!begins_constant(token)) fail(token, "expected an address");
    operand.bits = take_offset(lexer);
  }
  if (lexer.peek().is(',')) fail(lexer.peek(), "the interpreter knows no tensor addresses");
  lexer.expect(']');
  return operand;
}

Operand take_named_operand(Lexer& lexer) {
  Operand operand{.kind = OperandKind::name};
  operand.is_negated = lexer.accept('!');
  operand.name = lexer.expect(TokenKind::word, "an operand").text;
  if (lexer.peek().is('[')) fail(lexer.peek(), "the interpreter knows no array elements");
  return operand;
}

Operand take_element(Lexer& lexer, FloatUse use) {
  if (begins_constant(lexer.peek())) return immediate(take_constant(lexer), use);
  return take_named_operand(lexer);
}

/// The elements of `{…}` or `(…)`.
Operand take_elements(Lexer& lexer, OperandKind kind, char end, FloatUse use) {
  lexer.take();
  Operand operand{.kind = kind};
  if (kind == OperandKind::list && lexer.accept(end)) return operand;
  do {
    operand.elements.push_back(take_element(lexer, use));
  } while (lexer.accept(','));
  lexer.expect(end);
  return operand;
}

Operand take_operand(Lexer& lexer, FloatUse use) {
  const Token& token = lexer.peek();
  if (token.is('[')) return take_address(lexer);
  if (token.is('{')) return take_elements(lexer, OperandKind::vector, '}', use);
  if (token.is('(')) return take_elements(lexer, OperandKind::list, ')', use);
  if (begins_constant(token)) return immediate(take_constant(lexer), use);
  Operand operand = take_named_operand(lexer);
  if (operand.is_negated) return operand;
  if (lexer.accept('|')) {
    operand.second = lexer.expect(TokenKind::word, "a second destination").text;
  } else if (begins_offset(lexer.peek())) {
    operand.bits = take_offset(lexer);
  }
  return operand;
}

std::vector<std::string_view> split_opcode(const Token& token) {
  const std::string_view opcode = token.text;
  std::vector<std::string_view> parts;
  parts.reserve(1 + static_cast<std::size_t>(std::count(opcode.begin(), opcode.end(), '.')));
  for (std::size_t begin = 0; begin <= opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  if (opcode.front() < 'a' || opcode.front() > 'z') fail(token, "expected an opcode");
  return parts;
}

}  // namespace

Instruction take_instruction(Lexer& lexer, const Token& opcode) {
  Instruction instruction{
      .opcode = opcode.text, .parts = split_opcode(opcode), .line = opcode.line};
  if (lexer.accept(';')) return instruction;
  const FloatUse use = float_use(instruction);
  // Few instructions have more operands, so a growing vector is rare.
  instruction.operands.reserve(4);
  do {
    instruction.operands.push_back(take_operand(lexer, use));
  } while (lexer.accept(','));
  lexer.expect(';');
  return instruction;
}

}  // namespace sinter::virtual_gpu::ptx
