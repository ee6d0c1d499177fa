// Rewrites and queries for outputs that are views of computed values.
#pragma once

#include <vector>

#include "compiler/fusion/group.h"

namespace sinter {

/// Wraps inputs that are also outputs, or are copied into other inputs, in identity views, so that
/// fusion treats them like computed values.
void read_inputs_as_values(GraphData& graph);

/// Makes further outputs and updates of a scatter copies of its result. A kernel of long rows stores
/// their sums once.
void copy_repeated_scatters(GraphData& graph);

/// The indices of outputs that reorder an elementwise value that other kernels also read or
/// recompute. If these kernels read the output instead, the value itself need not be stored. At
/// most one output per value.
std::vector<int> views_to_compute(const GraphData& graph, const Groups& groups);

/// Rewrites each of these outputs to be computed in its own order, from views of the operands of
/// the value. The value becomes a view of the output.
void compute_views(GraphData& graph, const std::vector<int>& outputs);

/// Maps each value that is read in the order of one output only to that output. If one kernel
/// stores both, readers of the value can use the output's memory.
DenseMap<const Node*, const Node*> values_stored_as_output_views(const GraphData& graph);

}  // namespace sinter
