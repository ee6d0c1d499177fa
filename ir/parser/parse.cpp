// Parser: tokens, error recovery, and statements.
#include "ir/parser/parse.h"

#include "sinter/error.h"
#include "sinter/text.h"

#include <fmt/format.h>

namespace sinter {

Parser::Parser(std::string_view text, std::string_view file_name)
    : lexer_(text), errors_(text, file_name), graph_("") {
  file_ = data().copy_text(file_name);
  advance();
}

Graph Parser::parse() {
  header();
  body();
  errors_.throw_if_any();
  return std::move(graph_);
}

Graph parse(std::string_view text, std::string_view file_name) {
  return Parser(text, file_name).parse();
}

void Parser::advance() {
  if (at("{") || at("[") || at("(")) ++depth_;
  if (at("}") || at("]") || at(")")) --depth_;
  token_ = lexer_.next();
}

bool Parser::accept(std::string_view spelling) {
  if (!at(spelling)) return false;
  advance();
  return true;
}

void Parser::expect(std::string_view spelling, std::string_view where) {
  if (!accept(spelling)) fail_expected(fmt::format("'{}' {}", spelling, where));
}

Token Parser::expect_name(std::string_view what) {
  const Token token = token_;
  if (token.kind == TokenKind::name && is_reserved(token.text))
    fail_at(token, fmt::format("expected {}, found {}, which is a reserved word", what,
                               describe_token(token)));
  if (token.kind != TokenKind::name) fail_expected(what);
  advance();
  return token;
}

void Parser::fail_at(const Token& token, std::string message) const {
  throw TextError{.position = token.position, .message = std::move(message)};
}

void Parser::fail_expected(std::string_view what) const {
  fail_at(token_, fmt::format("expected {}, found {}", what, describe_token(token_)));
}

void Parser::report(TextPosition position, std::string message) {
  errors_.add({.position = position, .message = std::move(message)});
}

bool Parser::ends_statement() const {
  return token_.starts_line || token_.kind == TokenKind::end || at("}");
}

/// True if a statement may begin at the token, so that recovery can continue here. A line such as
/// `keep = true}` is the rest of an attribute list, not a statement.
bool Parser::looks_like_statement() const {
  if (token_.kind != TokenKind::name) return false;
  Lexer ahead = lexer_;
  const Token second = ahead.next();
  if (at("return") || at("update")) return second.kind == TokenKind::name;
  const Token third = ahead.next();
  if (third.kind != TokenKind::name) return false;
  if (second.is(",")) return true;
  return second.is("=") && (third.is("opaque") || find_op_syntax(third.text) != nullptr);
}

void Parser::skip_statement() {
  do advance();
  while (token_.kind != TokenKind::end &&
         !(token_.starts_line && (depth_ <= 0 || looks_like_statement())));
}

void Parser::body() {
  while (token_.kind != TokenKind::end && !errors_.is_full()) {
    depth_ = 0;
    if (at("}")) break;
    const std::size_t begin = token_.position.offset;
    try {
      statement();
    } catch (TextError& error) {
      errors_.add(std::move(error));
      // The offending token may begin the next statement, which must not be skipped.
      const bool has_moved = token_.position.offset != begin;
      if (!(has_moved && token_.starts_line && (depth_ <= 0 || looks_like_statement())))
        skip_statement();
    }
  }
  if (errors_.is_full()) return;
  end_of_graph();
}

void Parser::end_of_graph() {
  const TextPosition end = token_.position;
  if (!accept("}"))
    return report(end, fmt::format("expected '}}' to end {}{}, found {}",
                                   graph_.name().empty() ? "the graph" : "graph ", graph_.name(),
                                   describe_token(token_)));
  if (token_.kind != TokenKind::end)
    report(token_.position, fmt::format("expected the end of the text after graph {}, found {}",
                                        graph_.name(), describe_token(token_)));
  if (!has_result_)
    report(end, fmt::format("graph {} has no output; write 'return' and the output values",
                            graph_.name()));
}

void Parser::statement() {
  if (has_returned_) {
    has_returned_ = false;
    report(token_.position, fmt::format("expected '}}' after return, found {}; return comes last",
                                        describe_token(token_)));
  }
  if (at("return")) return return_statement();
  if (at("update")) return update_statement();
  assignment();
}

void Parser::return_statement() {
  advance();
  has_result_ = true;
  do return_item();
  while (accept(","));
  end_of_statement("',' or the end of the line");
  has_returned_ = true;
}

/// `y`, or `name = y` for an output with another name than its value. `{strides = [...]}` follows
/// if the output is not row-major.
void Parser::return_item() {
  const Token name = expect_name("the name of an output");
  const Token source = accept("=") ? expect_name("the value of the output") : name;
  std::vector<Extent> strides;
  if (accept("{")) {
    if (!accept("strides")) fail_expected("'strides', the option of an output");
    expect("=", "after an option's name");
    strides = extents("a stride");
    expect("}", "after the option of an output");
  }
  const Value* value = find_value(source);
  if (!value || !value->tensor.node()) return;
  call_at(name,
          [&] { graph_.output(name.text, operand_of(value->tensor, name), {.strides = strides}); });
}

void Parser::update_statement() {
  advance();
  has_result_ = true;
  const Token parameter = expect_name("the input that is updated");
  const Value* target = find_value(parameter);
  expect(",", "between the input and its new value");
  const Value* value = find_value(expect_name("the new value"));
  end_of_statement("the end of the line");
  if (!target || !target->tensor.node() || !value || !value->tensor.node()) return;
  call_at(parameter, [&] {
    graph_.update(operand_of(target->tensor, parameter), operand_of(value->tensor, parameter));
  });
}

/// `names = op operands {attributes} : type`
void Parser::assignment() {
  Statement statement;
  try {
    result_names(statement);
    statement.op = token_;
    if (token_.kind != TokenKind::name) fail_expected("an op");
    if (at("opaque")) return opaque_assignment(statement);
    const OpSyntax* syntax = find_op_syntax(token_.text);
    if (!syntax)
      fail_at(token_, fmt::format("unknown op {}{}", describe_token(token_),
                                  suggestion(token_.text, op_names())));
    advance();
    operands(statement);
    std::vector<ParsedAttribute> arguments = attributes(statement, *syntax);
    record(statement, *syntax, arguments);
  } catch (const TextError&) {
    define_results(statement, {});
    throw;
  }
}

void Parser::result_names(Statement& statement) {
  do {
    statement.results.push_back(
        expect_name(statement.results.empty() ? "a statement or '}'" : "the name of a value"));
  } while (accept(","));
  expect("=", "after the name of a value");
}

void Parser::record(Statement& statement, const OpSyntax& syntax,
                    const std::vector<ParsedAttribute>& arguments) {
  check_counts(statement, syntax);
  llvm::SmallVector<Tensor, 2> tensors;
  const Call call{.graph = graph_,
                  .syntax = syntax,
                  .operands = statement.operands,
                  .arguments = arguments,
                  .location = here(statement.op)};
  if (!statement.is_poisoned) call_at(statement.op, [&] { tensors = syntax.record(call); });
  if (accept(":")) type_annotation(tensors.size() == 1 ? tensors[0] : Tensor());
  end_of_statement("the end of the line");
  define_results(statement, tensors);
}

void Parser::check_counts(Statement& statement, const OpSyntax& syntax) {
  const auto plural = [](std::size_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
  };
  const std::size_t given = statement.operands.size();
  const auto wanted = static_cast<std::size_t>(syntax.operands);
  const bool fits = syntax.operands < 0 ? given > 0 : given == wanted;
  if (!fits)
    report(statement.op.position,
           fmt::format(
               "{} takes {}, {} given", syntax.name,
               syntax.operands < 0 ? "one operand or more" : plural(wanted, "operand"),
               given == 0 ? "none is" : fmt::format("{} {}", given, given == 1 ? "is" : "are")));
  const auto results = static_cast<std::size_t>(syntax.results);
  if (statement.results.size() != results)
    report(statement.results.front().position,
           fmt::format("{} gives {}, {} given", syntax.name, plural(results, "value"),
                       statement.results.size() == 1
                           ? "one name is"
                           : fmt::format("{} names are", statement.results.size())));
  if (!fits || statement.results.size() != results) statement.is_poisoned = true;
}

void Parser::end_of_statement(std::string_view expected) {
  if (!ends_statement()) fail_expected(expected);
}

void Parser::define(const Token& name, Tensor tensor) {
  const auto [entry, is_new] =
      values_.try_emplace(name.text, Value{.tensor = tensor, .line = name.position.line});
  if (!is_new) {
    report(name.position, fmt::format("{} is defined already, in line {}; take another name",
                                      printable(name.text), entry->second.line));
    return;
  }
  // A value keeps its first name; a later name may belong to a copy, which records no node.
  if (tensor.node() && data().label(tensor.node()).empty()) tensor.label(name.text);
}

void Parser::define_results(const Statement& statement, std::span<const Tensor> tensors) {
  for (std::size_t i = 0; i < statement.results.size(); ++i)
    define(statement.results[i], i < tensors.size() ? tensors[i] : Tensor());
}

const Parser::Value* Parser::find_value(const Token& name) {
  const auto found = values_.find(name.text);
  if (found != values_.end()) return &found->second;
  // After a broken header most names are unknown, so they are not reported.
  if (header_is_broken_) return nullptr;
  std::vector<std::string_view> known;
  if (suggestions_left_ >= values_.size()) {
    suggestions_left_ -= values_.size();
    for (const auto& [text, value] : values_) known.push_back(text);
  }
  report(name.position,
         fmt::format("{} is not defined{}", printable(name.text), suggestion(name.text, known)));
  return nullptr;
}

Operand Parser::operand_of(Tensor tensor, const Token& token) const {
  return {tensor, file_, token.position.line};
}

void Parser::call_at(const Token& token, const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    // The position in the text is more precise than the recorded line.
    std::string_view message = error.what();
    const std::size_t recorded = message.rfind(" (recorded at ");
    if (recorded != message.npos && message.ends_with(')')) message = message.substr(0, recorded);
    report(token.position, std::string(message));
  }
}

}  // namespace sinter
