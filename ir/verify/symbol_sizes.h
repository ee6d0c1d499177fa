// The sizes of symbols, solved from input shapes or given by name, and the check that a graph is
// valid at these sizes.
#pragma once

#include "ir/graph/node.h"
#include "sinter/graph.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

/// The caller's shape for one input.
struct InputShape {
  std::string_view name;
  std::span<const std::int64_t> shape;
};

/// The ids of the symbols that the graph uses, sorted. Other symbols need no value.
std::vector<int> used_symbols(const GraphData& graph);
/// The symbols of `extent` whose value in `symbols` is negative, which means unknown. Sorted.
std::vector<int> unknown_symbols(Extent extent, std::span<const std::int64_t> symbols);

/// Marks a symbol whose size is unknown.
inline constexpr std::int64_t kUnknownSize = -1;

/// `symbols`, by id, with unknown entries (kUnknownSize) solved from the shapes of some inputs. An
/// axis whose extent is a single symbol determines it. Then every axis with one unknown symbol,
/// such as `rows * 16`, is solved. Entries that cannot be solved stay unknown. Throws UserError if
/// a shape does not fit.
std::vector<std::int64_t> solve_symbols(const GraphData& graph, std::span<const InputShape> inputs,
                                        std::vector<std::int64_t> symbols);

/// A symbol's value by name, as in `rows=4096`.
struct NamedSize {
  std::string_view name;
  std::int64_t value = 0;
};

/// The values of the graph's symbols, by id, from a list. Symbols that the graph does not use may
/// be missing and are 0. Throws UserError if a name is unknown or repeated, a size is negative, or
/// a symbol that the graph uses is missing.
std::vector<std::int64_t> symbols_from_sizes(const GraphData& graph,
                                             std::span<const NamedSize> sizes);
inline std::vector<std::int64_t> symbols_from_sizes(const Graph& graph,
                                                    std::span<const NamedSize> sizes) {
  return symbols_from_sizes(graph.data(), sizes);
}

/// Throws UserError unless every node is valid at these sizes. No extent may be negative, slices
/// must stay within their operand, and ops that select an element of an axis need a non-empty axis.
void check_sizes(const GraphData& graph, std::span<const std::int64_t> symbols);
inline void check_sizes(const Graph& graph, std::span<const std::int64_t> symbols) {
  check_sizes(graph.data(), symbols);
}

}  // namespace sinter
