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

/// What it gives for operands of these dtypes; nullopt if it does not take them.
std::optional<DType> dtype_given(const Spelling& spelling, std::span<const DType> operand_dtypes) {
  try {
    Graph graph("probe");
    std::vector<Operand> operands;
    for (const DType dtype : operand_dtypes)
      operands.emplace_back(graph.input(fmt::format("x{}", operands.size()), dtype, {2, 2}));
    std::vector<WrittenAttribute> arguments(spelling.attributes.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!spelling.attributes[i].required()) read_default(spelling.attributes[i], arguments[i]);
    return spelling
        .record({.graph = graph,
                 .spelling = spelling,
                 .operands = operands,
                 .arguments = arguments,
                 .location = {}})
        .front()
        .dtype();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// For operands of `dtype`, of which the first may be a condition.
std::optional<DType> dtype_given(const Spelling& spelling, DType dtype) {
  std::vector<DType> dtypes(static_cast<std::size_t>(spelling.operands), dtype);
  if (const auto given = dtype_given(spelling, dtypes)) return given;
  dtypes.front() = boolean;
  return dtype_given(spelling, dtypes);
}

bool is_told_by_attributes(const Spelling& spelling) {
  if (spelling.operands < 1) return true;
  return spelling.row && (is_structural(spelling.row->op) || is_source(spelling.row->op));
}

}  // namespace

std::string result_dtype(const Spelling& spelling) {
  if (is_told_by_attributes(spelling)) return "";
  std::set<std::string_view> all;
  std::set<std::string_view> others;  // than the operand's
  for (const DTypeInfo& row : kDTypes) {
    const std::optional<DType> given = dtype_given(spelling, row.dtype);
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
