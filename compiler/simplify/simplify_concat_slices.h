// Simplifications of slices and concats that cancel each other. Values that were written into an
// array one after another (select_scatter, slice_scatter) are then read directly, without the
// array.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Replaces a slice within one operand of a concat by a slice of that operand. Returns `node`
/// itself otherwise.
const Node* slice_of_segment(GraphData& graph, const Node* node);

/// Merges the operands of a concat. A slice of another concat that covers whole operands becomes
/// these operands, and adjacent slices of one array become one slice. Returns `node` itself if
/// there is nothing to merge.
const Node* merge_segments(GraphData& graph, const Node* node);

}  // namespace sinter
