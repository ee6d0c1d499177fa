#include "tools/onnx/node/positions.h"

#include <fmt/format.h>

namespace sinter::onnx {

Tensor aligned_to_axis(const Tensor& vector, int axis, int rank) {
  if (vector.rank() != 1)
    refuse(fmt::format("an operand has rank {}; it must be a vector along axis {}", vector.rank(),
                       axis));
  if (axis >= rank)
    refuse(fmt::format("a vector belongs to axis {} of a value of rank {}", axis, rank));
  std::vector<Extent> shape(static_cast<std::size_t>(rank), Extent(1));
  shape[static_cast<std::size_t>(axis)] = vector.shape()[0];
  return reshape(vector, shape);
}

Tensor positions_along(const Call& call, const Tensor& x, int axis) {
  const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
  return aligned_to_axis(iota(call.graph(), extent), axis, x.rank());
}

Tensor from_front(const Call& call, const Tensor& indices, Extent extent) {
  const Tensor wide = cast(indices, i64);
  return where(wide < 0, wide + call.size_value(extent), wide);
}

}  // namespace sinter::onnx
