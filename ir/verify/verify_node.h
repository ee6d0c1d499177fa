// The rules of `verify` for single nodes, by kind of op.
#pragma once

#include "ir/record/record.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace sinter {

/// The exception for a broken rule, with the expected and the actual value. `verify` adds the node
/// and its source location.
struct RuleViolation {
  std::string what;
};

/// Throws RuleViolation with the text of `format` and `arguments`.
template <class... Arguments>
[[noreturn]] void fail_rule(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw RuleViolation{fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// Throws RuleViolation unless `condition` holds. Formats the text only then. If the arguments are
/// expensive to compute, use `if (…) fail_rule(…)`.
template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (!condition) [[unlikely]]
    fail_rule(format, std::forward<Arguments>(arguments)...);
}

/// Throws RuleViolation unless `found` == `expected`.
template <class Value>
void require_same(std::string_view what, const Value& found, const Value& expected) {
  if (found != expected) [[unlikely]]
    fail_rule("{} is {}, expected {}", what, found, expected);
}

void require_dtype(std::string_view what, DType found, DType expected);
void require_shape(const Node& node, std::span<const Extent> expected);

void verify_elementwise(const Node& node);
void verify_reduction(const Node& node);
void verify_scan(const Node& node);
void verify_custom(const Node& node);
void verify_opaque(const Node& node);
void verify_library(const Node& node);
void verify_structural(const Node& node);
void verify_source(const GraphData& graph, const Node& node);

}  // namespace sinter
