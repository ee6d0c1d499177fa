// Simplifies graphs without changing the bits of their results.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Applies the rules of rule_table(), merges chains of views and casts, moves number operands to
/// the right, and folds the results. Requires: nothing. Guarantees: no rule matches any remaining
/// node, so simplifying again changes nothing; results keep every bit.
void simplify(GraphData& graph);

}  // namespace sinter
