#include "compiler/simplify.h"

#include "compiler/fold.h"
#include "compiler/rewrite.h"
#include "compiler/rule.h"
#include "compiler/simplify_pieces.h"
#include "compiler/simplify_structure.h"

namespace sinter {

namespace {

/// One step, or the node itself. Folding comes first: a number is the simplest thing there is.
const Node* step(GraphData& graph, const Node* node) {
  for (const auto& simpler : {fold_node, merge_chain, slice_of_piece, merge_pieces, permute_outside,
                              plain_operands, apply_rules, divide_by_power_of_two})
    if (const Node* result = simpler(graph, node); result != node) return result;
  return node;
}

}  // namespace

void simplify(GraphData& graph) {
  rewrite(graph, [&](const Node* node) {
    for (const Node* next = step(graph, node); next != node; next = step(graph, node)) node = next;
    return node;
  });
}

}  // namespace sinter
