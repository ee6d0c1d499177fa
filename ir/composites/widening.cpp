// Chooses the compute and result dtypes of a composite.
#include "ir/composites/widening.h"

#include <optional>

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
    const std::optional<DType> common =
        nodes.empty() ? node->dtype : common_dtype(result_, node->dtype);
    if (!common)
      fail(op,
           fmt::format("{} and {} have no dtype in common; cast one of them", type_text(*nodes[0]),
                       type_text(*node)),
           operand->location);
    result_ = *common;
    nodes.push_back(node);
  }
  broadcast_shapes(op, nodes, refs[0]->location);
  if (!is_floating(result_)) result_ = f32;
  compute_ = info(result_).compute;
}

Operand Widening::wide(const Operand& x) const {
  return x.is_literal() ? x : with_location(cast(x, compute_), x);
}

}  // namespace sinter
