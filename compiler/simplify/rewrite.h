// Rewriting graphs: a private copy to work on, and the sweep that replaces nodes in it.
#pragma once

#include "ir/graph/node.h"
#include "sinter/graph.h"

#include <functional>
#include <span>
#include <vector>

namespace sinter {

/// A copy of `graph` without the nodes that nothing needs. Inputs (all of them), outputs, updates,
/// labels and locations are kept. Nothing is shared: other threads may use the original.
Graph clone(const Graph& graph);
/// The same, with each node replaced as `rewrite` does, of those in `needed` (`reachable`).
/// `replace` is given the copy and a node of it.
Graph clone_rewritten(const Graph& graph, std::span<const Node* const> needed,
                      const std::function<const Node*(GraphData& copy, const Node* node)>& replace);
/// The nodes that outputs and updates need, operands first.
std::vector<const Node*> reachable(const GraphData& graph);

/// A clone that shares the extents, so that those that were taken from `graph` fit the copy.
Graph compact(const Graph& graph, std::span<const Node* const> reachable);
inline Graph compact(const Graph& graph) { return compact(graph, reachable(graph.data())); }

/// `node` with other operands of the same types; `node` itself if they are the same nodes.
const Node* with_operands(GraphData& graph, const Node& node,
                          std::span<const Node* const> operands);

/// A node for a node: the same pointer to leave it, or one of the same dtype and shape.
using Replace = std::function<const Node*(const Node*)>;

/// One sweep, operands first: each node that outputs and updates need is given its operands'
/// replacements and then replaced itself. A replaced node's label moves to its replacement if that
/// has none. Inputs and scalars stay. Returns true if any output or update is another node now.
bool rewrite(GraphData& graph, const Replace& replace);

/// A view of `node` that is all of it, for a place of its own in memory.
const Node* copy_of(GraphData& graph, const Node* node);

/// An input that is itself an output, or is written into another input, is read by a kernel of its
/// own like any value: through a view of itself.
const Node* as_value(GraphData& data, const Node* node);

}  // namespace sinter
