// Functions, branches and loops: their nodes are recorded in the place of the node.
#pragma once

#include "tools/onnx/importer/node_importer.h"

#include <string_view>
#include <vector>

namespace sinter::onnx {

/// Records an operator with graphs in its attributes. `inputs` are those of the node.
using ImportSubgraphs = std::vector<ValueRef> (*)(ImportState& state, const Call& call,
                                                  std::span<const ValueRef> inputs,
                                                  const Scope& scope,
                                                  const NodeSurroundings& around);
/// nullptr for other operators.
ImportSubgraphs find_control_flow(std::string_view domain, std::string_view type);

/// Records the nodes of `function` for the call `node`. Returns the outputs of the call.
std::vector<ValueRef> import_function(ImportState& state, const FunctionProto& function,
                                      const NodeProto& node, std::span<const ValueRef> inputs,
                                      const NodeSurroundings& around);

}  // namespace sinter::onnx
