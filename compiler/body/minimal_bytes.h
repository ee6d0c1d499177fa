// The minimum bytes that a graph must move; reports and benchmarks compare kernels with it.
#pragma once

#include "ir/graph/node.h"

#include <cstdint>
#include <span>

namespace sinter {

/// Counts once the part of each input that `graph` reads, each updated input, and each output that
/// is not left out as a view. Reads through views count each element once. Overlapping slices and
/// indexed elements count at most the whole array that they are read from.
std::int64_t minimal_bytes(const GraphData& graph, std::span<const std::int64_t> symbols);

}  // namespace sinter
