// NumPy broadcasting of operand shapes, and its error.
#include <fmt/format.h>

#include "ir/record/record.h"

namespace sinter {

ShapeVector broadcast_shapes(std::string_view op, std::span<const Node* const> operands,
                             Location location) {
  ShapeVector result(operands[0]->shape.begin(), operands[0]->shape.end());
  for (std::size_t n = 1; n < operands.size(); ++n) {
    const std::span<const Extent> shape = operands[n]->shape;
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    const std::size_t shift = result.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Extent& result_extent = result[shift + axis];
      if (result_extent == shape[axis] || shape[axis].is(1)) continue;
      if (!result_extent.is(1))
        fail(op,
             fmt::format("{} and {} do not broadcast: axis {} is {} and {}",
                         to_string(n == 1 ? operands[0]->shape : std::span<const Extent>(result)),
                         to_string(shape), shift + axis, to_string(result_extent),
                         to_string(shape[axis])),
             location);
      result_extent = shape[axis];
    }
  }
  return result;
}

}  // namespace sinter
