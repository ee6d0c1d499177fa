// What simplify knows of slices and concats that undo one another. Values that are written into an
// array one after the other (select_scatter, slice_scatter) are read without it.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// A slice that lies within one operand of a concat, of that operand. `node` itself for all else.
const Node* slice_of_segment(GraphData& graph, const Node* node);

/// A concat of what its operands are segments of: where one is a slice of another concat between
/// two of its operands, these; and neighbouring slices of one array as one. `node` itself if there
/// is nothing to merge.
const Node* merge_segments(GraphData& graph, const Node* node);

}  // namespace sinter
