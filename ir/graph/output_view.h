// Outputs that are plain views of inputs or of other outputs, and therefore need no memory.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/node.h"

namespace sinter {

/// The location of an output's elements in the array of an input or of another output.
struct OutputView {
  bool is_of_input = false;
  int base = 0;                 ///< the index of the input, or of the output, which is not a view
  Extent offset;                ///< of the first element in the base, in elements
  std::vector<Extent> strides;  ///< in elements
};

/// For each output of `graph`, its view if it is one. An output is a view if only recorded views
/// separate it from its base. The base may also be a permutation of a value of which the output is
/// a view. The elements must be evenly spaced in the base, with strides of at least 0. An output
/// with explicit strides is not a view. An input that an update overwrites cannot be a base.
std::vector<std::optional<OutputView>> output_views(const GraphData& graph);

}  // namespace sinter
