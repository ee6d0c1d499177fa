// Collectives of small arrays become one call, whose latency they share.
#pragma once

#include <cstdint>

#include "ir/graph/node.h"

namespace sinter {

/// Merges collectives of one op, group, dtype and attributes into buckets of at most `most_bytes`
/// bytes of operands. A bucket starts when the operands of all its members are ready. The kernels
/// that compute the operands store them into one array, one after another, and readers read slices.
/// No bucket waits for a result of its own. Operands whose sizes are symbols stay alone, because
/// all ranks must decide alike. Returns true if the graph changed.
bool bucket_collectives(GraphData& graph, std::int64_t most_bytes);

}  // namespace sinter
