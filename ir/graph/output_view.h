// Outputs that are plain views of inputs or other outputs, and so need no memory of their own.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/node.h"

namespace sinter {

/// Where the elements of an output lie in the array of an input or of another output.
struct OutputView {
  bool is_of_input = false;
  int base = 0;   ///< the number of the input, or of the output, which is no view itself
  Extent offset;  ///< of the first element in the base, in elements
  std::vector<Extent> strides;  ///< in elements
};

/// For each output of `graph` the view that it is, if it is one: nothing but views as recorded
/// stand between it and its base, or between both and a value that the base has in another order;
/// its elements lie evenly spaced and none backwards, its strides are not given by the user, and
/// the base is no input that an update overwrites.
std::vector<std::optional<OutputView>> output_views(const GraphData& graph);

}  // namespace sinter
