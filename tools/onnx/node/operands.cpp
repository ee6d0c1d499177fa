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
  return operands;
}

void require_inputs(const Call& call, std::size_t least, std::size_t most) {
  if (call.input_count() >= least && call.input_count() <= most) return;
  refuse(
      fmt::format("it has {} inputs; the op takes {}", call.input_count(),
                  least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most)));
}

}  // namespace sinter::onnx
