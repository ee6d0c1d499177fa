#include "compiler/simplify/order_collectives.h"

#include <algorithm>
#include <queue>
#include <vector>

#include "compiler/simplify/graph_sweep.h"
#include "ir/collectives/collective_node.h"
#include "sinter/error.h"

namespace sinter {

void order_collectives(GraphData& graph) {
  const std::vector<const Node*> nodes = reachable(graph);
  std::vector<const Node*> collectives;
  for (const Node* node : nodes)
    if (is_collective(node->op)) collectives.push_back(node);
  const auto sequence = [](const Node* node) { return sequence_of(*node); };
  if (std::ranges::is_sorted(collectives, {}, sequence)) return;
  std::ranges::stable_sort(collectives, {}, sequence);

  std::vector<int> waits(graph.nodes.size());  // by id: nodes that must come first and have not
  std::vector<std::vector<const Node*>> later(graph.nodes.size());
  const auto add_edge = [&](const Node* before, const Node* after) {
    ++waits[after->id];
    later[before->id].push_back(after);
  };
  for (const Node* node : nodes)
    for (const Node* operand : node->operands) add_edge(operand, node);
  for (std::size_t i = 1; i < collectives.size(); ++i)
    add_edge(collectives[i - 1], collectives[i]);

  const auto is_later = [](const Node* a, const Node* b) { return a->id > b->id; };
  std::priority_queue<const Node*, std::vector<const Node*>, decltype(is_later)> ready(is_later);
  for (const Node* node : nodes)
    if (waits[node->id] == 0) ready.push(node);
  std::vector<const Node*> ordered;
  while (!ready.empty()) {
    const Node* const node = ready.top();
    ready.pop();
    ordered.push_back(node);
    for (const Node* next : later[node->id])
      if (--waits[next->id] == 0) ready.push(next);
  }
  ensure(ordered.size() == nodes.size(), "collectives depend on later ones");
  graph.retain_nodes(ordered);
}

}  // namespace sinter
