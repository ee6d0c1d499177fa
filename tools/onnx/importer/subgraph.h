// The graphs in attributes of nodes: branches, bodies of loops, and functions on attention scores.
#pragma once

#include "tools/onnx/importer/node_importer.h"

#include <span>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// A graph in an attribute, and its surroundings.
struct Subgraph {
  const GraphProto& graph;
  std::string_view name;  ///< `body of a Loop`, for messages
  const Scope& scope;     ///< around the node
  const NodeSurroundings& around;
};

/// Records the nodes of a graph for these inputs. Returns its outputs, of which some may have
/// failed. Throws UserError unless it has as many inputs.
std::vector<ValueRef> import_subgraph(ImportState& state, const Subgraph& subgraph,
                                      std::span<const ValueRef> inputs);

/// A value of a node.
ValueRef value_of_tensor(const Tensor& tensor);
bool has_failed(std::span<const ValueRef> values);

/// The value called `name` in the scope of `what`. Throws UserError if there is none.
ValueRef value_from(const Scope& scope, std::string_view name, std::string_view what);

/// The values of one list, selected by a condition of rank 0. Throws UserError unless the lists
/// have as many values, with equal types. A value fails if one of its pair has.
std::vector<ValueRef> selected(ImportState& state, const Tensor& condition,
                               std::span<const ValueRef> on_true,
                               std::span<const ValueRef> on_false);

}  // namespace sinter::onnx
