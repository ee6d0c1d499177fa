// Recording of opaque calls, and the text of their attributes.
#include "ir/record/opaque.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/record/record.h"
#include "ir/text/lexer.h"
#include "ir/text/print.h"

namespace sinter {

namespace {

bool is_legal(std::string_view name) { return legal_name(name) == name; }

void check_attributes(std::string_view op_name, std::span<const OpaqueAttribute> attributes,
                      Location location) {
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const std::string& name = attributes[i].name;
    if (!is_legal(name))
      fail(op_name,
           fmt::format("\"{}\" is not an attribute name; use letters, digits and _",
                       printable(name)),
           location);
    if (std::ranges::count(attributes.first(i), name, &OpaqueAttribute::name) > 0)
      fail(op_name, fmt::format("attribute {} is given twice", name), location);
  }
}

llvm::SmallVector<const Node*, 4> operand_nodes(std::string_view op_name,
                                                std::span<const Operand> operands,
                                                Location location) {
  llvm::SmallVector<const Node*, 4> nodes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_literal())
      fail(op_name,
           fmt::format("operand {} is a number; make it an attribute, or record it with full",
                       i + 1),
           location);
    nodes.push_back(operands[i].tensor.node());
  }
  return nodes;
}

/// A limit, because the node of each result stores the types of all results.
constexpr std::size_t kMaxResults = 64;

/// The types of all results, which the nodes of one call share.
struct Types {
  std::vector<std::int64_t> dtypes;
  std::vector<std::int64_t> ranks;
  std::vector<Extent> shapes;  ///< concatenated
};

Types types_of(std::string_view op_name, std::span<const OpaqueType> results, Location location) {
  if (results.empty())
    fail(op_name, "it has no result; give it at least one result type", location);
  if (results.size() > kMaxResults)
    fail(op_name,
         fmt::format("it has {} results, more than {}; combine several results in one array",
                     results.size(), kMaxResults),
         location);
  Types types;
  for (const OpaqueType& result : results) {
    check_shape(op_name, result.shape, location);
    types.dtypes.push_back(static_cast<std::int64_t>(result.dtype));
    types.ranks.push_back(static_cast<std::int64_t>(result.shape.size()));
    types.shapes.insert(types.shapes.end(), result.shape.begin(), result.shape.end());
  }
  return types;
}

}  // namespace

std::vector<Tensor> opaque_results(std::string_view function, std::span<const Operand> operands,
                                   std::span<const OpaqueType> results,
                                   const std::vector<OpaqueAttribute>& attributes, const char* file,
                                   int line) {
  const Location location{file, line};
  const std::string op_name = fmt::format("opaque {}", printable(function));
  if (is_library_name(function))
    fail(op_name, fmt::format("{0} is a library op; record it with {0}", function), location);
  if (!is_legal(function))
    fail(op_name, "this is not a function name; use letters, digits and _", location);
  check_attributes(op_name, attributes, location);
  if (operands.empty()) fail(op_name, "it has no operand; give it at least one Tensor", location);
  GraphData& graph = graph_of(op_name, refs_to(operands));
  const llvm::SmallVector<const Node*, 4> nodes = operand_nodes(op_name, operands, location);
  const Types types = types_of(op_name, results, location);
  const std::string options = options_text(attributes);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Attribute values[] = {{.text = function},
                                {.text = options},
                                {.integer = static_cast<std::int64_t>(i)},
                                {.integers = types.dtypes},
                                {.integers = types.ranks},
                                {.extents = types.shapes}};
    tensors.push_back(record_node(graph, Op::opaque, results[i].dtype, nodes, results[i].shape,
                                  values, location));
  }
  return tensors;
}

std::vector<Tensor> opaque_results(std::string_view function,
                                   std::initializer_list<Operand> operands,
                                   std::initializer_list<OpaqueType> results,
                                   const std::vector<OpaqueAttribute>& attributes, const char* file,
                                   int line) {
  return opaque_results(function, std::span<const Operand>(operands.begin(), operands.size()),
                        std::span<const OpaqueType>(results.begin(), results.size()), attributes,
                        file, line);
}

Tensor opaque(std::string_view function, std::initializer_list<Operand> operands,
              const OpaqueType& result, const std::vector<OpaqueAttribute>& attributes,
              const char* file, int line) {
  return opaque_results(function, operands, {result}, attributes, file, line)[0];
}

namespace {

std::string value_text(const OpaqueAttribute& attribute) {
  switch (attribute.kind) {
    case OpaqueAttribute::Kind::number: return literal_text(attribute.number, f64);
    case OpaqueAttribute::Kind::text: return quote(attribute.text);
    case OpaqueAttribute::Kind::integers:
      return fmt::format("[{}]", fmt::join(attribute.integers, ", "));
  }
  return {};
}

}  // namespace

std::string options_text(std::span<const OpaqueAttribute> attributes) {
  std::vector<std::string> parts;
  for (const OpaqueAttribute& attribute : attributes)
    parts.push_back(fmt::format("{} = {}", attribute.name, value_text(attribute)));
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

/// The number of `token`, negated if a minus sign precedes it.
Literal number_of(bool is_negative, const Token& token) {
  if (token.is("true") || token.is("false")) return Literal::of(token.is("true"));
  const char* const end = token.text.data() + token.text.size();
  std::uint64_t magnitude = 0;
  if (token.kind == TokenKind::integer) {
    std::from_chars(token.text.data(), end, magnitude);
    return is_negative ? Literal::of(static_cast<std::int64_t>(0 - magnitude))
                       : Literal::of(magnitude);
  }
  double real = token.is("inf") ? std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::quiet_NaN();
  if (token.kind == TokenKind::real) std::from_chars(token.text.data(), end, real);
  return Literal::of(is_negative ? -real : real);
}

/// The integers up to the closing bracket.
std::vector<std::int64_t> rest_of_list(Lexer& lexer) {
  std::vector<std::int64_t> integers;
  for (Token token = lexer.next(); !token.is("]"); token = lexer.next()) {
    if (token.is(",")) continue;
    const bool is_negative = token.is("-");
    if (is_negative) token = lexer.next();
    integers.push_back(number_of(is_negative, token).integer);
  }
  return integers;
}

/// The attributes of a library op, as its function gets them.
std::vector<OpaqueAttribute> library_options(const Node& node) {
  std::vector<OpaqueAttribute> options;
  const std::vector<AttributeInfo>& schema = info(node.op).attributes;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const Attribute& value = node.attributes[i];
    if (schema[i].kind == AttributeKind::integers)
      options.emplace_back(schema[i].name, std::vector<std::int64_t>(value.integers.begin(),
                                                                     value.integers.end()));
    else if (schema[i].kind == AttributeKind::string)
      options.emplace_back(schema[i].name, value.text);
    else if (schema[i].kind == AttributeKind::integer || schema[i].kind == AttributeKind::boolean)
      options.emplace_back(schema[i].name, value.integer);
  }
  return options;
}

}  // namespace

std::vector<OpaqueAttribute> options_of(const Node& node) {
  if (is_library(node.op)) return library_options(node);
  std::vector<OpaqueAttribute> options;
  Lexer lexer(attribute(node, "options").text);
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    if (token.is(",")) continue;
    const std::string_view name = token.text;
    lexer.next();  // the equals sign
    token = lexer.next();
    if (token.is("[")) {
      options.emplace_back(name, rest_of_list(lexer));
      continue;
    }
    const bool is_negative = token.is("-");
    if (is_negative) token = lexer.next();
    if (token.kind == TokenKind::string)
      options.emplace_back(name, std::string_view(unquote(token.text)));
    else
      options.emplace_back(name, number_of(is_negative, token));
  }
  return options;
}

}  // namespace sinter
