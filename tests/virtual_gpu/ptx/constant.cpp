// Literals and constant expressions of PTX ISA 4.5.
#include "tests/virtual_gpu/ptx/constant.h"

#include <bit>
#include <charconv>
#include <string>

namespace sinter::virtual_gpu::ptx {
namespace {

/// Parentheses and signs nest at most this deep, so that no text exhausts the stack.
constexpr int kDeepestExpression = 32;

/// All characters as an unsigned integer of the base.
std::uint64_t unsigned_value(std::string_view digits, int base, const Token& token) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error == std::errc::result_out_of_range) fail(token, "the integer exceeds 64 bits");
  if (error != std::errc{} || stop != end) fail(token, "this is no number of PTX");
  return value;
}

std::uint64_t decimal_float(const Token& token) {
  double value = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (error == std::errc::result_out_of_range) fail(token, "the float exceeds 64 bits");
  if (error != std::errc{} || stop != end) fail(token, "this is no number of PTX");
  return std::bit_cast<std::uint64_t>(value);
}

/// `0f` and `0d` with exactly the digits of the size (PTX ISA 4.5.2).
Constant exact_float(const Token& token, int bytes) {
  const std::string_view digits = token.text.substr(2);
  if (digits.size() != 2u * static_cast<unsigned>(bytes))
    fail(token, "the float needs " + std::to_string(2 * bytes) + " hexadecimal digits");
  return {.bits = unsigned_value(digits, 16, token), .float_bytes = bytes, .token = token};
}

std::uint64_t integer(const Token& token) {
  std::string_view text = token.text;
  if (text.size() > 1 && text.back() == 'U') text.remove_suffix(1);
  if (text.size() == 1 || text[0] != '0') return unsigned_value(text, 10, token);
  const char prefix = text[1];
  if (prefix == 'x' || prefix == 'X') return unsigned_value(text.substr(2), 16, token);
  if (prefix == 'b' || prefix == 'B') return unsigned_value(text.substr(2), 2, token);
  return unsigned_value(text.substr(1), 8, token);
}

Constant sum(Lexer& lexer, int depth);

void require_integer(const Constant& constant) {
  if (constant.float_bytes)
    fail(constant.token, "the interpreter knows no arithmetic of float constants");
}

Constant factor(Lexer& lexer, int depth) {
  const Token token = lexer.peek();
  if (depth > kDeepestExpression) fail(token, "the constant expression nests too deeply");
  if (lexer.accept('-')) {
    Constant value = factor(lexer, depth + 1);
    if (value.float_bytes) {
      value.bits ^= std::uint64_t{1} << (8 * value.float_bytes - 1);
    } else {
      value.bits = 0 - value.bits;
    }
    return value;
  }
  if (lexer.accept('~')) {
    Constant value = factor(lexer, depth + 1);
    require_integer(value);
    value.bits = ~value.bits;
    return value;
  }
  if (lexer.accept('(')) {
    const Constant value = sum(lexer, depth + 1);
    lexer.expect(')');
    return value;
  }
  // PTX ISA 4.5: the predefined constant has the value 32 on all targets.
  if (token.kind == TokenKind::word && token.text == "WARP_SZ")
    return {.bits = 32, .float_bytes = 0, .token = lexer.take()};
  return literal(lexer.expect(TokenKind::number, "a constant"));
}

Constant product(Lexer& lexer, int depth) {
  Constant value = factor(lexer, depth);
  while (lexer.accept('*')) {
    const Constant right = factor(lexer, depth);
    require_integer(value);
    require_integer(right);
    value.bits *= right.bits;
  }
  return value;
}

Constant sum(Lexer& lexer, int depth) {
  Constant value = product(lexer, depth);
  for (;;) {
    const bool subtracts = lexer.peek().is('-');
    if (!lexer.accept('+') && !lexer.accept('-')) return value;
    const Constant right = product(lexer, depth);
    require_integer(value);
    require_integer(right);
    value.bits = subtracts ? value.bits - right.bits : value.bits + right.bits;
  }
}

}  // namespace

Constant literal(const Token& token) {
  const std::string_view text = token.text;
  if (token.kind != TokenKind::number) fail(token, "expected a number");
  const char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (second == 'f' || second == 'F') return exact_float(token, 4);
  if (second == 'd' || second == 'D') return exact_float(token, 8);
  const bool is_hexadecimal = second == 'x' || second == 'X';
  if (!is_hexadecimal && text.find_first_of(".eE") != std::string_view::npos)
    return {.bits = decimal_float(token), .float_bytes = 8, .token = token};
  return {.bits = integer(token), .float_bytes = 0, .token = token};
}

bool begins_constant(const Token& token) {
  return token.kind == TokenKind::number || token.is('-') || token.is('~') ||
         (token.kind == TokenKind::word && token.text == "WARP_SZ");
}

Constant take_constant(Lexer& lexer) { return sum(lexer, 0); }

std::int64_t take_integer(Lexer& lexer, std::int64_t lowest, std::int64_t highest) {
  const Token token = lexer.peek();
  const Constant constant = take_constant(lexer);
  const auto value = static_cast<std::int64_t>(constant.bits);
  if (constant.float_bytes) fail(token, "expected an integer");
  if (value < lowest || value > highest)
    fail(token, "the integer " + std::to_string(value) + " is not in the range from " +
                    std::to_string(lowest) + " to " + std::to_string(highest));
  return value;
}

std::uint64_t float_bits(const Constant& constant, int bytes) {
  if (constant.float_bytes == bytes) return constant.bits;
  if (bytes == 4)
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(constant.bits)));
  return std::bit_cast<std::uint64_t>(
      static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits))));
}

}  // namespace sinter::virtual_gpu::ptx
