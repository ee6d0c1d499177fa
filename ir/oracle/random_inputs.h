// Random contents for the inputs of a graph. Equal graph, sizes and seed give equal contents on
// every machine.
#pragma once

#include "ir/graph/node.h"
#include "ir/shape/host_array.h"
#include "sinter/graph.h"

#include <cstdint>
#include <span>
#include <string>

namespace sinter {

/// An array for every input and a rank-0 array for every scalar, by name. Elements are uniform in
/// the input's declared range; for integers it includes both ends. Without a range, floats are in
/// [-2, 2), integers in [-8, 8], and integers used as indices are within the indexed axis. An
/// element depends only on the seed, the input's name and its row-major index, so strides do not
/// change it. Gaps between elements hold NaN or an unlikely integer, which reveals wrong strides.
/// Leaves out the inputs `without`. Throws UserError if an array does not fit in memory.
HostArrays random_inputs(const GraphData& graph, std::span<const std::int64_t> symbols,
                         std::uint64_t seed, std::span<const std::string> without = {});
inline HostArrays random_inputs(const Graph& graph, std::span<const std::int64_t> symbols,
                                std::uint64_t seed, std::span<const std::string> without = {}) {
  return random_inputs(graph.data(), symbols, seed, without);
}

}  // namespace sinter
