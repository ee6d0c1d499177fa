// Makes operands for ops that replace another node.
#pragma once

#include "ir/graph/node.h"

namespace sinter {

/// `node` as an operand of an op that gets the location of `place`.
inline Operand operand_at(GraphData& graph, const Node* node, const Node* place) {
  const Location location = graph.location(place);
  return {tensor(graph, node), location.file, location.line};
}

}  // namespace sinter
