// Chooses the compute and result dtypes of a composite.
#include "ir/composites/widening.h"

#include <fmt/format.h>

namespace sinter {

Widening::Widening(std::string_view op, std::initializer_list<const Operand*> operands) {
  const OperandRefs refs(operands.begin(), operands.size());
  graph_of(op, refs);
  llvm::SmallVector<const Node*, 4> nodes;
  for (const Operand* operand : refs) {
    if (operand->is_literal()) continue;
    const Node* node = operand->tensor.node();
    if (node->dtype == c64)
      fail(op, fmt::format("{} is for storage only; cast it", type_text(*node)), operand->location);
    nodes.push_back(node);
  }
  result_ = common_dtype(op, refs);
  if (!is_floating(result_)) result_ = f32;
  broadcast_shapes(op, nodes, refs[0]->location);
  compute_ = info(result_).compute;
}

Operand Widening::wide(const Operand& x) const {
  return x.is_literal() ? x : with_location(cast(x, compute_), x);
}

}  // namespace sinter
