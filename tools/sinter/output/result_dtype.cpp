#include "tools/sinter/output/result_dtype.h"

#include "sinter/error.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

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

}  // namespace

std::string result_dtype(const OpSyntax& syntax) {
  if (depends_on_attributes(syntax)) return "";
  std::set<std::string_view> all;
  std::set<std::string_view> others;  // result dtypes that differ from the operand's
  for (const DTypeInfo& row : kDTypes) {
    const std::optional<DType> given = dtype_given(syntax, row.dtype);
    if (given) all.insert(name(*given));
    if (given && *given != row.dtype) others.insert(name(*given));
  }
  if (all.size() == 1) return std::string(*all.begin());
  std::vector<std::string_view> words;
  if (!all.empty()) words.push_back("the operand's");
  words.insert(words.end(), others.begin(), others.end());
  return fmt::format("{}", fmt::join(words, " or "));
}

}  // namespace sinter::command
