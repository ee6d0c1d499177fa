#include "tools/onnx/node/operands.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

void require_one_dtype(const Call& call, std::size_t first) {
  for (std::size_t i = first + 1; i < call.input_count(); ++i)
    if (call.has_input(i) && call.dtype(i) != call.dtype(first))
      refuse(fmt::format("inputs {} and {} have the dtypes {} and {}; they must be equal", first, i,
                         name(call.dtype(first)), name(call.dtype(i))));
}

namespace {

/// Before opset 7, the axes of the second operand are those of the first from `axis` on.
void align_second_operand(const Call& call, std::vector<Operand>& operands) {
  if (call.opset() >= 7 || operands.size() != 2) return;
  const int rank = call.rank(0);
  const bool broadcasts = call.attributes().flag("broadcast", false);
  const std::int64_t axis = call.attributes().integer("axis", rank - call.rank(1));
  if (!broadcasts || operands[1].is_literal()) return;
  std::vector<Extent> shape(operands[1].tensor.shape().begin(), operands[1].tensor.shape().end());
  const std::int64_t behind = rank - checked_axis(axis, rank) - call.rank(1);
  for (std::int64_t i = 0; i < behind; ++i) shape.emplace_back(1);
  operands[1] = reshape(operands[1].tensor, shape);
}

}  // namespace

std::vector<Operand> elementwise_operands(const Call& call, std::size_t first) {
  require_one_dtype(call, first);
  int rank = 0;
  for (std::size_t i = first; i < call.input_count(); ++i) rank = std::max(rank, call.rank(i));
  std::vector<Operand> operands;
  bool has_full_rank = false;
  for (std::size_t i = first; i < call.input_count(); ++i) {
    operands.push_back(call.operand(i, rank));
    has_full_rank |= !operands.back().is_literal() && operands.back().tensor.rank() == rank;
  }
  // Numbers have rank 0: one of the Tensors must have the rank of the result.
  for (std::size_t i = 0; i < operands.size() && !has_full_rank; ++i) {
    if (call.rank(first + i) != rank) continue;
    operands[i] = call.tensor(first + i);
    has_full_rank = true;
  }
  if (first == 0) align_second_operand(call, operands);
  return operands;
}

void require_inputs(const Call& call, std::size_t least, std::size_t most) {
  if (call.input_count() >= least && call.input_count() <= most) return;
  refuse(
      fmt::format("it has {} inputs; the op takes {}", call.input_count(),
                  least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most)));
}

}  // namespace sinter::onnx
