// The parts of verify: what each kind of op must look like.
#pragma once

#include "ir/record/record.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace sinter {

/// A rule that is broken: what, as expected and as found. `verify` adds the node and its place.
struct Broken {
  std::string what;
};

/// Throws Broken with the text of `format` and `arguments`.
template <class... Arguments>
[[noreturn]] void broken(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Broken{fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// Throws Broken unless `condition` holds. The text is only made then; arguments that cost
/// something themselves belong into an `if (…) broken(…)`.
template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (!condition) [[unlikely]]
    broken(format, std::forward<Arguments>(arguments)...);
}

template <class Value>
void require_same(std::string_view what, const Value& found, const Value& expected) {
  if (found != expected) [[unlikely]]
    broken("{} is {}, expected {}", what, found, expected);
}

void require_dtype(std::string_view what, DType found, DType expected);
void require_shape(const Node& node, std::span<const Extent> expected);

void verify_elementwise(const Node& node);
void verify_reduction(const Node& node);
void verify_scan(const Node& node);
void verify_custom(const Node& node);
void verify_opaque(const Node& node);
void verify_structural(const Node& node);
void verify_source(const GraphData& graph, const Node& node);

}  // namespace sinter
