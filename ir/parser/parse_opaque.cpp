// Parses calls of registered functions, such as
// `v, i = opaque topk x {k = 8} : f32[rows, 8], i64[rows, 8]`. The text declares the types of the
// results. A result named _ cannot be used by later statements.
#include "ir/parser/parse.h"

#include <fmt/format.h>

namespace sinter {

void Parser::opaque_assignment(Statement& statement) {
  advance();
  if (ends_statement()) fail_expected("the name of a registered function");
  const Token function = expect_name("the name of a registered function");
  operands(statement);
  const std::vector<OpaqueAttribute> attributes = opaque_attributes();
  const std::vector<OpaqueType> types = opaque_types();
  end_of_statement("',' or the end of the line");
  if (statement.results.size() != types.size()) {
    statement.is_poisoned = true;
    report(statement.results.front().position,
           fmt::format("opaque {} has {} result type{}, but {} name{} for {}",
                       printable(function.text), types.size(), types.size() == 1 ? "" : "s",
                       statement.results.size(),
                       statement.results.size() == 1 ? " is given" : "s are given",
                       types.size() == 1 ? "it" : "them"));
  }
  std::vector<Tensor> tensors(statement.results.size());
  if (!statement.is_poisoned)
    call_at(statement.op, [&] {
      tensors = opaque_results(function.text, statement.operands, types, attributes, file_,
                               statement.op.position.line);
    });
  for (std::size_t i = 0; i < statement.results.size(); ++i)
    if (!statement.results[i].is("_")) define(statement.results[i], tensors[i]);
}

std::vector<OpaqueAttribute> Parser::opaque_attributes() {
  std::vector<OpaqueAttribute> attributes;
  if (!accept("{") || accept("}")) return attributes;
  do {
    const Token name = token_;
    if (name.kind != TokenKind::name) fail_expected("the name of an attribute");
    advance();
    expect("=", "after the name of an attribute");
    if (token_.kind == TokenKind::string)
      attributes.emplace_back(name.text, std::string_view(string("a text")));
    else if (at("["))
      attributes.emplace_back(name.text, integers("an integer"));
    else
      attributes.emplace_back(name.text, literal("a number, a text or a list of integers for an attribute"));
  } while (accept(","));
  expect("}", "or ',' after an attribute");
  return attributes;
}

std::vector<OpaqueType> Parser::opaque_types() {
  if (!accept(":")) fail_expected("':' and the types of the results, such as ': f32[rows, 1024]'");
  std::vector<OpaqueType> types;
  do {
    const DType type = dtype();
    types.push_back({.dtype = type, .shape = extents("an extent")});
  } while (accept(","));
  return types;
}

}  // namespace sinter
