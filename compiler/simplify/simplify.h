// Simplifying: smaller graphs that give the same bits.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Applies the rules of rule_table(), merges chains of views and casts, moves numbers to the right,
/// and folds what that brings to light. Needs: nothing. Guarantees: no node is left that a rule
/// fits, so that simplifying again changes nothing; results keep every bit.
void simplify(GraphData& graph);

}  // namespace sinter
