// FlexAttention: attention with functions on scores and probabilities.
#pragma once

#include "tools/onnx/importer/node_importer.h"

#include <span>
#include <vector>

namespace sinter::onnx {

std::vector<ValueRef> import_flex_attention(ImportState& state, const Call& call,
                                            std::span<const ValueRef> inputs, const Scope& scope,
                                            const NodeSurroundings& around);

}  // namespace sinter::onnx
