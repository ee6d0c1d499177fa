// All ranks must execute collectives in one order, which the order of the nodes becomes.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Reorders the nodes so that collectives come in their sequence. Other nodes keep their order as
/// far as that permits. Requires: a collective depends only on those with smaller sequences.
void order_collectives(GraphData& graph);

}  // namespace sinter
