#include "compiler/simplify/simplify.h"

#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/rule.h"
#include "compiler/simplify/simplify_structure.h"
#include "ir/graph/operand_index.h"
#include "ir/support/dense_map.h"

#include <algorithm>
#include <vector>

namespace sinter {

namespace {

/// Applies one simplification; returns the node itself if none applies. Folding comes first,
/// because a number is the simplest result.
const Node* step(GraphData& graph, const Node* node) {
  for (const auto& simpler :
       {fold_node, merge_chain, slice_of_segment, merge_segments, permute_outside, plain_operands,
        apply_rules, divide_by_power_of_two, view_of_same})
    if (const Node* result = simpler(graph, node); result != node) return result;
  return node;
}

/// True if all segments of `concat` are computed, so that kernels may store them directly into the
/// concat.
bool has_computed_segments(const Node* concat) {
  return std::ranges::all_of(concat->operands, [](const Node* segment) {
    while (segment->op == Op::reshape) segment = segment->operand(0);
    return !is_view(*segment) && !is_source(segment->op);
  });
}

bool has_concat_of_concat(const GraphData& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node* node) {
    return node->op == Op::concat && std::ranges::any_of(node->operands, [](const Node* operand) {
             return operand->op == Op::concat;
           });
  });
}

/// Concats that are an operand of another concat along the same axis and have no other user.
DenseSet<const Node*> nested_concats(const GraphData& graph) {
  DenseSet<const Node*> result;
  if (!has_concat_of_concat(graph)) return result;
  const std::vector<int> uses = use_counts(graph);
  for (const Node* node : reachable(graph)) {
    if (node->op != Op::concat || !has_computed_segments(node)) continue;
    for (const Node* operand : node->operands)
      if (operand->op == Op::concat && uses[operand->id] == 1 &&
          attribute(*operand, "axis").integer == attribute(*node, "axis").integer &&
          has_computed_segments(operand))
        result.insert(operand);
  }
  return result;
}

/// The operands of `concat`, with nested concats replaced by their operands.
std::vector<const Node*> segments_of(const Node* concat, const DenseSet<const Node*>& nested) {
  std::vector<const Node*> segments;
  std::vector<const Node*> pending(concat->operands.rbegin(), concat->operands.rend());
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (nested.contains(node))
      pending.insert(pending.end(), node->operands.rbegin(), node->operands.rend());
    else
      segments.push_back(node);
  }
  return segments;
}

/// Merges nested concats into one, so that kernels may store each segment directly into it.
void flatten_concats(GraphData& graph) {
  // A pass skips the users of a concat that it replaces; the next pass handles them.
  constexpr int kMaxPasses = 4;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const DenseSet<const Node*> nested = nested_concats(graph);
    if (nested.empty()) return;
    rewrite(graph, [&](const Node* node) {
      if (node->op != Op::concat || nested.contains(node)) return node;
      const std::vector<const Node*> segments = segments_of(node, nested);
      return segments.size() == node->operands.size() ? node
                                                      : with_operands(graph, *node, segments);
    });
  }
}

}  // namespace

void simplify(GraphData& graph) {
  rewrite(graph, [&](const Node* node) {
    for (const Node* next = step(graph, node); next != node; next = step(graph, node)) node = next;
    return node;
  });
  flatten_concats(graph);
}

}  // namespace sinter
