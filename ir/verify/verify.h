// Checks the invariants of a graph. It runs after every pass, so that a bug is found in the pass
// that caused it.
#pragma once

#include "ir/graph/node.h"
#include "sinter/graph.h"

namespace sinter {

/// Throws InternalError if the graph breaks a rule. The message names the first such node, its
/// source location, the expected and the actual value. Rules:
///
/// - Nodes: ids count up from 0. Operands belong to the graph and have smaller ids. Each node is
///   hashed and uniqued by its content. Symbols belong to the graph's own table.
/// - Dtypes follow the op's typing rule. Constants in an elementwise op may have its compute dtype
///   (f32 for f16 and bf16).
/// - Shapes equal those inferred from operands and attributes. The rank is at most 16, and no
///   extent is negative.
/// - Attributes: as many as the op's row has. No field is set that their kind does not use. Axes
///   count from the front; reduced axes ascend. `order` is empty or a different order of the
///   reduced axes. Literals have the kind and precision of their dtype.
/// - Inputs: each input and scalar node is listed once, at its index. Names are unique and not
///   empty.
/// - Outputs and updates are nodes of the graph. Output names are unique. An update writes an input
///   of its value's type, and each input has at most one update.
///
/// Not checked: that every node is needed, that no node is an identity, and that extents which
/// differ as expressions differ as numbers.
void verify(const Graph& graph);
void verify(const GraphData& graph);
/// Verifies the nodes with ids >= `first` that outputs or updates need, and the inputs, outputs and
/// updates. Earlier nodes were verified before and never change. Names are checked if `first` is 0.
void verify_from(const GraphData& graph, std::size_t first);

}  // namespace sinter
