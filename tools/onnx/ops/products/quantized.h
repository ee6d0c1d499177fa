// Arithmetic with quantised integers.
#pragma once

#include "sinter/ops.h"

namespace sinter::onnx {

/// round(quotient) + zero_point in an integer dtype of at most 16 bits, clamped to its range.
/// Halves round to even. An empty zero point counts as 0.
Tensor to_quantized(const Tensor& quotient, const Tensor& zero_point, DType dtype);

/// The product of (a - zero_a) and (b - zero_b) in i32, for i8 or u8 operands of rank 2 or more. An
/// empty zero point counts as 0; others broadcast to the operand.
Tensor quantized_product(Graph& graph, const Tensor& a, const Tensor& zero_a, const Tensor& b,
                         const Tensor& zero_b);

}  // namespace sinter::onnx
