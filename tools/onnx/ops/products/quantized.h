// Arithmetic with quantised integers.
#pragma once

#include "sinter/ops.h"

namespace sinter::onnx {

/// round(quotient) + zero_point in an integer dtype of at most 16 bits, clamped to its range.
/// Halves round to even. An empty zero point counts as 0.
Tensor to_quantized(const Tensor& quotient, const Tensor& zero_point, DType dtype);

}  // namespace sinter::onnx
