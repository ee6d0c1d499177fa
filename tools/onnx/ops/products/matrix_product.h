// Matrix products of any numeric dtype.
#pragma once

#include "sinter/library_ops.h"

namespace sinter::onnx {

/// matmul(a, b) for floating dtypes. Integers, which no library multiplies without conversion, are
/// multiplied and summed elementwise. A transposition of the last two axes becomes an option.
Tensor matrix_product(const Tensor& a, const Tensor& b, MatmulOptions options = {});

}  // namespace sinter::onnx
