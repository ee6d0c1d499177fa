// `sinter ops`: lists the ops and composites of the text form.
#include "ir/autodiff/op_vjp.h"
#include "ir/autodiff/structural_vjp.h"
#include "ir/ops/op.h"
#include "ir/parser/op_syntax.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

/// The result dtype for operands of these dtypes; nullopt if the op does not take them.
std::optional<DType> dtype_given(const OpSyntax& syntax, std::span<const DType> operand_dtypes) {
  try {
    Graph graph("probe");
    std::vector<Operand> operands;
    for (const DType dtype : operand_dtypes)
      operands.emplace_back(graph.input(fmt::format("x{}", operands.size()), dtype, {2, 2}));
    std::vector<ParsedAttribute> arguments(syntax.attributes.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!syntax.attributes[i].required()) read_default(syntax.attributes[i], arguments[i]);
    return syntax
        .record({.graph = graph,
                 .syntax = syntax,
                 .operands = operands,
                 .arguments = arguments,
                 .location = {}})
        .front()
        .dtype();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// The result dtype for operands of `dtype`; the first operand may be a condition instead.
std::optional<DType> dtype_given(const OpSyntax& syntax, DType dtype) {
  std::vector<DType> dtypes(static_cast<std::size_t>(syntax.operands), dtype);
  if (const auto given = dtype_given(syntax, dtypes)) return given;
  dtypes.front() = boolean;
  return dtype_given(syntax, dtypes);
}

bool depends_on_attributes(const OpSyntax& syntax) {
  if (syntax.operands < 1) return true;
  return syntax.row && (is_structural(syntax.row->op) || is_source(syntax.row->op));
}

/// The result dtype, found by recording the op: `the operand's`, `bool`, `the operand's or i64`.
/// nullopt if attributes decide, as for structural ops and sources.
std::optional<std::string> result_dtype(const OpSyntax& syntax) {
  if (depends_on_attributes(syntax)) return std::nullopt;
  std::set<std::string_view> all;
  std::set<std::string_view> others;  // result dtypes that differ from the operand's
  for (const DTypeInfo& row : kDTypes) {
    const std::optional<DType> given = dtype_given(syntax, row.dtype);
    if (given) all.insert(name(*given));
    if (given && *given != row.dtype) others.insert(name(*given));
  }
  if (all.empty()) return std::nullopt;
  if (all.size() == 1) return std::string(*all.begin());
  std::vector<std::string_view> words = {"the operand's"};
  words.insert(words.end(), others.begin(), others.end());
  return fmt::format("{}", fmt::join(words, " or "));
}

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
    case OpKind::library: return "library";
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

ListedOp listed(const OpInfo& row) {
  const OpSyntax* syntax = find_op_syntax(row.name);
  ListedOp op{.name = row.name,
              .kind = name_of(row.kind),
              .operands = syntax ? syntax->operands : 0,
              .dtypes = dtypes_of(row),
              .result = syntax ? result_dtype(*syntax) : std::nullopt,
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
          .result = result_dtype(syntax),
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

void ops(bool as_json) {
  const std::vector<ListedOp> all = all_ops();
  if (as_json) {
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

}  // namespace

void declare_ops(CLI::App& app, Action& action) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("ops", "List the ops and composites of the text form");
  command.add_flag("--json", *as_json, "Print JSON");
  command.footer("Example:\n  sinter ops");
  set_action(command, action, as_json, ops);
}

}  // namespace sinter::command
