// Evaluates an elementwise op on single numbers, with the rounding of the op table.
#pragma once

#include "ir/ops/op.h"
#include "sinter/dtype.h"

#include <span>

namespace sinter {

/// Rounds `result`, the row's host formula at `operands`, as an op of `dtype`. If the row has 0
/// ulp, the result is correctly rounded to the compute dtype, in spite of the first rounding to
/// long double.
double round_result(const OpInfo& row, std::span<const long double> operands, long double result,
                    DType dtype);
/// The row's host formula at `operands`, rounded in this way.
inline double evaluate(const OpInfo& row, std::span<const long double> operands, DType dtype) {
  return round_result(row, operands, row.host(operands, dtype), dtype);
}

}  // namespace sinter
