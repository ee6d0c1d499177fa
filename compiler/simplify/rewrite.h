// Rewriting graphs: private copies to work on, and the sweep that replaces nodes.
#pragma once

#include "ir/graph/node.h"
#include "sinter/graph.h"

#include <functional>
#include <span>
#include <vector>

namespace sinter {

/// Copies `graph` without unused nodes. Keeps all inputs, the outputs, updates, labels and
/// locations. The copy shares nothing with the original, which other threads may use.
Graph clone(const Graph& graph);
/// The same, but copies the nodes in `needed` (`reachable`) and replaces each one as `rewrite`
/// does. `replace` receives the copy and a node of it.
Graph clone_rewritten(const Graph& graph, std::span<const Node* const> needed,
                      const std::function<const Node*(GraphData& copy, const Node* node)>& replace);
/// The nodes that outputs and updates need, operands first.
std::vector<const Node*> reachable(const GraphData& graph);

/// A clone that shares the extents of `graph`, so that extents taken from `graph` are valid in the
/// copy.
Graph compact(const Graph& graph, std::span<const Node* const> reachable);
inline Graph compact(const Graph& graph) { return compact(graph, reachable(graph.data())); }

/// `node` with other operands of the same types; `node` itself if the operands are unchanged.
const Node* with_operands(GraphData& graph, const Node& node,
                          std::span<const Node* const> operands);

/// Returns the replacement of a node: the same pointer to keep it, or a node of the same dtype and
/// shape.
using Replace = std::function<const Node*(const Node*)>;

/// One sweep, operands first, over the nodes that outputs and updates need. Each node first gets
/// the replacements of its operands and is then replaced itself. A replaced node's label moves to
/// its replacement if that has none. Inputs and scalars stay. Returns true if an output or update
/// changed.
bool rewrite(GraphData& graph, const Replace& replace);

/// A view of all of `node`, which makes the value occupy memory of its own.
const Node* copy_of(GraphData& graph, const Node* node);

/// `node`, or a view of it if it is an input. An input may itself be an output, or be written into
/// another input. A kernel of its own then copies it, through this view.
const Node* as_value(GraphData& data, const Node* node);

}  // namespace sinter
