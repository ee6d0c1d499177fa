// Prints the op table as markdown tables.
#include "ir/parser/op_reference.h"

#include "ir/ops/op.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace sinter {

namespace {

std::string describe_types(TypeRule rule) {
  const bool tells = rule == TypeRule::Predicate || rule == TypeRule::Compare;
  const std::string_view gives = rule == TypeRule::Random ? "; gives u32"
                                 : tells                  ? "; gives bool"
                                                          : "";
  return std::string(dtypes_text(rule)) + std::string(gives);
}

std::string_view describe_kind(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: return "integer";
    case AttributeKind::boolean: return "true or false";
    case AttributeKind::string: return "text";
    case AttributeKind::dtype: return "dtype";
    case AttributeKind::literal: return "number";
    case AttributeKind::extent: return "extent";
    case AttributeKind::integers: return "[integers]";
    case AttributeKind::extents: return "[extents]";
  }
  return "";
}

std::string describe_attributes(const OpInfo& row) {
  std::string words;
  for (const AttributeInfo& attribute : row.attributes) {
    words += fmt::format("{}`{}`: {}", words.empty() ? "" : "; ", attribute.name,
                         describe_kind(attribute.kind));
    if (!attribute.required()) words += fmt::format(" = `{}`", attribute.default_text);
  }
  return words;
}

/// An op with its operands, such as `mul a, b`.
std::string usage(const OpInfo& row) {
  std::string text(row.name);
  constexpr std::string_view kOperands[] = {" a", ", b", ", c"};
  for (int i = 0; i < row.arity; ++i) text += kOperands[i];
  return text;
}

std::string row_text(const OpInfo& row) {
  switch (row.kind) {
    case OpKind::elementwise:
      return fmt::format("| `{}` | {} | {} | {} |\n", usage(row), describe_types(row.types),
                         row.ulp, row.doc);
    case OpKind::reduction:
      return fmt::format("| `{}` | {} | {} | {} |\n", row.name,
                         row.types == TypeRule::Float     ? "floating"
                         : row.types == TypeRule::Logical ? "bool"
                                                          : "any",
                         describe_attributes(row), row.doc);
    case OpKind::opaque:
      // The attributes in the table describe the node; the text form writes a call differently.
      return fmt::format("| `{} function` | those of the function | {} |\n", row.name, row.doc);
    case OpKind::scan:
    case OpKind::custom:
    case OpKind::structural:
    case OpKind::source: break;
  }
  return fmt::format("| `{}` | {} | {} |\n", row.name, describe_attributes(row), row.doc);
}

std::string table_of_kind(OpKind kind, std::string_view head) {
  std::string text = fmt::format("\n{}\n|", head);
  for (std::size_t columns = 1;
       columns < static_cast<std::size_t>(std::count(head.begin(), head.end(), '|')); ++columns)
    text += "---|";
  text += "\n";
  for (const OpInfo& row : op_table())
    if (row.kind == kind) text += row_text(row);
  return text;
}

}  // namespace

std::string op_reference() {
  return table_of_kind(OpKind::elementwise,
                       "| elementwise | dtype of the operands | ulp | gives |") +
         table_of_kind(OpKind::reduction, "| reduction | dtype | attributes = default | gives |") +
         table_of_kind(OpKind::scan, "| scan | attributes | gives |") +
         table_of_kind(OpKind::structural, "| structural | attributes = default | gives |") +
         table_of_kind(OpKind::custom, "| custom | attributes | gives |") +
         table_of_kind(OpKind::opaque, "| opaque | attributes | gives |") +
         table_of_kind(OpKind::source, "| source | attributes = default | gives |") + "\n";
}

}  // namespace sinter
