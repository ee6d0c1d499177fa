// What simplify knows of views, casts and numbers beside the table of rules.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// One view or cast for two of them, or none. `node` itself if there is nothing to merge.
const Node* merge_chain(GraphData& graph, const Node* node);

/// A permuted concat for a concat of what is permuted alike, numbers apart: beside the concat of
/// the same in its own order it is a view. `node` itself for all else.
const Node* permute_outside(GraphData& graph, const Node* node);

/// An elementwise op on plain operands: numbers of rank 0 and to the right, and no broadcast_to
/// where the op broadcasts by itself. `node` itself if it is plain.
const Node* plain_operands(GraphData& graph, const Node* node);

/// x * (1 / c) for x / c where both give the same bits: c is a power of two whose reciprocal is
/// normal. `node` itself for all else.
const Node* divide_by_power_of_two(GraphData& graph, const Node* node);

/// A view of what `node` makes of a value where it makes it of a view of that value, and the graph
/// has the former too. `node` itself for all else.
const Node* view_of_same(GraphData& graph, const Node* node);

}  // namespace sinter
