// Edges of a CUDA Graph, for tests that drop one of them.
#pragma once

#include "runtime/driver/driver.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace sinter::test {

using GraphEdge = std::pair<CUgraphNode, CUgraphNode>;

/// True if other edges lead from the first node of `edges[edge]` to its second one.
inline bool is_implied(std::span<const GraphEdge> edges, std::size_t edge) {
  std::vector<CUgraphNode> open = {edges[edge].first};
  while (!open.empty()) {
    const CUgraphNode node = open.back();
    open.pop_back();
    if (node == edges[edge].second) return true;
    for (std::size_t i = 0; i < edges.size(); ++i)
      if (i != edge && edges[i].first == node) open.push_back(edges[i].second);
  }
  return false;
}

}  // namespace sinter::test
