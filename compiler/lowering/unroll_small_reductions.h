// Sums of so few elements that they are additions.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Writes sums of up to 4 elements, one chunk of the tree, as additions in its order, where nothing
/// but the sum needs what is summed and vectors do not run along it. What a kernel makes of each
/// row of the sums then needs no other kernel in front. Needs: lowered reductions.
void unroll_small_reductions(GraphData& graph);

}  // namespace sinter
