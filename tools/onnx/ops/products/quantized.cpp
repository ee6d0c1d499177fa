#include "tools/onnx/ops/products/quantized.h"

#include "tools/onnx/node/limits.h"

namespace sinter::onnx {

Tensor to_quantized(const Tensor& quotient, const Tensor& zero_point, DType dtype) {
  Tensor moved = round(quotient);
  if (zero_point.node()) moved = moved + cast(zero_point, moved.dtype());
  const auto real = [](const Literal& bound) { return static_cast<double>(bound.integer); };
  return cast(minimum(maximum(moved, real(lowest_value(dtype))), real(highest_value(dtype))),
              dtype);
}

}  // namespace sinter::onnx
