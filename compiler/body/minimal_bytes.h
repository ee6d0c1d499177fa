// The bytes that a graph cannot do without: what explanations and benchmarks measure kernels
// against.
#pragma once

#include "ir/graph/node.h"

#include <cstdint>
#include <span>

namespace sinter {

/// Bytes of the part of each input that `graph` reads, once, and of each updated input and each
/// output that is not left out as a view of another, once. Reads through views count each element
/// once; overlapping slices, and elements that indices choose, count up to the whole of what they
/// are read from.
std::int64_t minimal_bytes(const GraphData& graph, std::span<const std::int64_t> symbols);

}  // namespace sinter
