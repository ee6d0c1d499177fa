#include "compiler/fusion/rematerialization_cone.h"

#include <algorithm>
#include <utility>

namespace sinter {

RematerializationCone RematerializationCones::of(int group, const Node* node) {
  const auto has_own_kernel = [&](const Node* at) {
    return at->op == Op::input || is_reduction(at->op) || is_scan(at->op) ||
           at->op == Op::scatter || at->op == Op::opaque || !groups_.contains(group, at);
  };
  RematerializationCone result;
  if (has_own_kernel(node)) return result;
  llvm::SmallVector<const Node*, 16> pending = {node};
  visited_.resize(graph_.nodes.size());
  ++search_;
  while (!pending.empty()) {
    const Node* at = pending.pop_back_val();
    if (std::exchange(visited_[at->id], search_) == search_) continue;
    // Results are stored anyway, so the cone can load them.
    if (has_own_kernel(at) || (at != node && groups_.is_result(at))) {
      result.loads.push_back(at);
      continue;
    }
    result.nodes.push_back(at);
    const std::span<const Node* const> reads = groups_.reads(at);
    pending.append(reads.begin(), reads.end());
  }
  std::ranges::sort(result.loads, {}, &Node::id);
  return result;
}

RematerializationCone RematerializationCones::of_widening(int group, const Node* node) const {
  if (node->op != Op::cast) return {};
  const std::span<const Node* const> reads = groups_.reads(node);
  const bool is_narrower = reads.size() == 1 && groups_.contains(group, reads[0]) &&
                           size_of(reads[0]->dtype) < size_of(node->dtype);
  return is_narrower ? RematerializationCone{.nodes = {node}, .loads = {reads[0]}}
                     : RematerializationCone{};
}

}  // namespace sinter
