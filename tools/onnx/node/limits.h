// Numbers of a dtype that is known at import.
#pragma once

#include "sinter/graph.h"

namespace sinter::onnx {

/// `value` as a number of `dtype`.
Literal number_of_dtype(std::int64_t value, DType dtype);
/// The smallest value: −inf for floating dtypes.
Literal lowest_value(DType dtype);
/// The largest value: inf for floating dtypes.
Literal highest_value(DType dtype);

}  // namespace sinter::onnx
