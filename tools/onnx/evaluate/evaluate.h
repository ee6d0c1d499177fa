// Evaluates nodes on values that are known at import.
#pragma once

#include "tools/onnx/node/call.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// The outputs of the node if all of its inputs are known, or if it only asks for a shape. Without
/// a result, the node must be recorded: the operator is not evaluated, or an output depends on more
/// than numbers and extents. Throws UserError if the node is invalid. The elements of inputs and
/// outputs are subtracted from `elements_left`; below 0, nothing is evaluated.
std::optional<std::vector<KnownValue>> evaluate(const Call& call, std::int64_t& elements_left);

/// True if `evaluate` knows the operator.
bool is_evaluated(std::string_view type);

}  // namespace sinter::onnx
