// Unrolls sums of few elements into additions.
#include "compiler/lowering/lower_reductions.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/graph/operand_index.h"
#include "ir/record/record.h"

#include <algorithm>
#include <vector>

namespace sinter {

namespace {

bool is_small_sum(const Node& node) {
  if (node.op != Op::sum || reduced_axes(node).size() != 1) return false;
  const Node* operand = node.operand(0);
  const std::int64_t axis = reduced_axes(node)[0];
  const Extent extent = operand->shape[static_cast<std::size_t>(axis)];
  return axis + 1 < operand->rank() && extent.is_number() && extent.number() > 1 &&
         extent.number() <= static_cast<std::int64_t>(kChunk);
}

/// True if `node`, and every value that it is a view or cast of, has exactly one use.
bool has_single_use(const Node* node, std::span<const int> uses) {
  for (;; node = node->operand(0)) {
    if (node->id >= uses.size() || uses[node->id] != 1) return false;
    if (!is_view(*node) && node->op != Op::cast) return true;
  }
}

const Node* additions(GraphData& graph, const Node& sum) {
  const auto operand = [&](Tensor x) { return operand_at(graph, x.node(), &sum); };
  const Tensor x = tensor(graph, sum.operand(0));
  const auto axis = static_cast<int>(reduced_axes(sum)[0]);
  const std::int64_t count = x.shape()[static_cast<std::size_t>(axis)].number();
  const auto element = [&](std::int64_t i) {
    return reshape(operand(slice(operand(x), axis, i, i + 1, 1)), sum.shape);
  };
  Tensor result = element(0);
  for (std::int64_t i = 1; i < count; ++i) result = add(operand(result), operand(element(i)));
  return result.node();
}

}  // namespace

void unroll_small_reductions(GraphData& graph) {
  if (std::ranges::none_of(graph.nodes, [](const Node* node) { return is_small_sum(*node); }))
    return;
  const std::vector<int> uses = use_counts(graph);
  rewrite(graph, [&](const Node* node) {
    return is_small_sum(*node) && has_single_use(node->operand(0), uses) ? additions(graph, *node)
                                                                         : node;
  });
}

}  // namespace sinter
