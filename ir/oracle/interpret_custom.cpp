// The oracle for custom ops: calls the user's oracle. Without one, results are undecided.
#include "ir/oracle/interpret_ops.h"
#include "ir/record/custom.h"
#include "ir/shape/strided_iterator.h"
#include "ir/types/casts.h"

#include <algorithm>

namespace sinter {

Expected interpret_custom(const GraphData& graph, const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  const CustomOptions* options = custom_options(graph, node);
  Expected result = make_expected(node.dtype, evaluation.shape, true);
  std::vector<std::vector<std::int64_t>> strides;
  for (const Expected* operand : evaluation.operands)
    strides.push_back(broadcast_strides(operand->shape, evaluation.shape));
  if (result.size() == 0) return result;
  StridedIterator iterator(evaluation.shape, strides);
  std::vector<long double> values(evaluation.operands.size());
  for (std::int64_t i = 0; i < result.size(); ++i, iterator.next()) {
    bool is_exact = options && options->oracle;
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = evaluation.operands[k]->real(iterator.offset(k));
      is_exact = is_exact && evaluation.operands[k]->bound(iterator.offset(k)) == 0;
    }
    const auto at = static_cast<std::size_t>(i);
    const long double value = options && options->oracle ? options->oracle(values) : 0;
    if (is_floating(node.dtype)) {
      result.reals[at] = round_to(node.dtype, value);
      const long double unit = ulp_at(node.dtype, value);
      result.bounds[at] =
          options && options->ulp > 0 ? static_cast<double>((options->ulp + 0.5L) * unit) : 0;
    } else {
      result.integers[at] = to_storage_bits(cast_to_integer(node.dtype, value));
    }
    if (!is_exact) result.bounds[at] = kUndecided;
  }
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
