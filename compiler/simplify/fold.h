// Constant folding: evaluates ops with known operands at plan time, if the result is exact.
#pragma once

#include "ir/graph/node.h"

#include <optional>

namespace sinter {

/// Replaces values whose elements are all one known number by `constant` (rank 0) or `full`. Folds
/// only if the device would compute the same bits: exact ops (0 ulp in the table), casts, views,
/// max, min, known sizes. Requires: nothing. Guarantees: folding again changes nothing. Returns
/// true if it folded something.
bool fold(GraphData& graph);

/// Folds one node whose operands are already folded. Returns the number, or `node` itself.
const Node* fold_node(GraphData& graph, const Node* node);

/// The number that all elements of `node` have, in its dtype; nullopt unless `node` is a `constant`
/// or `full`.
std::optional<Literal> uniform_value(const Node& node);
/// True if `uniform_value` returns a number.
inline bool is_uniform(const Node& node) { return node.op == Op::constant || node.op == Op::full; }

/// The result of casting `literal` to `to`.
Literal cast_literal(const Literal& literal, DType to);

/// Makes a value of `shape` whose elements are all `literal`. It is a `constant` if it has rank 0
/// and a dtype that kernels compute in, else a `full`.
const Node* make_uniform(GraphData& graph, std::span<const Extent> shape, const Literal& literal,
                         DType dtype, Location location);

}  // namespace sinter
