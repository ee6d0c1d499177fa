// Random contents for the inputs of a graph: the same for the same graph, sizes and seed, anywhere.
#pragma once

#include "ir/graph/node.h"
#include "ir/shape/host_array.h"
#include "sinter/graph.h"

#include <cstdint>
#include <span>

namespace sinter {

/// An array for every input and a rank-0 array for every scalar, by name. Numbers are uniform in
/// the range that the input bears, both ends included for integers; else floats in [-2, 2),
/// integers in
/// [-8, 8], and integers that choose elements of some axis in that axis. An element depends on the
/// seed, the input's name and the element's place in row-major order alone, so strides do not
/// change it. Padding between elements holds NaN (or an unlikely integer), so that a wrong stride
/// shows.
HostArrays random_inputs(const GraphData& graph, std::span<const std::int64_t> symbols,
                         std::uint64_t seed);
inline HostArrays random_inputs(const Graph& graph, std::span<const std::int64_t> symbols,
                                std::uint64_t seed) {
  return random_inputs(graph.data(), symbols, seed);
}

}  // namespace sinter
