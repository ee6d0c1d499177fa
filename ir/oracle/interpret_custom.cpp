// The oracle for custom ops: the user's own, where there is one.
#include "ir/oracle/interpret_ops.h"
#include "ir/record/custom.h"
#include "ir/shape/strided_walk.h"
#include "ir/types/rounding.h"

#include <algorithm>

namespace sinter {

namespace {

std::vector<std::int64_t> strides_within(std::span<const std::int64_t> from,
                                         std::span<const std::int64_t> to) {
  const std::vector<std::int64_t> dense = row_major(from);
  std::vector<std::int64_t> strides(to.size());
  const std::size_t shift = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[shift + axis] = dense[axis];
  return strides;
}

}  // namespace

Expected interpret_custom(const GraphData& graph, const Application& application) {
  const Node& node = application.node;
  const CustomOptions* options = custom_options(graph, node);
  Expected result = make_expected(node.dtype, application.shape, true);
  std::vector<std::vector<std::int64_t>> strides;
  for (const Expected* operand : application.operands)
    strides.push_back(strides_within(operand->shape, application.shape));
  if (result.size() == 0) return result;
  StridedWalk walk(application.shape, strides);
  std::vector<long double> values(application.operands.size());
  for (std::int64_t i = 0; i < result.size(); ++i, walk.next()) {
    bool is_exact = options && options->oracle;
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = application.operands[k]->real(walk.offset(k));
      is_exact = is_exact && application.operands[k]->bound(walk.offset(k)) == 0;
    }
    const auto place = static_cast<std::size_t>(i);
    const long double value = options && options->oracle ? options->oracle(values) : 0;
    if (is_floating(node.dtype)) {
      result.reals[place] = round_to(node.dtype, value);
      const long double unit = ulp_at(node.dtype, value);
      result.bounds[place] =
          options && options->ulp > 0 ? static_cast<double>((options->ulp + 0.5L) * unit) : 0;
    } else {
      result.integers[place] = to_stored(cast_to_integer(node.dtype, value));
    }
    if (!is_exact) result.bounds[place] = kUndecided;
  }
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
