// Parser: operands, attributes, types, numbers and extents.
#include "ir/parser/parse.h"
#include "sinter/error.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace sinter {

void Parser::operands(Statement& statement) {
  if (ends_statement() || at("{") || at(":")) return;
  do operand(statement);
  while (accept(","));
}

void Parser::operand(Statement& statement) {
  const Token token = token_;
  if (at_literal()) {
    statement.operands.push_back(Operand(literal("an operand"), here(statement.op)));
    return;
  }
  const Value* value = find_value(expect_name("the name of a value or a number"));
  if (!value || !value->tensor.node()) statement.is_poisoned = true;
  // A placeholder keeps the number of operands correct.
  statement.operands.push_back(value && value->tensor.node()
                                   ? operand_of(value->tensor, statement.op)
                                   : Operand(Literal{}, here(token)));
}

std::vector<ParsedAttribute> Parser::attributes(Statement& statement, const OpSyntax& syntax) {
  std::vector<ParsedAttribute> arguments(syntax.attributes.size());
  if (accept("{") && !accept("}")) {
    do attribute(statement, syntax, arguments);
    while (accept(","));
    expect("}", "or ',' after an attribute");
  }
  fill_defaults(statement, syntax, arguments);
  return arguments;
}

void Parser::attribute(Statement& statement, const OpSyntax& syntax,
                       std::vector<ParsedAttribute>& arguments) {
  const Token name = token_;
  if (name.kind != TokenKind::name) fail_expected("the name of an attribute");
  advance();
  expect("=", "after the name of an attribute");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (syntax.attributes[i].name != name.text) continue;
    if (arguments[i].given) {
      statement.is_poisoned = true;
      report(name.position, fmt::format("attribute {} is given twice", name.text));
    }
    arguments[i] = {.given = true};
    return attribute_value(syntax.attributes[i], arguments[i]);
  }
  statement.is_poisoned = true;
  std::vector<std::string_view> known;
  for (const AttributeInfo& attribute : syntax.attributes) known.push_back(attribute.name);
  report(name.position,
         fmt::format(
             "{} has no attribute {}; {}", syntax.name, describe_token(name),
             known.empty() ? "it takes none" : fmt::format("it takes {}", fmt::join(known, ", "))));
  skip_attribute_value();
}

void Parser::skip_attribute_value() {
  const int depth = depth_;
  while (token_.kind != TokenKind::end) {
    if (depth_ == depth && (at(",") || at("}"))) return;
    if (token_.starts_line && looks_like_statement()) return;
    advance();
  }
}

void Parser::attribute_value(const AttributeInfo& info, ParsedAttribute& argument) {
  const std::string name(info.name);
  switch (info.kind) {
    case AttributeKind::integer: argument.integer = integer("an integer for " + name); return;
    case AttributeKind::boolean:
      if (!at("true") && !at("false")) fail_expected("true or false for " + name);
      argument.integer = at("true");
      return advance();
    case AttributeKind::string: argument.text = string("a text for " + name); return;
    case AttributeKind::dtype: argument.dtype = dtype(); return;
    case AttributeKind::literal: argument.literal = literal("a number for " + name); return;
    case AttributeKind::extent: argument.extent = extent(); return;
    case AttributeKind::integers: argument.integers = integers("an integer of " + name); return;
    case AttributeKind::extents: argument.extents = extents("an extent of " + name); return;
  }
}

void Parser::fill_defaults(Statement& statement, const OpSyntax& syntax,
                           std::vector<ParsedAttribute>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AttributeInfo& info = syntax.attributes[i];
    if (arguments[i].given) continue;
    if (info.required()) {
      statement.is_poisoned = true;
      report(statement.op.position,
             fmt::format("{} needs attribute {}: write {{{} = …}} after the operands", syntax.name,
                         info.name, info.name));
      continue;
    }
    read_default(info, arguments[i]);
  }
}

void Parser::type_annotation(Tensor recorded) {
  const Token begin = token_;
  const DType type = dtype();
  const std::vector<Extent> shape = extents("an extent");
  if (!recorded.node()) return;
  if (recorded.dtype() != type || !std::ranges::equal(recorded.shape(), shape))
    fail_at(begin, fmt::format("the value is {}, not {}{}", type_text(*recorded.node()), name(type),
                               to_string(shape)));
}

/// Also accepts a real with an integer value up to 2^53, such as 1.0, because text generators often
/// write integers that way.
std::int64_t Parser::integer(std::string_view what) {
  const bool is_negative = accept("-");
  const Token token = token_;
  if (token.kind == TokenKind::real) {
    const double value = real(token);
    if (value != std::trunc(value) || value > 0x1p53) fail_expected(what);
    advance();
    return static_cast<std::int64_t>(is_negative ? -value : value);
  }
  if (token.kind != TokenKind::integer) fail_expected(what);
  advance();
  const std::string text = (is_negative ? "-" : "") + std::string(token.text);
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    fail_at(token, fmt::format("{} does not fit in 64 bits", printable(text)));
  return value;
}

std::string Parser::string(std::string_view what) {
  if (token_.kind != TokenKind::string) fail_expected(what);
  const std::string text = unquote(token_.text);
  advance();
  return text;
}

bool Parser::at_literal() const {
  return token_.kind == TokenKind::integer || token_.kind == TokenKind::real || at("-") ||
         at("inf") || at("nan") || at("true") || at("false");
}

Literal Parser::literal(std::string_view what) {
  if (at("true") || at("false")) {
    const bool value = at("true");
    advance();
    return Literal::of(value);
  }
  // The sign is part of an integer, so that -2^63 can be written.
  Lexer ahead = lexer_;
  const Token number = at("-") ? ahead.next() : token_;
  if (number.kind == TokenKind::integer) {
    std::uint64_t magnitude = 0;
    const char* end = number.text.data() + number.text.size();
    if (at("-") || std::from_chars(number.text.data(), end, magnitude).ec != std::errc())
      return Literal::of(integer(what));
    advance();
    return Literal::of(magnitude);
  }
  const double sign = accept("-") ? -1.0 : 1.0;
  double value = std::numeric_limits<double>::quiet_NaN();
  if (at("inf"))
    value = sign * std::numeric_limits<double>::infinity();
  else if (token_.kind == TokenKind::real)
    value = sign * real(token_);
  else if (!at("nan"))
    fail_expected(sign < 0 ? "a number after '-'" : what);
  advance();
  return Literal::of(value);
}

double Parser::real(const Token& token) const {
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  if (std::from_chars(token.text.data(), end, value).ec != std::errc())
    fail_at(token,
            fmt::format("{} is beyond the range of f64; write 0.0 or inf", printable(token.text)));
  return value;
}

DType Parser::dtype() {
  const Token token = token_;
  if (token.kind != TokenKind::name) fail_expected("a dtype");
  std::vector<std::string_view> known;
  for (const DTypeInfo& row : kDTypes) {
    known.push_back(row.name);
    if (row.name != token.text) continue;
    advance();
    return row.dtype;
  }
  fail_at(token, fmt::format("unknown dtype {}; the dtypes are {}", describe_token(token),
                             fmt::join(known, " ")));
}

std::vector<std::int64_t> Parser::integers(std::string_view what) {
  std::vector<std::int64_t> result;
  expect("[", "before a list");
  if (accept("]")) return result;
  do result.push_back(integer(what));
  while (accept(","));
  expect("]", "or ',' in a list");
  return result;
}

std::vector<Extent> Parser::extents(std::string_view what) {
  std::vector<Extent> result;
  expect("[", "before the extents");
  if (accept("]")) return result;
  do {
    if (result.size() == kMaxRank) fail_at(token_, fmt::format("more than {} axes", kMaxRank));
    if (at(",") || at("]")) fail_expected(what);
    result.push_back(extent());
  } while (accept(","));
  expect("]", "or ',' after an extent");
  return result;
}

Extent Parser::extent() {
  const Token begin = token_;
  try {
    return extent_sum(0);
  } catch (const UserError& error) {
    fail_at(begin, error.what());
  }
}

Extent Parser::extent_sum(int depth) {
  Extent result = extent_product(depth);
  while (at("+") || at("-")) {
    const bool is_plus = at("+");
    advance();
    const Extent term = extent_product(depth);
    result = is_plus ? result + term : result - term;
  }
  return result;
}

Extent Parser::extent_product(int depth) {
  Extent result = extent_factor(depth);
  while (accept("*")) result = result * extent_factor(depth);
  return result;
}

Extent Parser::extent_factor(int depth) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest) fail_at(token_, fmt::format("brackets nest deeper than {}", kDeepest));
  Lexer ahead = lexer_;
  const Token second = ahead.next();
  if (token_.kind == TokenKind::integer || (at("-") && second.kind == TokenKind::integer))
    return integer("an extent");
  if (accept("-")) return Extent(-1) * extent_factor(depth + 1);
  if (accept("(")) {
    const Extent inner = extent_sum(depth + 1);
    expect(")", "after an extent in brackets");
    return inner;
  }
  if (at("floor_div") && second.is("(")) {
    advance();
    advance();
    const Extent numerator = extent_sum(depth + 1);
    expect(",", "between the extents of floor_div");
    const Extent divisor = extent_sum(depth + 1);
    expect(")", "after the extents of floor_div");
    return floor_div(numerator, divisor);
  }
  return graph_.extent(expect_name("an extent: a number or a symbol").text);
}

}  // namespace sinter
