// Sweeps over graphs, operands first: clones, the nodes that are needed, and the replacement of
// nodes.
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
/// The same, with extents that are numbers: the sizes of the graph when symbol i has the value
/// `symbols[i]`. The copy keeps the symbols. Throws UserError as `evaluate` does.
Graph clone_with_sizes(const Graph& graph, std::span<const std::int64_t> symbols);
/// A clone that copies the nodes in `needed` (`reachable`) and replaces each one as `rewrite` does.
/// `replace` receives the copy and a node of it.
Graph clone_rewritten(const Graph& graph, std::span<const Node* const> needed,
                      const std::function<const Node*(GraphData& copy, const Node* node)>& replace);
/// The nodes that outputs and updates need, operands first.
std::vector<const Node*> reachable(const GraphData& graph);
/// By node id: the number of operands, outputs and updates that each node is.
std::vector<int> use_counts(const GraphData& graph);

/// A clone that shares the extents of `graph`, so that extents taken from `graph` are valid in the
/// copy.
Graph compact(const Graph& graph, std::span<const Node* const> reachable);
inline Graph compact(const Graph& graph) { return compact(graph, reachable(graph.data())); }

/// `node` with other operands of the same types; `node` itself if the operands are unchanged.
const Node* with_operands(GraphData& graph, const Node& node,
                          std::span<const Node* const> operands);

/// `node` as an operand of an op that gets the location of `replaced`.
inline Operand operand_at(GraphData& graph, const Node* node, const Node* replaced) {
  const Location location = graph.location(replaced);
  return {tensor(graph, node), location.file, location.line};
}

/// Replaces the nodes that outputs and updates need, operands first. `replace` returns the
/// replacement of a node, of the same dtype and shape, given the replacements of its operands. A
/// replaced node's label moves to its replacement if that has none. Returns true if an output or
/// update changed.
bool sweep(GraphData& graph,
           const std::function<const Node*(const Node& node,
                                           std::span<const Node* const> operands)>& replace);

/// Returns the replacement of a node: the same pointer to keep it, or a node of the same dtype and
/// shape.
using Replace = std::function<const Node*(const Node*)>;

/// A sweep in which each node first gets the replacements of its operands and is then replaced
/// itself. Inputs and scalars stay.
bool rewrite(GraphData& graph, const Replace& replace);

/// A view of all of `node`, which makes the value occupy memory of its own.
const Node* copy_of(GraphData& graph, const Node* node);

/// `node`, or a view of it if it is an input. An input may itself be an output, or be written into
/// another input. A kernel of its own then copies it, through this view.
const Node* as_value(GraphData& data, const Node* node);

}  // namespace sinter
