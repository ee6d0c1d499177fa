#include "tools/sinter/commands/ops.h"

#include "ir/autodiff/op_vjp.h"
#include "ir/autodiff/structural_vjp.h"
#include "ir/ops/op.h"
#include "ir/parser/op_syntax.h"
#include "tools/sinter/output/result_dtype.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

/// A row of the listing. A field is nullopt if the op does not have it or it is not known.
struct ListedOp {
  std::string_view name;
  std::string_view kind;
  std::optional<int> operands;  ///< nullopt: one or more
  std::optional<std::string> dtypes;
  std::optional<std::string> result;
  std::span<const AttributeInfo> attributes;
  std::optional<int> ulp;
  std::optional<bool> has_gradient;  ///< nullopt for a composite, which has the gradient of its ops
  std::string_view doc;
};

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::elementwise: return "elementwise";
    case OpKind::reduction: return "reduction";
    case OpKind::scan: return "scan";
    case OpKind::custom: return "custom";
    case OpKind::structural: return "structural";
    case OpKind::source: return "source";
    case OpKind::opaque: return "opaque";
  }
  return "";
}

/// The dtypes that the op takes, as text.
std::optional<std::string> dtypes_of(const OpInfo& row) {
  if (row.kind == OpKind::source) return std::nullopt;
  // Reductions of numbers take bool too, and structural ops have no typing rule.
  const bool takes_any = row.kind == OpKind::structural || row.kind == OpKind::opaque ||
                         (row.kind == OpKind::reduction && row.types == TypeRule::Number);
  return std::string(takes_any ? "any" : dtypes_text(row.types));
}

std::optional<std::string> result_of(const OpSyntax& syntax) {
  std::string result = result_dtype(syntax);
  return result.empty() ? std::nullopt : std::optional(std::move(result));
}

ListedOp listed(const OpInfo& row) {
  const OpSyntax* syntax = find_op_syntax(row.name);
  ListedOp op{.name = row.name,
              .kind = name_of(row.kind),
              .operands = syntax ? syntax->operands : 0,
              .dtypes = dtypes_of(row),
              .result = syntax ? result_of(*syntax) : std::nullopt,
              .attributes = row.attributes,
              .ulp = {},
              .has_gradient = vjp_of(row.op) != nullptr ||
                              (is_structural(row.op) && has_structural_vjp(row.op)),
              .doc = row.doc};
  if (row.kind == OpKind::opaque) {  // has its own syntax in the text form
    op.operands.reset();
    op.attributes = {};
  }
  if (op.operands == -1) op.operands.reset();
  if (syntax) op.attributes = syntax->attributes;
  if (row.kind == OpKind::elementwise) op.ulp = row.ulp;
  return op;
}

ListedOp listed_composite(const OpSyntax& syntax) {
  return {.name = syntax.name,
          .kind = "composite",
          .operands = syntax.operands == -1 ? std::nullopt : std::optional(syntax.operands),
          .dtypes = {},
          .result = result_of(syntax),
          .attributes = syntax.attributes,
          .ulp = {},
          .has_gradient = {},
          .doc = "Written in other ops."};
}

/// The op table, then the composites.
std::vector<ListedOp> all_ops() {
  std::vector<ListedOp> all;
  for (const OpInfo& row : op_table()) all.push_back(listed(row));
  for (const std::string_view name : op_names())
    if (const OpSyntax* syntax = find_op_syntax(name); !syntax->row)
      all.push_back(listed_composite(*syntax));
  return all;
}

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json op_json(const ListedOp& op) {
  Json attributes = Json::array();
  for (const AttributeInfo& attribute : op.attributes)
    attributes.push_back(
        {{"name", attribute.name},
         {"default", attribute.required() ? Json() : Json(attribute.default_text)}});
  return {{"name", op.name},
          {"kind", op.kind},
          {"operands", value_or_null(op.operands)},
          {"dtypes", value_or_null(op.dtypes)},
          {"result", value_or_null(op.result)},
          {"attributes", attributes},
          {"ulp", value_or_null(op.ulp)},
          {"gradient", value_or_null(op.has_gradient)},
          {"doc", op.doc}};
}

/// `axis, keep = false`
std::string attributes_text(const ListedOp& op) {
  std::string text;
  for (const AttributeInfo& attribute : op.attributes) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", attribute.name);
    if (!attribute.required()) text += fmt::format(" = {}", attribute.default_text);
  }
  return text;
}

constexpr std::size_t kColumns = 9;
using Cells = std::array<std::string, kColumns>;

Cells cells_of(const ListedOp& op) {
  std::string gradient = "-";
  if (op.has_gradient) gradient = *op.has_gradient ? "yes" : "no";
  return {std::string(op.name),
          std::string(op.kind),
          op.operands ? fmt::format("{}", *op.operands) : "1 or more",
          op.dtypes.value_or("-"),
          op.result.value_or("-"),
          op.ulp ? fmt::format("{}", *op.ulp) : "-",
          std::move(gradient),
          attributes_text(op),
          std::string(op.doc)};
}

void print_table(const std::vector<Cells>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < kColumns; ++i)
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    fmt::print("{}{}\n", line, row.back());
  }
}

}  // namespace

void ops(const OpsArguments& arguments) {
  const std::vector<ListedOp> all = all_ops();
  if (arguments.json) {
    Json json = Json::array();
    for (const ListedOp& op : all) json.push_back(op_json(op));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::vector<Cells> rows = {
      {"name", "kind", "operands", "dtypes", "result", "ulp", "gradient", "attributes", "gives"}};
  for (const ListedOp& op : all) rows.push_back(cells_of(op));
  print_table(rows);
}

}  // namespace sinter::command
