// Internal to the oracle: the results of one collective on all ranks of a group.
#pragma once

#include <span>
#include <vector>

#include "ir/oracle/interpret.h"

namespace sinter {

/// The result of the collective `node` on each rank, from the operands of equal shapes in the order
/// of the ranks.
std::vector<Expected> interpret_collective(const Node& node,
                                           std::span<const Expected* const> operands);

}  // namespace sinter
