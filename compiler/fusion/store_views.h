// Results that are views, as kernels store them.
#pragma once

#include <vector>

#include "compiler/fusion/group.h"

namespace sinter {

/// Lets inputs that are outputs themselves, or are written into other inputs, be read by kernels of
/// their own like any value: through views of themselves.
void read_inputs_as_values(GraphData& graph);

/// The outputs, by number, that are another order of a value that other kernels than theirs read or
/// compute again: where these read the output instead, the value need not be stored beside it. One
/// output for each value, of those that are made element by element.
std::vector<int> views_to_compute(const GraphData& graph, const Groups& groups);

/// Lets each of these outputs be computed from views of operands instead of being one, and the
/// value be a view of it.
void compute_views(GraphData& graph, const std::vector<int>& outputs);

/// The outputs that are another order of a value which is read in that order alone, by value. Where
/// one kernel stores both, the value may lie where the output does.
DenseMap<const Node*, const Node*> values_read_as_outputs(const GraphData& graph);

}  // namespace sinter
