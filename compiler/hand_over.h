// Values that one kernel makes of another's result, and that the other may as well make itself.
#pragma once

#include <functional>

#include "compiler/group.h"

namespace sinter {

/// Where a group makes something smaller of a value that it alone reads, the group of the value
/// computes and stores that instead, if the two take less time then. `seconds` is what a group
/// takes. True if something was handed over.
bool hand_over_smaller_values(Groups& groups, NodeSizes& sizes,
                              const std::function<double(int)>& seconds);

}  // namespace sinter
