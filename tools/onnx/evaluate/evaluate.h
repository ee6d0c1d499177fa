// Evaluates nodes on values that are known at import.
#pragma once

#include "tools/onnx/node/call.h"

#include <optional>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// The outputs of the node if all of its inputs are known, or if it only asks for a shape. Without
/// a result, the node must be recorded: the operator is not evaluated, or an output depends on more
/// than numbers and extents. Throws UserError if the node is invalid.
std::optional<std::vector<KnownValue>> evaluate(const Call& call);

/// True if `evaluate` knows the operator.
bool is_evaluated(std::string_view type);

}  // namespace sinter::onnx
