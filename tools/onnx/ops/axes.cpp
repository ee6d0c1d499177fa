#include "tools/onnx/ops/axes.h"

#include <fmt/format.h>

namespace sinter::onnx {

std::int64_t number_of(Extent extent) {
  if (extent.is_number()) return extent.number();
  refuse(fmt::format("the node needs the size of {}; give it with --dim", to_string(extent)));
}

Operand operand_of(const Call& call, Extent extent) {
  if (extent.is_number()) return extent.number();
  return call.size_value(extent);
}

Tensor with_trailing_axes(const Tensor& x, std::size_t count) {
  std::vector<Extent> shape(x.shape().begin(), x.shape().end());
  shape.resize(shape.size() + count, Extent(1));
  return reshape(x, shape);
}

}  // namespace sinter::onnx
