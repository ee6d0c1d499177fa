// Makes operands for ops that replace another node.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// `node` as an operand of an op that gets the location of `replaced`.
inline Operand operand_at(GraphData& graph, const Node* node, const Node* replaced) {
  const Location location = graph.location(replaced);
  return {tensor(graph, node), location.file, location.line};
}

}  // namespace sinter
