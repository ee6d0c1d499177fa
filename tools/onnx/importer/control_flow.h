// Functions and branches: their nodes are recorded in the place of the node.
#pragma once

#include "tools/onnx/importer/node_importer.h"

#include <string_view>
#include <vector>

namespace sinter::onnx {

inline bool is_control_flow(std::string_view type) { return type == "If"; }

/// Records the nodes of `function` for the call `node`. Returns the outputs of the call.
std::vector<ValueRef> import_function(ImportState& state, const FunctionProto& function,
                                      const NodeProto& node, std::span<const ValueRef> inputs,
                                      const NodeSurroundings& around);

/// Records one branch of an `If` whose condition is known. Otherwise records both branches, and
/// selects their outputs, which must then have equal types.
std::vector<ValueRef> import_if(ImportState& state, const Call& call, const Scope& scope,
                                const NodeSurroundings& around);

}  // namespace sinter::onnx
