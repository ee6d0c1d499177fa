// Recognizes gathers that rotate an axis by indices known at plan time, as in shifted windows.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph/node.h"

namespace sinter {

/// The shift of a `take` that rotates its axis: element i of the result is element (i + shift) mod
/// extent of the operand. The shift is from 1 up to the extent. nullopt for all other nodes.
std::optional<std::int64_t> rotated_by(const Node& node);

}  // namespace sinter
