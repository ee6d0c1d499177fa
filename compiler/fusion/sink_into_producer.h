// Moves consumers of a value from the group that loads it into the group that computes it.
#pragma once

#include <functional>

#include "compiler/fusion/group.h"

namespace sinter {

/// Moves each concat that is a result into the group that stores all of its operands, if the two
/// groups then take less time. The concat's current group must have other nodes too. `seconds`
/// returns the predicted time of a group.
void sink_concats(Groups& groups, const std::function<double(int)>& seconds);

/// Moves computations that shrink a value into the group of the value, which then stores the
/// smaller result. The current group must be the only reader of the value. Does so only if the two
/// groups then take less time. Returns true if any node was moved.
bool sink_shrinking_consumers(Groups& groups, NodeSizes& sizes,
                              const std::function<double(int)>& seconds);

}  // namespace sinter
