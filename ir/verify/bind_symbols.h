// Sizes at run time: symbols solved from the shapes of the inputs, and what sizes a graph allows.
#pragma once

#include "ir/graph/node.h"
#include "sinter/graph.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

/// The shape that an input is given with.
struct InputShape {
  std::string_view name;
  std::span<const std::int64_t> shape;
};

/// The values of the graph's symbols, by id, for inputs of these shapes: a symbol that stands alone
/// along some axis is that extent; then those are solved that are the only unknown of an axis, as
/// in `rows * 16`. Every input array must be there once, scalars may be left out. Symbols that the
/// graph does not use are 0. Throws UserError where a shape does not fit or a symbol stays unknown.
std::vector<std::int64_t> bind_symbols(const GraphData& graph, std::span<const InputShape> inputs);
inline std::vector<std::int64_t> bind_symbols(const Graph& graph,
                                              std::span<const InputShape> inputs) {
  return bind_symbols(graph.data(), inputs);
}

/// A size that is not known.
inline constexpr std::int64_t kUnknownSize = -1;

/// `symbols`, by id and some of them kUnknownSize, with those that the shapes of some inputs tell.
/// Throws UserError where a shape does not fit what is known.
std::vector<std::int64_t> solve_symbols(const GraphData& graph, std::span<const InputShape> inputs,
                                        std::vector<std::int64_t> symbols);

/// A symbol's value by name, as in `rows=4096`.
struct NamedSize {
  std::string_view name;
  std::int64_t value = 0;
};

/// The values of the graph's symbols, by id, from a list. Throws UserError on an unknown, repeated
/// or negative one, and where a symbol that the graph uses is missing.
std::vector<std::int64_t> symbols_from_sizes(const GraphData& graph,
                                             std::span<const NamedSize> sizes);
inline std::vector<std::int64_t> symbols_from_sizes(const Graph& graph,
                                                    std::span<const NamedSize> sizes) {
  return symbols_from_sizes(graph.data(), sizes);
}

/// Throws UserError unless every node has a meaning at these sizes: no negative extent, slices
/// within their operand, no largest element and no index of an empty axis.
void check_sizes(const GraphData& graph, std::span<const std::int64_t> symbols);
inline void check_sizes(const Graph& graph, std::span<const std::int64_t> symbols) {
  check_sizes(graph.data(), symbols);
}

}  // namespace sinter
