// The sizes of a graph's symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/shape/host_array.h"
#include "sinter/graph.h"

namespace sinter::test {

/// The sizes by symbol id, for inputs of these shapes.
std::vector<std::int64_t> solved_symbols(const Graph& graph, const HostArrays& inputs);

}  // namespace sinter::test
