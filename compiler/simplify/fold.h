// Folding: evaluating at plan time what is known and exact.
#pragma once

#include "ir/graph/node.h"

#include <optional>

namespace sinter {

/// Replaces values that are one known number throughout by `constant` (rank 0) or `full`, where the
/// device would compute the same bits: exact ops (0 ulp in the table), casts, views, extremes,
/// sizes that are numbers. Needs: nothing. Guarantees: the result is the same when folded again.
/// True if something was folded.
bool fold(GraphData& graph);

/// `fold` of one node whose operands are folded already: the number, or `node` itself.
const Node* fold_node(GraphData& graph, const Node* node);

/// The number that every element of `node` is, in its dtype; nullopt if it is not written down.
std::optional<Literal> uniform_value(const Node& node);
/// True if it has one.
inline bool is_uniform(const Node& node) { return node.op == Op::constant || node.op == Op::full; }

/// The number that a cast of `literal` to `to` gives.
Literal cast_literal(const Literal& literal, DType to);

/// A value of `shape` that is `literal` throughout: `constant` where it has rank 0 and a dtype that
/// is computed in, else `full`.
const Node* make_uniform(GraphData& graph, std::span<const Extent> shape, const Literal& literal,
                         DType dtype, Location location);

}  // namespace sinter
