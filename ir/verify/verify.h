// Checks that a graph is what recording makes: run after every pass, so that a bug stops where it
// is.
#pragma once

#include "ir/graph/node.h"
#include "sinter/graph.h"

namespace sinter {

/// Throws InternalError naming the first node that breaks a rule, its place, what was expected and
/// what was found. Checked:
///
/// - nodes: ids count up from 0; operands belong to the graph and have smaller ids; each node is
///   hashed and uniqued as its content says; symbols belong to the graph's own table
/// - dtypes: as the op's typing rule says; the numbers in an elementwise op have the compute type
/// of
///   the other operands (f32 beside f16 and bf16) or their dtype
/// - shapes: as inferred again from operands and attributes; rank at most 16; no negative extent
/// - attributes: as many as the row has, none with a field that its kind does not use; axes counted
///   from the front, reduced axes ascending; `order` empty or a reduction's axes in another order;
///   literals of the kind and precision of their dtype
/// - inputs: each input and scalar node is listed once, at its index; names unique and not empty
/// - outputs and updates: nodes of the graph; output names unique; an update writes an input of its
///   value's type, and one update at most writes each input
///
/// Not checked: that every node is needed, that no node is an identity, or whether extents that
/// differ as expressions are equal as numbers.
void verify(const Graph& graph);
void verify(const GraphData& graph);
/// The same for a graph whose nodes before number `first` have been verified: they never change,
/// nor do the names of inputs and outputs. Of the others those that outputs and updates need.
void verify_from(const GraphData& graph, std::size_t first);

}  // namespace sinter
