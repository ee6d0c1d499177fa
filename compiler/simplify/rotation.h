// Gathers whose indices are known at plan time to turn an axis round, as shifted windows do.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph/node.h"

namespace sinter {

/// Of a `take` whose element at each place i of its axis is its operand's at (i + shift) mod
/// extent: the shift, from 1 up to the extent. nullopt for all others, and for what is no such
/// gather.
std::optional<std::int64_t> rotated_by(const Node& node);

}  // namespace sinter
