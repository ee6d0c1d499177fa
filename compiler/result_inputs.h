// Inputs that are results.
#pragma once

#include "ir/node.h"

namespace sinter {

/// An input that is itself an output, or is written into another input, is read by a kernel of its
/// own like any value: from here on the result is a view of it.
void view_result_inputs(GraphData& data);

}  // namespace sinter
