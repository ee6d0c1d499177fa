// Simplifications of views, casts, number operands and concats that the rule table cannot express.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// Merges two consecutive views or casts into one or none. Returns `node` itself if there is
/// nothing to merge.
const Node* merge_chain(GraphData& graph, const Node* node);

/// Replaces a concat of equally permuted operands (and numbers) by a permuted concat. If the graph
/// also has the unpermuted concat, the result is a view of it. Returns `node` itself otherwise.
const Node* permute_outside(GraphData& graph, const Node* node);

/// Normalizes the operands of an elementwise op. Numbers have rank 0 and are on the right, and no
/// operand is a broadcast_to that the op implies. Returns `node` itself if it is normalized.
const Node* plain_operands(GraphData& graph, const Node* node);

/// Replaces x / c by x * (1 / c) if c is a power of two with a normal reciprocal: both give the
/// same bits. Returns `node` itself otherwise.
const Node* divide_by_power_of_two(GraphData& graph, const Node* node);

/// Replaces op(view(x)) by view(op(x)) if the graph already contains op(x). Returns `node` itself
/// otherwise.
const Node* view_of_same(GraphData& graph, const Node* node);

// Slices and concats that cancel each other (simplify_concat_slices.cpp). Values that were written
// into an array one after another (select_scatter, slice_scatter) are then read directly, without
// the array.

/// Replaces a slice within one operand of a concat by a slice of that operand. Returns `node`
/// itself otherwise.
const Node* slice_of_segment(GraphData& graph, const Node* node);

/// Merges the operands of a concat. A slice of another concat that covers whole operands becomes
/// these operands, and adjacent slices of one array become one slice. Returns `node` itself if
/// there is nothing to merge.
const Node* merge_segments(GraphData& graph, const Node* node);

}  // namespace sinter
