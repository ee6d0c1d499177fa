#include "compiler/lowering/unroll_small_reductions.h"

#include "compiler/program/reduction_tree.h"
#include "compiler/simplify/rewrite.h"
#include "ir/graph/operand_index.h"
#include "ir/record/record.h"

#include <algorithm>
#include <utility>
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

class SmallSumUnroller {
 public:
  explicit SmallSumUnroller(GraphData& graph) : graph_(graph), uses_(graph.nodes.size()) {
    for (const Node* node : reachable(graph))
      for (const Node* operand : node->operands) ++uses_[operand->id];
    for (const OutputInfo& output : graph.outputs) ++uses_[output.node->id];
    for (const UpdateInfo& update : graph.updates) ++uses_[update.value->id];
  }

  bool can_unroll(const Node& node) const {
    return is_small_sum(node) && has_single_use(node.operand(0));
  }

  const Node* additions(const Node& node) const {
    const Location location = graph_.location(&node);
    const auto operand = [&](Tensor x) { return Operand(x, location.file, location.line); };
    const Tensor x = tensor(graph_, node.operand(0));
    const auto axis = static_cast<int>(reduced_axes(node)[0]);
    const std::int64_t count = x.shape()[static_cast<std::size_t>(axis)].number();
    const auto element = [&](std::int64_t i) {
      return reshape(operand(slice(operand(x), axis, i, i + 1, 1)), node.shape);
    };
    Tensor result = element(0);
    for (std::int64_t i = 1; i < count; ++i) result = add(operand(result), operand(element(i)));
    return result.node();
  }

 private:
  /// True if `node`, and every value that it is a view or cast of, has exactly one use.
  bool has_single_use(const Node* node) const {
    for (;; node = node->operand(0)) {
      if (node->id >= uses_.size() || uses_[node->id] != 1) return false;
      if (!is_view(*node) && node->op != Op::cast) return true;
    }
  }

  GraphData& graph_;
  std::vector<int> uses_;
};

}  // namespace

void unroll_small_reductions(GraphData& graph) {
  if (std::ranges::none_of(graph.nodes, [](const Node* node) { return is_small_sum(*node); }))
    return;
  const SmallSumUnroller sums(graph);
  rewrite(graph,
          [&](const Node* node) { return sums.can_unroll(*node) ? sums.additions(*node) : node; });
}

}  // namespace sinter
