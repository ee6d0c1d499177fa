// Unrolls sums of few elements into additions.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Unrolls sums of up to 4 elements, one chunk of the tree, into additions in tree order. Applies
/// only if the sum is the only user of its operand and vectors do not run along the reduced axis. A
/// kernel over rows of these sums then needs no other kernel before it. Requires: lowered
/// reductions.
void unroll_small_reductions(GraphData& graph);

}  // namespace sinter
